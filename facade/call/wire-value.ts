// Values as JSON, so that none changes on the way. Binary data travels as `{ "$bytes": "<base64>" }` and arrives as a
// `Uint8Array`; what JSON cannot hold is refused by its path.

import { type CallError, invalid } from "../errors.js";
import { fromBase64, toBase64 } from "../interop/host.js";
import { kindOf, pointerToken, textOf } from "../interop/text.js";

const BYTES = "$bytes";
/** Deeper values take the slow path, which notices cycles. */
const QUICK_DEPTH = 4000;

/** The value as JSON; nothing for `undefined`. `what` begins the refusal: "The event call.requested cannot be sent". */
export function wireText(value: unknown, what: string): string | undefined {
  try {
    return JSON.stringify(isPlain(value, 0) ? value : portable(value, "", []));
  } catch (error) {
    if (error instanceof Unsendable)
      throw refusal(what, `${error.path || "the value itself"} is ${error.found}`);
    // Too deep for the stack, or code of the value's own (a getter, `toJSON`) that threw.
    throw refusal(what, error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : textOf(error));
  }
}

/** What was parsed, with its binary data restored. Changed in place: there is no other reference to it. `mayHoldBytes` is false
 * if the text is known to hold none. */
export function restored<T>(value: T, mayHoldBytes = true): T {
  if (!mayHoldBytes) return value;
  const holder = { value: value as unknown };
  // By a list, not by recursion: how deep it is was the sender's choice.
  const left: Record<string, unknown>[] = [holder];
  for (let at = left.pop(); at !== undefined; at = left.pop()) {
    for (const key of Object.keys(at)) {
      const inner = at[key];
      if (typeof inner !== "object" || inner === null) continue;
      if (isMarked(inner)) {
        const marked = inner[BYTES];
        // What is not base64 stays as it is, for the check of the input or the output to refuse.
        if (typeof marked === "string") at[key] = bytesIn(marked) ?? inner;
        else if (Array.isArray(marked)) {
          inner[BYTES] = marked[0];
          // The user's own object: its members are visited, not the object itself.
          left.push(inner);
        }
      } else left.push(inner as Record<string, unknown>);
    }
  }
  return holder.value as T;
}

/** The bytes of a base64 text, of either alphabet and with or without padding; nothing for any other text
 * (`crates/operations-core/src/call/input.rs`). */
function bytesIn(text: string): Uint8Array | undefined {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const digits = text.length - padding;
  const bytes = fromBase64(text);
  // Invalid characters are skipped, and then bytes are missing.
  return digits % 4 !== 1 && bytes.length === Math.floor((digits * 3) / 4) ? bytes : undefined;
}

/** Whether JSON writes it as it is: the usual case, found out without a copy. */
function isPlain(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value);
    case "object":
      break;
    default:
      return value === undefined && depth === 0;
  }
  if (value === null) return true;
  if (depth > QUICK_DEPTH) return false;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!isPlain(value[i], depth + 1)) return false;
    return true;
  }
  const prototype = Object.getPrototypeOf(value);
  if ((prototype !== Object.prototype && prototype !== null) || BYTES in value || "toJSON" in value)
    return false;
  for (const key in value) {
    const inner = (value as Record<string, unknown>)[key];
    // JSON leaves such properties out, as one would without them.
    if (inner !== undefined && !isPlain(inner, depth + 1)) return false;
  }
  return true;
}

class Unsendable extends Error {
  readonly path: string;
  readonly found: string;

  constructor(path: string, found: string) {
    super(found);
    this.path = path;
    this.found = found;
  }
}

/** A copy that JSON writes without loss. */
function portable(value: unknown, path: string, around: object[]): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) throw new Unsendable(path, String(value));
  if (typeof value === "bigint" || typeof value === "function" || typeof value === "symbol") {
    throw new Unsendable(path, kindOf(value));
  }
  if (typeof value !== "object" || value === null) return value;
  const bytes = bytesOf(value, path);
  if (bytes !== undefined) return { [BYTES]: toBase64(bytes) };
  if (around.includes(value)) throw new Unsendable(path, "an object that contains itself");
  around.push(value);
  try {
    if (typeof (value as { toJSON?: unknown }).toJSON === "function") {
      return portable((value as { toJSON(key: string): unknown }).toJSON(""), path, around);
    }
    if (Array.isArray(value)) return portableList(value, path, around);
    if (value instanceof Error) return { name: value.name, message: value.message };
    if (value instanceof Map || value instanceof Set) {
      throw new Unsendable(path, value instanceof Map ? "a Map" : "a Set");
    }
    return portableObject(value, path, around);
  } finally {
    around.pop();
  }
}

function portableList(list: unknown[], path: string, around: object[]): unknown[] {
  return Array.from(list, (inner, index) => {
    if (inner === undefined) throw new Unsendable(`${path}/${index}`, "undefined");
    return portable(inner, `${path}/${index}`, around);
  });
}

function portableObject(value: object, path: string, around: object[]): object {
  const copy: Record<string, unknown> = {};
  const keys = Object.keys(value);
  for (const key of keys) {
    const inner = portable((value as Record<string, unknown>)[key], `${path}/${pointerToken(key)}`, around);
    // By definition, not by assignment: a key may be `__proto__`.
    Object.defineProperty(copy, key, { value: inner, enumerable: true, configurable: true, writable: true });
  }
  // An object of the user's that looks like binary data is marked by a list around its value.
  if (keys.length === 1 && isMarked(copy)) copy[BYTES] = [copy[BYTES]];
  return copy;
}

function bytesOf(value: object, path: string): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value) || (typeof Blob === "function" && value instanceof Blob)) {
    throw new Unsendable(path, `a ${value.constructor.name}: send its bytes as a Uint8Array`);
  }
  return undefined;
}

function isMarked(value: object): value is { [BYTES]: unknown } {
  return Object.hasOwn(value, BYTES) && Object.keys(value).length === 1;
}

function refusal(what: string, why: string): CallError {
  return invalid(`${what}, because it cannot be written as JSON: ${why}`);
}
