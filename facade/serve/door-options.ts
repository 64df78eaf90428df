// What the options of all doors share.

import { type Check, isString, must, oneOf } from "../interop/options.js";

export const PATH = /^(\/[\w.~-]+)+$/;
export const aPath = must(
  "a path such as /api, without a slash at its end",
  (value) => isString(value) && PATH.test(value),
);

/** A door is open or closed, or has options. */
export const door =
  (fields: Check): Check =>
  (value, path) =>
    typeof value === "boolean" ? value : fields(value, path);

/** What callers read of errors that handlers did not mean for them. */
export const someErrors: Check = oneOf("mask", "expose");

/** The options that are set. */
export function defined<T extends object>(options: T): Partial<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>;
}
