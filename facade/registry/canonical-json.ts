// One text for each JSON value, so that two inputs can be compared: keys in order, numbers in their shortest form (RFC 8785).

import { invalid } from "../errors.js";

/** Deeper values are refused, and so are those that contain themselves. */
const MAX_DEPTH = 256;

/** The text of a value. Throws a `VALIDATION_ERROR` for a value that JSON cannot hold; `what` names it. */
export function canonicalJson(value: unknown, what: string): string {
  return value === undefined ? "" : write(value, what, 0);
}

function write(value: unknown, path: string, depth: number): string {
  if (depth > MAX_DEPTH) throw refused(path, "is nested too deeply");
  if (value === null || typeof value === "boolean" || typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw refused(path, `is ${value}, which JSON cannot hold`);
    return JSON.stringify(value);
  }
  if (typeof value !== "object") throw refused(path, `is a ${typeof value}, which JSON cannot hold`);
  if (Array.isArray(value)) return writeList(value, path, depth);
  const prototype = Object.getPrototypeOf(value);
  // Another realm's plain objects have a prototype of their own, which has none.
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  if (!isPlain) throw refused(path, "is an object of a class, which JSON cannot hold");
  const members: string[] = [];
  for (const key of Reflect.ownKeys(value).sort(byUnits)) {
    if (typeof key === "symbol") throw refused(path, "has a symbol as a name, which JSON cannot hold");
    const { value: member } = dataOf(value, key, path);
    if (member !== undefined)
      members.push(`${JSON.stringify(key)}:${write(member, `${path}.${key}`, depth + 1)}`);
  }
  return `{${members.join(",")}}`;
}

function writeList(list: readonly unknown[], path: string, depth: number): string {
  const items: string[] = [];
  for (let i = 0; i < list.length; i++) {
    const at = `${path}[${i}]`;
    const { value } = dataOf(list, String(i), at);
    if (value === undefined) throw refused(at, "is undefined, which JSON cannot hold");
    items.push(write(value, at, depth + 1));
  }
  return `[${items.join(",")}]`;
}

/** A getter may give another value each time. */
function dataOf(object: object, key: string, path: string): { value?: unknown } {
  const property = Object.getOwnPropertyDescriptor(object, key) ?? {};
  if ("get" in property) throw refused(`${path}.${key}`, "is a getter, which JSON cannot hold");
  return property;
}

/** By UTF-16 code units, as the RFC wants it. */
function byUnits(a: string | symbol, b: string | symbol): number {
  return String(a) < String(b) ? -1 : 1;
}

function refused(path: string, sentence: string): Error {
  const shown = path.length > 200 ? `${path.slice(0, 200)}...` : path;
  return invalid(`${shown} ${sentence}. A call that needs an approval takes JSON only`, { path: shown });
}
