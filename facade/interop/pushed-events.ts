// Events that arrive by themselves and wait for their consumer.

import { DONE, EventIterator, type Step } from "./event-iterator.js";

/** Where the events come from. */
export interface PushSource {
  /** The first event is requested. */
  open(): void;
  /** The consumer has left, or there are no more events. Called once, also without an `open()` before it. */
  close(): void;
  /** An event was read. */
  read?(): void;
  /** All that has arrived was read, and the consumer waits for more. */
  caughtUp?(): void;
}

/** A bounded queue between events that arrive and a consumer that pulls. */
export class PushedEvents<T> extends EventIterator<T> {
  readonly #source: PushSource;
  readonly #limit: number;
  #arrived: T[] = [];
  #next = 0;
  #isOpen = false;
  #end: { readonly error?: unknown } | undefined;

  constructor(source: PushSource, limit = Number.POSITIVE_INFINITY) {
    super();
    this.#source = source;
    this.#limit = limit;
  }

  /** Adds an event; false if there is no room for it. */
  push(event: T): boolean {
    if (this.#end !== undefined || this.isOver) return true;
    if (this.hand(event)) {
      this.#source.read?.();
      return true;
    }
    if (this.#arrived.length - this.#next >= this.#limit) return false;
    this.#arrived.push(event);
    return true;
  }

  /** No more events. What has arrived can still be read; after it comes the error, if there is one. */
  end(failure?: { readonly error: unknown }): void {
    if (this.#end !== undefined) return;
    this.#end = failure ?? {};
    this.ready();
  }

  protected override take(): Step<T> | undefined {
    if (this.#next < this.#arrived.length) {
      const value = this.#arrived[this.#next] as T;
      this.#next += 1;
      // Dropped in one go: shifting a long array for each event would be quadratic.
      if (this.#next === this.#arrived.length || this.#next > 1024) {
        this.#arrived.splice(0, this.#next);
        this.#next = 0;
      }
      this.#source.read?.();
      return { done: false, value };
    }
    if (this.#end === undefined) return undefined;
    if ("error" in this.#end) throw this.#end.error;
    return DONE;
  }

  protected override wait(): void {
    if (!this.#isOpen) {
      this.#isOpen = true;
      this.#source.open();
    }
    this.#source.caughtUp?.();
  }

  protected override close(): void {
    this.#arrived = [];
    this.#next = 0;
    this.#source.close();
  }
}
