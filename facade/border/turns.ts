// Long work in pieces, so that the event loop turns in between.

import { nextTurn } from "./host.js";

/** In ms: what is shorter is not noticed. */
const PIECE = 10;

export class Turns {
  #since = performance.now();

  /** Whether the event loop has waited long enough. */
  get isDue(): boolean {
    return performance.now() - this.#since > PIECE;
  }

  /** Lets the event loop turn. */
  async take(): Promise<void> {
    await nextTurn();
    this.taken();
  }

  /** The event loop has just turned, for another reason. */
  taken(): void {
    this.#since = performance.now();
  }
}
