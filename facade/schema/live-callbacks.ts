// What native code asks while it walks over a live value: only JavaScript can answer.

import { types } from "node:util";
import type { Schema } from "../native-binding.js";
import { formatFunction, kindFunction } from "./registries.js";
import { Kind } from "./typebox-kinds.js";

/** The answers for one schema. Native code gets this object with each call and keeps no reference to it,
 * so that an unused schema can be collected. */
export class LiveCallbacks {
  readonly #schema: Schema;
  readonly #slots: readonly unknown[];
  /** Compiled when they are first needed: most schemas have none. */
  #patterns: Map<number, RegExp | undefined> | undefined;

  constructor(schema: Schema, slots: readonly unknown[]) {
    this.#schema = schema;
    this.#slots = slots;
  }

  /** A part of the user's schema that has no form in JSON. */
  slot(id: number): unknown {
    return this.#slots[id];
  }

  /** The time of a Date; `NaN` for what only pretends to be one. */
  dateTime(value: unknown): number | undefined {
    if (!(value instanceof Date) && !types.isDate(value)) return undefined;
    try {
      return value.getTime();
    } catch {
      return Number.NaN;
    }
  }

  byteLength(value: unknown): number | undefined {
    if (!(value instanceof Uint8Array) && !types.isUint8Array(value)) return undefined;
    try {
      return value.length;
    } catch {
      // An object can claim to be one and have no bytes.
      return 0;
    }
  }

  isArray(value: unknown): boolean {
    return Array.isArray(value);
  }

  isPromise(value: unknown): boolean {
    return value instanceof Promise || types.isPromise(value);
  }

  isIterable(value: object): boolean {
    return Symbol.iterator in value;
  }

  isAsyncIterable(value: object): boolean {
    return Symbol.asyncIterator in value;
  }

  digits(value: bigint): string {
    return value.toString();
  }

  symbolDescription(value: symbol): string | undefined {
    return value.description;
  }

  /** A pattern of a TypeBox schema that takes linear time on V8's own engine. Nothing where TypeBox would throw. */
  testPattern(id: number, value: unknown): boolean | undefined {
    this.#patterns ??= new Map();
    if (!this.#patterns.has(id)) this.#patterns.set(id, this.#compile(id));
    const pattern = this.#patterns.get(id);
    if (pattern === undefined) return undefined;
    const text = this.patternText(value);
    if (text === undefined) return undefined;
    pattern.lastIndex = 0;
    return pattern.test(text);
  }

  /** The text that a pattern sees; nothing for what has none. */
  patternText(value: unknown): string | undefined {
    if (typeof value === "string") return value;
    try {
      return `${value}`;
    } catch {
      return undefined;
    }
  }

  #compile(id: number): RegExp | undefined {
    const found = this.#schema.pattern(id);
    if (found == null) return undefined;
    const [source, flags] = JSON.parse(found) as [string, string];
    try {
      return new RegExp(source, flags);
    } catch {
      return undefined;
    }
  }

  /** The user's check of a format. */
  testFormat(id: number, value: string): boolean | undefined {
    const name = this.#schema.format(id);
    const check = name == null ? undefined : formatFunction(name);
    return check === undefined ? undefined : Boolean(check(value));
  }

  /** The user's check of a kind. */
  testKind(slot: number, value: unknown): boolean | undefined {
    const schema = this.#slots[slot] as { [Kind]: string };
    const check = kindFunction(schema[Kind]);
    return check === undefined ? undefined : Boolean(check(schema, value));
  }

  /** How many values a value consists of, counted no further than the limit, without recursion. */
  countNodes(value: unknown, limit: number): number {
    const open: unknown[] = [value];
    let count = 0;
    while (open.length > 0 && count < limit) {
      const next = open.pop();
      count += 1;
      if (typeof next !== "object" || next === null) continue;
      // One by one: a list that is long enough does not fit into the arguments of a call.
      for (const part of shallowValues(next, limit - open.length)) open.push(part);
    }
    return count;
  }

  bigint(digits: string): bigint {
    return BigInt(digits);
  }

  /** A `default` of the schema that has no form in JSON, in a list of one; `undefined` without one. */
  cloneDefault(slot: number): [unknown] | undefined {
    const value = this.#slots[slot];
    try {
      return [typeof value === "function" ? value() : clone(value)];
    } catch {
      // The user's function threw, or the value refuses to be copied.
      return undefined;
    }
  }

  /** What TypeBox's `Value.Create` makes from nothing. */
  makeSpecial(what: string, argument?: number): unknown {
    switch (what) {
      case "date":
        return argument === undefined ? new Date() : new Date(argument);
      case "bytes":
        return new Uint8Array(argument ?? 0);
      case "symbol":
        return Symbol();
      case "promise":
        return Promise.resolve();
      case "iterator":
        return (function* () {})();
      case "asyncIterator":
        return (async function* () {})();
      default:
        return () => {};
    }
  }
}

function* shallowValues(value: object, limit: number): Iterable<unknown> {
  let count = 0;
  for (const key of Object.keys(value)) {
    if (count++ >= limit) return;
    yield (value as Record<string, unknown>)[key];
  }
}

/** A copy of a default, so that results do not share it. Instances of classes are shared. */
function clone(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(clone);
  if (typeof value !== "object" || value === null) return value;
  if (types.isDate(value)) return new Date(value.getTime());
  if (types.isUint8Array(value)) return value.slice();
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, clone(each)]));
}
