// Long work in pieces, so that the event loop turns in between.

import { later, nextTurn } from "./host.js";

/** In ms: what is shorter is not noticed. */
const PIECE = 10;

/** Work that others can cause is followed by a rest of so many times its length, */
const REST = 3;
/** but not of more than this, in ms: the event loop turns during long work, too. */
const LONGEST_REST = 5_000;

export class Turns {
  #since = performance.now();
  #busy = 0;

  /** For how long the event loop could not turn, in ms. */
  get busy(): number {
    return this.#busy + performance.now() - this.#since;
  }

  /** Whether the event loop has waited long enough. */
  get isDue(): boolean {
    return performance.now() - this.#since > PIECE;
  }

  /** Lets the event loop turn. */
  async take(): Promise<void> {
    this.#busy = this.busy;
    await nextTurn();
    this.taken();
  }

  /** The event loop has just turned, for another reason. */
  taken(): void {
    this.#since = performance.now();
  }
}

/** Work that others can cause as often as they like: one after the other, with rests between them. */
export class Pace {
  #last: Promise<unknown> = Promise.resolve();
  #restUntil = 0;

  /** Does the work when it is its turn. It must not wait for anything but its turns. */
  run<T>(work: (turns: Turns) => Promise<T>): Promise<T> {
    const done = this.#last.then(() => this.#run(work));
    this.#last = done.catch(() => {});
    return done;
  }

  async #run<T>(work: (turns: Turns) => Promise<T>): Promise<T> {
    const rest = this.#restUntil - performance.now();
    // The timer keeps the process alive: a program may wait for this alone.
    if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
    const turns = new Turns();
    try {
      return await work(turns);
    } finally {
      this.#restUntil = performance.now() + Math.min(turns.busy * REST, LONGEST_REST);
    }
  }
}

/** A function that is called once, a moment later, however often it is called until then. */
export function coalesced(run: () => void): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    later(() => {
      isDue = false;
      run();
    }, PIECE);
  };
}
