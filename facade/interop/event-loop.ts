// Long work in slices, so that the event loop turns in between.

import { later, nextTurn } from "./host.js";

/** In ms: what is shorter is not noticed. */
const SLICE = 10;

/** Work that others can cause is followed by a rest of so many times its length, */
const REST = 3;
/** but not of more than this, in ms: the event loop turns during long work, too. */
const LONGEST_REST = 5_000;

export class Yielder {
  #since = performance.now();
  #busy = 0;

  /** For how long the event loop could not turn, in ms. */
  get busy(): number {
    return this.#busy + performance.now() - this.#since;
  }

  /** Whether the event loop has waited long enough. */
  get isDue(): boolean {
    return performance.now() - this.#since > SLICE;
  }

  /** Lets the event loop turn. */
  async yieldNow(): Promise<void> {
    this.#busy = this.busy;
    await nextTurn();
    this.yielded();
  }

  /** The event loop has just turned, for another reason. */
  yielded(): void {
    this.#since = performance.now();
  }
}

/** Work that others can cause as often as they like: one after the other, with rests between them. */
export class Pace {
  #last: Promise<unknown> = Promise.resolve();
  #restUntil = 0;

  /** Does the work when it is its turn. It must not wait for anything but its yielder. */
  run<T>(work: (yielder: Yielder) => Promise<T>): Promise<T> {
    const done = this.#last.then(() => this.#run(work));
    this.#last = done.catch(() => {});
    return done;
  }

  async #run<T>(work: (yielder: Yielder) => Promise<T>): Promise<T> {
    const rest = this.#restUntil - performance.now();
    // The timer keeps the process alive: a program may wait for this alone.
    if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
    const yielder = new Yielder();
    try {
      return await work(yielder);
    } finally {
      this.#restUntil = performance.now() + Math.min(yielder.busy * REST, LONGEST_REST);
    }
  }
}

/** A function that runs once, a moment later, however often it is called until then. */
export function coalesced(
  run: () => void,
  schedule: (work: () => void) => void = (work) => later(work, SLICE),
): () => void {
  let isDue = false;
  const work = () => {
    isDue = false;
    run();
  };
  return () => {
    if (isDue) return;
    isDue = true;
    schedule(work);
  };
}
