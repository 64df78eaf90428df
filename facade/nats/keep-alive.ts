import { keepAlive, letGo } from "../border/keep-alive.js";

/** Keeps something alive for as long as it has reasons: pending calls, operations that are served. */
export class KeepAlive {
  readonly #kept: object;
  #reasons = 0;

  constructor(kept: object) {
    this.#kept = kept;
  }

  acquire(): void {
    this.#reasons += 1;
    if (this.#reasons === 1) keepAlive(this.#kept);
  }

  release(): void {
    if (this.#reasons === 0) return;
    this.#reasons -= 1;
    if (this.#reasons === 0) letGo(this.#kept);
  }

  /** Nothing is waited for any more. */
  end(): void {
    this.#reasons = 0;
    letGo(this.#kept);
  }
}
