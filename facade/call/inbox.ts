// What has arrived for one subscription and waits for its consumer.

import type { ResponseEnvelope } from "../envelope.js";

type Step = IteratorResult<ResponseEnvelope, undefined>;
const DONE: Step = { done: true, value: undefined };

interface Waiting {
  resolve(step: Step): void;
  reject(error: unknown): void;
}

/** A bounded queue between events that arrive and a consumer that pulls. */
export class Inbox {
  readonly #limit: number;
  readonly #arrived: ResponseEnvelope[] = [];
  readonly #waiting: Waiting[] = [];
  #next = 0;
  #ended: { error: unknown } | "done" | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Nothing has arrived that was not read. */
  get isEmpty(): boolean {
    return this.#next >= this.#arrived.length;
  }

  /** Takes an event in; says no when there is no room for it. */
  push(envelope: ResponseEnvelope): boolean {
    if (this.#ended !== undefined) return true;
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      waiting.resolve({ done: false, value: envelope });
      return true;
    }
    if (this.#arrived.length - this.#next >= this.#limit) return false;
    this.#arrived.push(envelope);
    return true;
  }

  /** No more events; what has arrived can still be read. With an error, that comes last. */
  end(error?: { error: unknown }): void {
    if (this.#ended !== undefined) return;
    this.#ended = error ?? "done";
    for (const waiting of this.#waiting.splice(0)) this.#settle(waiting);
  }

  /** Forgets what has arrived: the consumer has left. */
  clear(): void {
    this.#arrived.length = 0;
    this.#next = 0;
    this.#ended = "done";
    for (const waiting of this.#waiting.splice(0)) waiting.resolve(DONE);
  }

  next(): Promise<Step> {
    if (this.#next < this.#arrived.length) {
      const value = this.#arrived[this.#next] as ResponseEnvelope;
      this.#next += 1;
      // Dropped in one go: shifting a long array for each event would be quadratic.
      if (this.#next === this.#arrived.length || this.#next > 1024) {
        this.#arrived.splice(0, this.#next);
        this.#next = 0;
      }
      return Promise.resolve({ done: false, value });
    }
    return new Promise((resolve, reject) => {
      const waiting = { resolve, reject };
      if (this.#ended === undefined) this.#waiting.push(waiting);
      else this.#settle(waiting);
    });
  }

  #settle(waiting: Waiting): void {
    const ended = this.#ended;
    if (typeof ended !== "object") {
      waiting.resolve(DONE);
      return;
    }
    // An error is told once; after it the iterator is at its end, as a generator would be.
    this.#ended = "done";
    waiting.reject(ended.error);
  }
}
