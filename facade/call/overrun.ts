// Handlers that run on although their call has ended: it was aborted, or its time was up. Nobody can end them, so their
// places are given back without them. That is bounded: whoever calls and aborts, again and again, would otherwise have as
// many handlers running as they like.

/** The work on one call. */
interface Work {
  /** Its call has ended, its handler has not, and its place was given back. */
  runsOn: boolean;
}

export class Overrun<T extends Work> {
  readonly #most: number;
  readonly #giveBack: (work: T) => void;
  /** Those whose places are not given back yet, in their order. */
  readonly #held = new Set<T>();
  #runningOn = 0;

  /** `giveBack` is called once for each, when its place is free. */
  constructor(most: number, giveBack: (work: T) => void) {
    this.#most = most;
    this.#giveBack = giveBack;
  }

  /** How many handlers run on. */
  get size(): number {
    return this.#runningOn + this.#held.size;
  }

  /** The call has ended before its handler: its place is free, or is so once enough handlers have ended. */
  callEnded(work: T): void {
    if (this.#runningOn < this.#most) this.#letGo(work);
    else this.#held.add(work);
  }

  /** A handler has ended, before or after its call. */
  handlerEnded(work: T): void {
    if (!work.runsOn) {
      this.#held.delete(work);
      this.#giveBack(work);
      return;
    }
    work.runsOn = false;
    this.#runningOn -= 1;
    const [next] = this.#held;
    if (next === undefined) return;
    this.#held.delete(next);
    this.#letGo(next);
  }

  #letGo(work: T): void {
    this.#runningOn += 1;
    work.runsOn = true;
    this.#giveBack(work);
  }
}

/** As many as may run in the regular way, and some for those who allow few. */
export function usualOverrun(places: number | undefined): number {
  const AT_LEAST = 16;
  return places === undefined ? Number.POSITIVE_INFINITY : Math.max(places, AT_LEAST);
}
