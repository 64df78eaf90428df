// A line on the terminal that says what is being waited for.

import { setInterval } from "node:timers";
import type { Terminal } from "./terminal.js";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const EVERY = 100;

export class Progress {
  readonly #terminal: Terminal;
  #timer: NodeJS.Timeout | undefined;
  #frame = 0;
  #text = "";

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Where there is no terminal, nothing is shown. */
  show(text: string): void {
    if (!this.#terminal.isInteractive) return;
    this.#text = text
      .replace(/[^\x20-\x7e]/g, "?")
      .slice(0, Math.max(10, (process.stderr.columns ?? 80) - 4));
    if (this.#timer !== undefined) return;
    this.#terminal.beforeNote = () => this.clear();
    this.#timer = setInterval(() => this.#draw(), EVERY).unref();
  }

  #draw(): void {
    this.#frame = (this.#frame + 1) % FRAMES.length;
    this.#terminal.control(`\r\x1b[2K${FRAMES[this.#frame]} ${this.#text}`);
  }

  clear(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#terminal.beforeNote = undefined;
    this.#terminal.control("\r\x1b[2K");
  }
}
