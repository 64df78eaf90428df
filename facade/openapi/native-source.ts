// A stream that the native client reads.

import { Yielder } from "../interop/event-loop.js";
import { type Batch, contentIn } from "../interop/inbox.js";
import type { HttpService, HttpStream } from "../native-binding.js";
import { type OutgoingCall, pending } from "./service.js";
import { type StreamSource, TAKEN } from "./stream.js";

export class NativeSource implements StreamSource {
  readonly #id = pending.newId();
  /** Streams end when it is collected. */
  readonly #service: HttpService;
  #stream: HttpStream | undefined;
  /** Where something has to be waited for first: a `Blob` in the input, or a user's function. */
  #opening: Promise<void> | undefined;
  #failure: unknown;
  #closed = false;
  readonly #yielder = new Yielder();

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
    // A server that is quicker than its reader would block the event loop.
    if (this.#yielder.isDue) return TAKEN.WAIT;
    return this.#stream?.take() ?? TAKEN.WAIT;
  }

  head(): string {
    return this.#stream?.head() ?? "";
  }

  failure(): unknown {
    return this.#failure ?? contentIn(this.#stream?.failure() as Batch);
  }

  wait(ready: () => void): void {
    if (this.#yielder.isDue) {
      this.#yielder.yieldNow().then(ready);
      return;
    }
    const notified = () => {
      this.#yielder.yielded();
      ready();
    };
    if (this.#stream === undefined) this.#opening?.then(notified);
    else pending.wait(this.#id, { owner: this.#service, ready: notified, ended: notified });
  }

  close(): void {
    this.#closed = true;
    pending.forget(this.#id);
    this.#stream?.close();
  }
}
