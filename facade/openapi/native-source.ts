// A stream that the native client reads.

import { type Batch, toldIn } from "../border/inbox.js";
import { Turns } from "../border/turns.js";
import type { HttpService, HttpStream } from "../native-binding.js";
import { type OutgoingCall, pending } from "./service.js";
import { type StreamSource, TAKEN } from "./stream.js";

export class NativeSource implements StreamSource {
  readonly #id = pending.newId();
  /** Streams end when it is collected. */
  readonly #service: HttpService;
  #stream: HttpStream | undefined;
  /** Where something has to be waited for first: a `Blob` in the input, or a function of the user's. */
  #opening: Promise<void> | undefined;
  #failure: unknown;
  #closed = false;
  readonly #turns = new Turns();

  constructor(service: HttpService, index: number, outgoing: OutgoingCall | Promise<OutgoingCall>) {
    this.#service = service;
    const open = ({ input, body, blobs, headers }: OutgoingCall) => {
      if (!this.#closed) this.#stream = service.open(this.#id, index, input, body, blobs, headers);
    };
    if (outgoing instanceof Promise) {
      this.#opening = outgoing.then(open).catch((error) => {
        this.#failure = error;
      });
    } else open(outgoing);
  }

  take(): string | number {
    if (this.#failure !== undefined) return TAKEN.FAILED;
    // A server that is quicker than its reader would keep everybody else waiting.
    if (this.#turns.isDue) return TAKEN.WAIT;
    return this.#stream?.take() ?? TAKEN.WAIT;
  }

  head(): string {
    return this.#stream?.head() ?? "";
  }

  failure(): unknown {
    return this.#failure ?? toldIn(this.#stream?.failure() as Batch);
  }

  wait(ready: () => void): void {
    if (this.#turns.isDue) {
      this.#turns.take().then(ready);
      return;
    }
    const told = () => {
      this.#turns.taken();
      ready();
    };
    if (this.#stream === undefined) this.#opening?.then(told);
    else pending.wait(this.#id, { owner: this.#service, ready: told, ended: told });
  }

  close(): void {
    this.#closed = true;
    pending.forget(this.#id);
    this.#stream?.close();
  }
}
