/** The longest period that a timer takes. */
const LONGEST = 2 ** 31 - 1;

/**
 * Keeps the process alive, and a connection from being collected, while somebody waits for it: while calls are
 * pending, and while operations are served. Native code does neither, so that an idle connection never keeps a
 * program from ending, and one that nobody holds any more goes.
 */
export class KeepAlive {
  readonly #kept: object;
  #timer: NodeJS.Timeout | undefined;
  #holders = 0;

  constructor(kept: object) {
    this.#kept = kept;
  }

  acquire(): void {
    this.#holders += 1;
    if (this.#timer !== undefined) return;
    const kept = this.#kept;
    // A running timer holds its function, and that the connection.
    this.#timer = setInterval(() => void kept, LONGEST);
  }

  release(): void {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Nothing is waited for any more. */
  end(): void {
    this.#holders = 0;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
