// Handlers that run on although their call has ended: it was aborted, or its time was up. They cannot be ended, so their
// permits are released without them. That is bounded: a client that calls and aborts, again and again, would otherwise have
// as many handlers running as it likes.

/** The work on one call. */
interface Work {
  /** Its call has ended, its handler has not, and its permit was released. */
  isAbandoned: boolean;
}

export class AbandonedHandlers<T extends Work> {
  readonly #max: number;
  readonly #release: (work: T) => void;
  /** Those whose permits are not released yet, in their order. */
  readonly #held = new Set<T>();
  #released = 0;

  /** `release` is called once for each call, when its permit is free. */
  constructor(max: number, release: (work: T) => void) {
    this.#max = max;
    this.#release = release;
  }

  get size(): number {
    return this.#released + this.#held.size;
  }

  /** The call has ended before its handler: its permit is released now, or once enough handlers have ended. */
  callEnded(work: T): void {
    if (this.#released < this.#max) this.#abandon(work);
    else this.#held.add(work);
  }

  /** A handler has ended, before or after its call. */
  handlerEnded(work: T): void {
    if (!work.isAbandoned) {
      this.#held.delete(work);
      this.#release(work);
      return;
    }
    work.isAbandoned = false;
    this.#released -= 1;
    const [next] = this.#held;
    if (next === undefined) return;
    this.#held.delete(next);
    this.#abandon(next);
  }

  #abandon(work: T): void {
    this.#released += 1;
    work.isAbandoned = true;
    this.#release(work);
  }
}

/** As many as may run in the regular way, but not too few. */
export function defaultOverrun(concurrency: number | undefined): number {
  const AT_LEAST = 16;
  return concurrency === undefined ? Number.POSITIVE_INFINITY : Math.max(concurrency, AT_LEAST);
}
