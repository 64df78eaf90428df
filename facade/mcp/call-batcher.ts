// Calls that are made in one turn of the event loop, sent together: a write, and a read of the server's, cost more than a
// call. One crossing to native code is enough for all that have no options.

import { nextTick } from "node:process";
import type { McpClient } from "../native-binding.js";

export class CallBatcher {
  readonly #native: McpClient;
  /** Whether the end of this turn is waited for. */
  #isHolding = false;
  /** Whether native code waits for it too. */
  #isNativeHolding = false;
  /** The calls that wait, as `callAll` takes them. */
  #calls = "";

  constructor(native: McpClient) {
    this.#native = native;
  }

  /** Makes a call without options when the turn ends. `input` is JSON, which has no line breaks. */
  add(request: number, tool: string, input: string | undefined): void {
    this.#hold();
    this.#calls += `${request}\n${tool}\n${input ?? ""}\n`;
  }

  /** The next call is made at once, and sent when the turn ends. */
  holdNext(): void {
    this.send();
    this.#hold();
    this.#isNativeHolding = true;
    this.#native.hold();
  }

  /** Makes the calls that wait: later requests must not come before them. */
  send(): void {
    if (this.#calls === "") return;
    const calls = this.#calls;
    this.#calls = "";
    this.#native.callAll(calls);
  }

  #hold(): void {
    if (this.#isHolding) return;
    this.#isHolding = true;
    // After all reactions of promises that are settled now, and before anything else.
    nextTick(this.#release);
  }

  readonly #release = (): void => {
    this.#isHolding = false;
    this.send();
    if (!this.#isNativeHolding) return;
    this.#isNativeHolding = false;
    this.#native.release();
  };
}
