import { nextTick } from "node:process";

/** What goes over in one piece at most, more or less. A string has an end, and so has memory. */
const MOST_CHARACTERS = 1024 * 1024;

/**
 * Lines that go over to the native side together, once the program lets the event loop go on: crossing, locking and
 * waking a thread cost more than a line does.
 */
export class Batch {
  readonly #send: (text: string) => void;
  #lines: string[] = [];
  #characters = 0;
  #isScheduled = false;

  constructor(send: (text: string) => void) {
    this.#send = send;
  }

  add(line: string): void {
    this.#lines.push(line);
    this.#characters += line.length;
    if (this.#characters >= MOST_CHARACTERS) {
      this.flush();
    } else if (!this.#isScheduled) {
      this.#isScheduled = true;
      // After all reactions of promises that are settled now, and before anything else.
      nextTick(this.#onTick);
    }
  }

  /** Puts a line in the place of the last one, unless that was sent. Says whether it did. */
  replaceLast(line: string): boolean {
    if (this.#lines.length === 0) return false;
    this.#lines[this.#lines.length - 1] = line;
    return true;
  }

  /** Sends what there is now. Whatever must not overtake it calls this first. */
  flush(): void {
    if (this.#lines.length === 0) return;
    const text = this.#lines.join("\n");
    this.#lines = [];
    this.#characters = 0;
    this.#send(text);
  }

  readonly #onTick = (): void => {
    this.#isScheduled = false;
    this.flush();
  };
}
