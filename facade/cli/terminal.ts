// Where a command prints: results to standard output, everything else to standard error.

import { once } from "node:events";
import type { WriteStream } from "node:tty";
import { wireText } from "../call/wire-value.js";

/** Names and descriptions are untrusted. Control characters could rewrite what is on the screen, and marks of
 * direction could turn it around: both are shown as what they are. Line ends and tabs stay. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function harmless(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(CONTROL, (found) => {
    const code = found.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`;
  });
}

export class Terminal {
  readonly #out: WriteStream | NodeJS.WriteStream;
  readonly #err: WriteStream | NodeJS.WriteStream;
  readonly #secrets = new Set<string>();
  isQuiet = false;
  /** Results and failures are JSON. */
  isJson = false;
  /** The reader is gone: `operations list | head -1`. */
  isClosed = false;
  /** Called before a line is written to standard error. */
  beforeNote: (() => void) | undefined;

  constructor(out = process.stdout, err = process.stderr) {
    this.#out = out;
    this.#err = err;
    for (const stream of [out, err]) {
      stream.on("error", () => {
        this.isClosed = true;
      });
    }
  }

  /** What is never written to standard error, nor into an error. */
  hide(secrets: Iterable<string>): void {
    // Shorter texts are in too many words.
    for (const secret of secrets) {
      // As it is, and as it is in JSON.
      if (secret.length >= 4) this.#secrets.add(secret).add(JSON.stringify(secret).slice(1, -1));
    }
  }

  masked(text: string): string {
    let masked = text;
    // The longest first: one may be a part of another.
    for (const secret of [...this.#secrets].sort((one, other) => other.length - one.length)) {
      masked = masked.replaceAll(secret, "***");
    }
    return masked;
  }

  get width(): number {
    if (this.#out.isTTY) return this.#out.columns || 80;
    const { COLUMNS } = process.env;
    return COLUMNS !== undefined && /^\d+$/.test(COLUMNS) ? Number(COLUMNS) : Number.POSITIVE_INFINITY;
  }

  get isInteractive(): boolean {
    return this.#err.isTTY === true && !this.isQuiet;
  }

  get isOutputTerminal(): boolean {
    return this.#out.isTTY === true;
  }

  /** A result, as text. On a terminal it is made harmless; elsewhere it stays as it is. */
  async print(text: string): Promise<void> {
    await this.write(`${this.#out.isTTY ? harmless(text) : text}\n`);
  }

  /** A result, as JSON: in one line, or for people in many. */
  async printJson(value: unknown, { isLine = false } = {}): Promise<void> {
    await this.write(`${jsonText(value, isLine ? undefined : 2)}\n`);
  }

  /** Waits when the reader is slow. */
  async write(text: string | Uint8Array): Promise<void> {
    if (this.isClosed) return;
    if (this.#out.write(text) || this.isClosed) return;
    await Promise.race([once(this.#out, "drain"), once(this.#out, "close")]).catch(() => {});
  }

  /** A line that is not a result, for people. */
  note(text: string): void {
    if (!this.isQuiet) this.complain(text);
  }

  /** The same, also when it is to be quiet. */
  complain(text: string): void {
    this.beforeNote?.();
    this.#err.write(`${harmless(this.masked(text))}\n`);
  }

  /** Raw text for a terminal: what moves the cursor. */
  control(text: string): void {
    this.#err.write(text);
  }
}

/** A value as JSON. Binary data is `{ "$bytes": "<base64>" }`, as it is between processes. */
export function jsonText(value: unknown, indent?: number): string {
  const text = wireText(withoutBigInts(value), "The result cannot be printed") ?? "null";
  return indent === undefined ? text : JSON.stringify(JSON.parse(text), undefined, indent);
}

/** Only an import can ask for a `bigint`; as JSON it is its digits. */
function withoutBigInts(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return value.map(withoutBigInts);
  if (typeof value !== "object" || value === null) return value;
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutBigInts(inner)]));
}
