// The options of the whole package are checked here, before anything is done with them. A refusal names the option,
// what was given and what is allowed; a misspelt name is refused with the name that was probably meant.

import { type CallError, invalid } from "../errors.js";
import { nearestName } from "./nearest-name.js";
import { kindOf, quoted } from "./text.js";

/** Refuses a value that cannot be used, by the path of its option; returns the one to use. */
export type Check = ((value: unknown, path: string) => unknown) & { readonly isRequired?: true };
/** How each option is checked. The compiler requires all that are declared by name. */
export type Fields<T> = {
  readonly [Name in keyof T as string extends Name ? never : number extends Name ? never : Name]-?: Check;
};

export interface Rules {
  /** Goes before the names in messages: `config.`, `connectNats: `. */
  readonly prefix?: string;
  /** Called with unknown names that are not near a known one. Without it they are refused. */
  readonly others?: (names: string[]) => void;
}

/** A copy of the options, checked. What is `undefined` counts as absent, and is there as `undefined`, so that reading the
 * copy never reaches `Object.prototype`. */
export function checkedOptions<T extends object>(
  options: unknown,
  fields: Fields<T>,
  { prefix = "", others }: Rules = {},
): T {
  if (!isRecord(options)) {
    throw refusal(
      prefix.endsWith(".") ? prefix.slice(0, -1) : `${prefix}options`,
      `must be an object, not ${kindOf(options)}`,
    );
  }
  // First, because a misspelt name explains why another is missing.
  const unknown = Object.keys(options).filter((name) => !Object.hasOwn(fields, name));
  if (unknown.length > 0) refuseUnknown(unknown, Object.keys(fields), prefix, others);
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(fields)) {
    const value = optionOf(options, name);
    const check = (fields as Record<string, Check>)[name] as Check;
    copy[name] =
      value === undefined && check.isRequired === undefined ? undefined : check(value, prefix + name);
  }
  return copy as T;
}

/** An option's value. A property of `Object.prototype` is not an option. */
export function optionOf(options: object, name: string): unknown {
  return Object.hasOwn(options, name) || !(name in Object.prototype)
    ? (options as Record<string, unknown>)[name]
    : undefined;
}

function refuseUnknown(unknown: string[], known: string[], prefix: string, others: Rules["others"]): void {
  for (const name of unknown) {
    // One letter at least: what the options are is known, and they are few.
    const nearest = nearestName(name, known, 1);
    // A name is the user's own text: enough of it to recognise, no more.
    const path = prefix + name.slice(0, 64);
    if (nearest !== undefined) throw refusal(path, `is not an option. Did you mean ${nearest}?`, { nearest });
    if (others === undefined) throw refusal(path, `is not an option: there are ${known.join(", ")}`);
  }
  others?.(unknown);
}

/** `allowed` are words that follow "must be". A value that may be a secret is not quoted. */
export function must(
  allowed: string,
  holds: (value: unknown) => boolean,
  { secret = false }: { secret?: boolean } = {},
): Check {
  return (value, path) => {
    if (holds(value)) return value;
    if (secret && typeof value === "string") {
      const what = value === "" ? "It is empty" : "What was given is not shown, because it may be a secret";
      throw refusal(path, `must be ${allowed}. ${what}`);
    }
    throw refusal(path, `must be ${allowed}, not ${quoted(value)}`);
  };
}

/** The option cannot be left out. */
export function required(check: Check): Check {
  const always: Check = (value, path) => check(value, path);
  return Object.assign(always, { isRequired: true as const });
}

/** Options within an option. */
export function group<T extends object>(fields: Fields<T>, others?: Rules["others"]): Check {
  return (value, path) =>
    checkedOptions<T>(
      value,
      fields,
      others === undefined ? { prefix: `${path}.` } : { prefix: `${path}.`, others },
    );
}

/** One of some words. */
export function oneOf(...words: readonly string[]): Check {
  const list = words.map((word) => JSON.stringify(word));
  return must(`${list.slice(0, -1).join(", ")} or ${list.at(-1)}`, (value) =>
    words.includes(value as string),
  );
}

/** An object with a text for each name. */
export function texts(isName: (name: string) => boolean, what: string): Check {
  return (value, path) => {
    if (!isRecord(value)) {
      throw refusal(path, `must be an object with a string for each ${what}, not ${kindOf(value)}`);
    }
    // A `Headers` or a `Map`, which would look empty.
    if (Symbol.iterator in value) {
      const hint = "Object.fromEntries() makes one of a Headers object or a Map";
      throw refusal(path, `must be a plain object with a string for each ${what}; ${hint}`);
    }
    for (const [name, text] of Object.entries(value)) {
      if (!isName(name))
        throw refusal(path, `has ${JSON.stringify(name)}, which cannot be the name of a ${what}`);
      if (typeof text !== "string") {
        throw refusal(`${path}[${JSON.stringify(name)}]`, `must be a string, not ${kindOf(text)}`);
      }
    }
    return value;
  };
}

/** A time of before 26 April 1970, in milliseconds, is a duration that was taken for a deadline. */
const LONGEST_DURATION = 1e10;

export const aString = must("a string", isString);
/** A string that no message quotes. */
export const aSecret = must("a string", isString, { secret: true });
export const aName = must("a string that is not empty", (value) => isString(value) && value !== "");
export const aBoolean = must("true or false", (value) => typeof value === "boolean");
export const aFunction = must("a function", isFunction);
export const aDuration = must("a number of milliseconds above 0", isPositive);
export const aPatience = must("a number of milliseconds, 0 or more", (value) => Number(value) >= 0);
export const aTime = must(
  "a number of milliseconds since 1970, such as Date.now() + 5_000",
  (value) => Number.isFinite(value) && !isDuration(value as number),
);
export const aSize = must("a whole number above 0", (value) => isWhole(value, 1));
export const aCount = must("a whole number, 0 or more", (value) => isWhole(value, 0));
export const aList = must("a list of strings", (value) => isListOf(value, isString));
export const anything: Check = (value) => value;
export const anObject = must("an object", isRecord);
export const aSignal = must("an AbortSignal", (value) => value instanceof AbortSignal);

/** Whether a time is a duration by mistake. Tests have clocks of their own, which may begin anywhere. */
export function isDuration(time: number): boolean {
  return time < LONGEST_DURATION && Date.now() >= LONGEST_DURATION;
}

export function isListOf(value: unknown, holds: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(holds);
}

export function isString(value: unknown): value is string {
  return typeof value === "string";
}

export function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

/** Whether it is a whole number, and large enough. */
export function isWhole(value: unknown, least: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least;
}

function isPositive(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Whether it is an object with names, and no list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !Array.isArray(value);
}

export function refusal(path: string, sentence: string, more: object = {}): CallError {
  const field = path.slice(path.lastIndexOf(": ") < 0 ? 0 : path.lastIndexOf(": ") + 2);
  return invalid(`${path} ${sentence}`, { field, ...more });
}
