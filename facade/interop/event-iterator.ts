// The async iterator of the whole package. Written by hand because a generator function would queue `return()` behind
// a pending `next()`: a consumer that leaves while it waits must be let go at once, and the source closed.

export type Step<T> = IteratorResult<T, undefined>;
export const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

interface Consumer<T> {
  resolve(step: Step<T>): void;
  reject(error: unknown): void;
}

/**
 * Events that consumers pull, one at a time, from a source that a subclass knows. Like a generator's: nothing happens
 * before the first `next()`, results come in the order of the `next()` calls, and the first pending `next()` rejects on a failure,
 * the others are done. The source is closed exactly once, however it ends.
 */
export abstract class EventIterator<T> implements AsyncGenerator<T, undefined, unknown> {
  /** Pending `next()` calls, in order. */
  readonly #consumers: Consumer<T>[] = [];
  #isWaiting = false;
  #isOver = false;
  /** Why it ended, if no `next()` was pending. */
  #undelivered: { readonly error: unknown } | undefined;
  #closed: unknown;

  /** What can be had without waiting, or nothing. Throws when the source has failed. */
  protected abstract take(): Step<T> | undefined;
  /** There was nothing to take: calls `ready` when there may be. */
  protected abstract wait(): void;
  /** Lets the source go. `return()` waits for it. */
  protected abstract close(): unknown;

  protected get isOver(): boolean {
    return this.#isOver;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  get [Symbol.toStringTag](): string {
    return "AsyncGenerator";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#finish();
  }

  next(): Promise<Step<T>> {
    try {
      const step = this.now();
      if (step !== undefined) return Promise.resolve(step);
    } catch (error) {
      return Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      this.#consumers.push({ resolve, reject });
      this.#wait();
    });
  }

  /** What `next()` would resolve to, if that can be had without waiting; throws what it would reject with. For code that
   * hands events on: a promise for each would cost more than the event. @internal */
  now(): Step<T> | undefined {
    if (this.#isOver) return this.#afterwards();
    if (this.#consumers.length > 0) return undefined;
    try {
      const step = this.take();
      if (step?.done === true) this.#finish();
      return step;
    } catch (error) {
      this.#finish();
      throw error;
    }
  }

  async return(): Promise<Step<T>> {
    await this.#finish();
    return DONE;
  }

  async throw(error?: unknown): Promise<Step<T>> {
    await this.#finish();
    throw error;
  }

  /** There may be something to take. */
  protected ready(): void {
    this.#isWaiting = false;
    try {
      while (this.#consumers.length > 0) {
        const step = this.take();
        if (step === undefined) {
          this.#wait();
          return;
        }
        if (step.done === true) this.#finish();
        else this.#consumers.shift()?.resolve(step);
      }
    } catch (error) {
      this.fail(error);
    }
  }

  /** Hands an event to the first pending `next()`. False without one. */
  protected hand(value: T): boolean {
    const consumer = this.#consumers.shift();
    if (consumer === undefined) return false;
    this.#isWaiting = false;
    consumer.resolve({ done: false, value });
    if (this.#consumers.length > 0) this.#wait();
    return true;
  }

  /** Ends it at once, with an error. */
  protected fail(error: unknown): void {
    if (this.#isOver) return;
    const consumer = this.#consumers.shift();
    if (consumer === undefined) this.#undelivered = { error };
    else consumer.reject(error);
    this.#finish();
  }

  #wait(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    try {
      this.wait();
    } catch (error) {
      this.fail(error);
    }
  }

  #afterwards(): Step<T> {
    const undelivered = this.#undelivered;
    this.#undelivered = undefined;
    if (undelivered !== undefined) throw undelivered.error;
    return DONE;
  }

  /** Ends it, once: settles every pending `next()`, and closes the source. */
  #finish(): unknown {
    if (!this.#isOver) {
      this.#isOver = true;
      for (const consumer of this.#consumers.splice(0)) consumer.resolve(DONE);
      this.#closed = this.close();
    }
    return this.#closed;
  }
}
