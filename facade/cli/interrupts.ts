// Ctrl+C and its relatives: the first asks the command to stop, the second does not ask.

import { EXIT } from "./exit-codes.js";

const CODES = { SIGINT: EXIT.INTERRUPTED, SIGTERM: EXIT.TERMINATED, SIGHUP: EXIT.TERMINATED } as const;

export class Interrupts {
  readonly #controller = new AbortController();
  #exitCode: number | undefined;

  constructor() {
    for (const name of Object.keys(CODES)) process.on(name, this.#onSignal);
  }

  readonly #onSignal = (name: keyof typeof CODES): void => {
    // Servers that were started die with this process, however it ends.
    if (this.#exitCode !== undefined) process.exit(this.#exitCode);
    this.#exitCode = CODES[name];
    this.#controller.abort(new Interrupted());
  };

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The exit code of a command that was interrupted. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /** Waits for something, or for an interrupt, whichever comes first. */
  async during<T>(work: Promise<T>): Promise<T> {
    const { signal } = this;
    signal.throwIfAborted();
    let onAbort: (() => void) | undefined;
    const interrupted = new Promise<never>((_, reject) => {
      onAbort = () => reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
    });
    // The abandoned work may fail later, when its error is of no use.
    work.catch(() => {});
    try {
      return await Promise.race([work, interrupted]);
    } finally {
      if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
    }
  }

  /** Waits for an interrupt. */
  async wait(): Promise<void> {
    if (this.signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  stop(): void {
    for (const name of Object.keys(CODES)) process.off(name, this.#onSignal);
  }
}

class Interrupted extends Error {
  constructor() {
    super("Interrupted");
  }
}
