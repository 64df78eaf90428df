// A stream that the native client reads.

import { awaitArrival, forget, nextId } from "../completions.js";
import type { HttpService, HttpStream } from "../native-binding.js";
import type { EncodedInput } from "./encode-input.js";
import { toError } from "./outcome.js";
import { type StreamSource, TAKEN } from "./stream.js";

export class NativeSource implements StreamSource {
  readonly #id = nextId();
  /** Streams end when it is collected. */
  readonly #service: HttpService;
  #stream: HttpStream | undefined;
  /** Where the input holds a `Blob`, which has to be read first. */
  #opening: Promise<void> | undefined;
  #failure: unknown;
  #closed = false;

  constructor(
    service: HttpService,
    index: number,
    encoded: EncodedInput | Promise<EncodedInput>,
    headers: string | undefined,
  ) {
    this.#service = service;
    const open = ({ input, body, blobs }: EncodedInput) => {
      if (!this.#closed) this.#stream = service.open(this.#id, index, input, body, blobs, headers);
    };
    if (encoded instanceof Promise) {
      this.#opening = encoded.then(open).catch((error) => {
        this.#failure = error;
      });
    } else open(encoded);
  }

  take(): string | number {
    if (this.#failure !== undefined) return TAKEN.FAILED;
    return this.#stream?.take() ?? TAKEN.WAIT;
  }

  head(): string {
    return this.#stream?.head() ?? "";
  }

  failure(): Error {
    if (this.#failure !== undefined) return this.#failure as Error;
    const [, about, body] = this.#stream?.failure() ?? [];
    return toError(about as string, body);
  }

  wait(ready: () => void): void {
    if (this.#stream === undefined) this.#opening?.then(ready);
    else awaitArrival(this.#id, this.#service, ready);
  }

  close(): void {
    this.#closed = true;
    forget(this.#id);
    this.#stream?.close();
  }
}
