/** The longest period that a timer takes. */
const LONGEST = 2 ** 31 - 1;

/**
 * Keeps the process alive while somebody asks for it: while calls are pending, and while operations are served.
 * Native code does not, so that an idle connection never keeps a program from ending.
 */
export class KeepAlive {
  readonly #timer: NodeJS.Timeout;
  #holders = 0;

  constructor() {
    this.#timer = setInterval(() => {}, LONGEST);
    this.#timer.unref?.();
  }

  acquire(): void {
    if (this.#holders === 0) this.#timer.ref?.();
    this.#holders += 1;
  }

  release(): void {
    this.#holders -= 1;
    if (this.#holders === 0) this.#timer.unref?.();
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
