// Values in pieces of bounded size.

import { toBase64 } from "../border/host.js";

/** Characters, or bytes, of one piece. */
const PIECE = 256 * 1024;
/** Lists and objects above this level are written member by member. */
const LEVELS = 3;

/** JSON cannot hold the value. */
export class NotJson extends Error {}

/** A text or bytes, in pieces. No letter is cut in two. */
export function* slices<T extends string | Uint8Array>(whole: T): Generator<T> {
  for (let start = 0; start < whole.length; ) {
    let end = Math.min(start + PIECE, whole.length);
    if (typeof whole === "string" && end < whole.length && isHighSurrogate(whole.charCodeAt(end - 1)))
      end -= 1;
    yield (typeof whole === "string" ? whole.slice(start, end) : whole.subarray(start, end)) as T;
    start = end;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

/** A value as JSON, in pieces that together are what `JSON.stringify` would write. Binary data in it is written as the call
 * protocol does (`call/wire-value.ts`). */
export function* jsonPieces(value: object): Generator<string> {
  let waiting = "";
  for (const piece of members(value, LEVELS)) {
    waiting += piece;
    if (waiting.length < PIECE) continue;
    yield* slices(waiting);
    waiting = "";
  }
  yield* slices(waiting);
}

function* members(value: unknown, levels: number): Generator<string> {
  if (levels === 0 || typeof value !== "object" || value === null || !isPlain(value)) {
    yield text(value);
    return;
  }
  const isList = Array.isArray(value);
  yield isList ? "[" : "{";
  let isFirst = true;
  for (const key of Object.keys(value)) {
    const member: unknown = (value as Record<string, unknown>)[key];
    if (member === undefined && !isList) continue;
    const name = isList ? "" : `${JSON.stringify(key)}:`;
    yield `${isFirst ? "" : ","}${name}`;
    yield* members(member, levels - 1);
    isFirst = false;
  }
  yield isList ? "]" : "}";
}

/** Whether it is what it looks like: no class, no `toJSON`, no list with holes. */
function isPlain(value: object): boolean {
  if ("toJSON" in value) return false;
  if (Array.isArray(value)) return Object.keys(value).length === value.length;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function text(value: unknown): string {
  try {
    const written: string | undefined = JSON.stringify(value, portable);
    if (written !== undefined) return written;
  } catch (error) {
    throw new NotJson(error instanceof Error ? error.message : "");
  }
  throw new NotJson("it has no JSON");
}

function portable(this: unknown, key: string, value: unknown): unknown {
  const original: unknown = (this as Record<string, unknown>)[key];
  if (original instanceof Uint8Array) return { $bytes: toBase64(original) };
  const isLost =
    original instanceof Map ||
    original instanceof Set ||
    typeof original === "function" ||
    typeof original === "symbol" ||
    (typeof original === "number" && !Number.isFinite(original));
  if (isLost) throw new NotJson("it holds what JSON cannot");
  return value;
}
