// The results of a SUBSCRIPTION, one at a time.

import type { HTTPResponseMeta, ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { onAbort } from "./abort.js";

/** Where a stream comes from: the native client, or a `fetch` of the user's. */
export interface StreamSource {
  /** A batch of members as one JSON text (see `crates/operations-http/src/batch.rs`), or one of `TAKEN`. */
  take(): string | number;
  /** After `EVENTS` and `LINES`: what an envelope says about the response, as JSON. */
  head(): string;
  /** After `FAILED`. */
  failure(): Error;
  /** After `WAIT`: calls back once, when there may be something to take. */
  wait(ready: () => void): void;
  /** Closes the connection at once. */
  close(): void;
}

/** What a source has instead of a batch. */
export const TAKEN = { WAIT: 0, END: 1, EVENTS: 2, LINES: 3, FAILED: 4 } as const;

type Step = IteratorResult<ResponseEnvelope, void>;
interface Consumer {
  resolve(step: Step): void;
  reject(error: unknown): void;
}

const DONE: Step = { done: true, value: undefined };
const EVENT_STREAM = "text/event-stream";

/**
 * Written by hand because a generator function would queue `return()` behind a pending `next()`: a consumer that
 * leaves while it waits must close the connection at once. Nothing happens before the first `next()`.
 */
export class EventStream implements AsyncGenerator<ResponseEnvelope, void, unknown> {
  readonly #open: () => StreamSource;
  readonly #signal: AbortSignal | undefined;
  #source: StreamSource | undefined;
  #finished = false;
  #ignoreSignal = () => {};
  /** Those who wait, in the order in which they asked. */
  #consumers: Consumer[] = [];
  #waiting = false;
  /** Why it ended, if nobody was there to be told. */
  #untold: CallError | undefined;

  /** The batch that is being handed out. */
  #batch: unknown[] = [];
  #at = 0;
  #hasEvents = false;
  #meta: HTTPResponseMeta | undefined;
  #type = "message";
  #id = "";

  constructor(open: () => StreamSource, signal: AbortSignal | undefined) {
    this.#open = open;
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  get [Symbol.toStringTag](): string {
    return "AsyncGenerator";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leave();
  }

  next(): Promise<Step> {
    if (this.#finished) {
      const error = this.#untold;
      this.#untold = undefined;
      return error === undefined ? Promise.resolve(DONE) : Promise.reject(error);
    }
    if (this.#consumers.length === 0) {
      try {
        const step = this.#step();
        if (step !== undefined) return Promise.resolve(step);
      } catch (error) {
        this.#leave();
        return Promise.reject(error);
      }
    }
    return new Promise((resolve, reject) => {
      this.#consumers.push({ resolve, reject });
      this.#wait();
    });
  }

  async return(): Promise<Step> {
    this.#leave();
    return DONE;
  }

  async throw(error: unknown): Promise<Step> {
    this.#leave();
    throw error;
  }

  #begin(): StreamSource {
    if (this.#signal?.aborted === true) throw aborted();
    const source = this.#open();
    this.#source = source;
    this.#ignoreSignal = onAbort(this.#signal, this.#onAbort);
    return source;
  }

  /** What can be had without waiting. */
  #step(): Step | undefined {
    for (;;) {
      if (this.#at < this.#batch.length) return { done: false, value: this.#member() };
      const source = this.#source ?? this.#begin();
      const taken = source.take();
      if (typeof taken === "string") {
        this.#batch = JSON.parse(taken) as unknown[];
        this.#at = 0;
        continue;
      }
      switch (taken) {
        case TAKEN.WAIT:
          return undefined;
        case TAKEN.EVENTS:
        case TAKEN.LINES:
          this.#hasEvents = taken === TAKEN.EVENTS;
          this.#meta = JSON.parse(source.head()) as HTTPResponseMeta;
          this.#type = "message";
          this.#id = "";
          break;
        case TAKEN.FAILED:
          throw source.failure();
        default:
          this.#leave();
          return DONE;
      }
    }
  }

  /** The next member of the batch. All members of a response share the object with its headers. */
  #member(): ResponseEnvelope {
    const { statusCode, headers, contentType } = this.#meta as HTTPResponseMeta;
    const data = this.#batch[this.#at++];
    if (!this.#hasEvents) return { data, meta: { statusCode, headers, contentType, source: "http" } };
    const about = this.#batch[this.#at++];
    const sse: HTTPResponseMeta["sse"] = { event: this.#type, id: this.#id };
    if (about !== 0) {
      const [type, id, retry] = about as [string, (string | null)?, number?];
      sse.event = this.#type = type;
      if (id != null) sse.id = this.#id = id;
      if (retry !== undefined) sse.retry = retry;
    }
    return { data, meta: { statusCode, headers, contentType: EVENT_STREAM, source: "http", sse } };
  }

  #wait(): void {
    if (this.#waiting || this.#source === undefined) return;
    this.#waiting = true;
    this.#source.wait(this.#onReady);
  }

  readonly #onReady = (): void => {
    this.#waiting = false;
    try {
      while (this.#consumers.length > 0) {
        const step = this.#step();
        if (step === undefined) {
          this.#wait();
          return;
        }
        this.#consumers.shift()?.resolve(step);
      }
    } catch (error) {
      // Like a generator: the first who waits is told, for the others it is over.
      this.#consumers.shift()?.reject(error);
      this.#leave();
    }
  };

  readonly #onAbort = (): void => {
    const consumer = this.#consumers.shift();
    if (consumer === undefined) this.#untold = aborted();
    else consumer.reject(aborted());
    this.#leave();
  };

  /** Ends the stream, once: closes the connection and lets everyone who waits go. */
  #leave(): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#ignoreSignal();
    this.#source?.close();
    this.#batch = [];
    this.#at = 0;
    for (const consumer of this.#consumers.splice(0)) consumer.resolve(DONE);
  }
}

function aborted(): CallError {
  return new CallError(InfrastructureErrorCode.ABORTED, "The stream was aborted by its signal");
}
