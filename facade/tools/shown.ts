// What a catalogue shows of a registry at all.

import type { Entry } from "../registry/entry.js";

/** The handlers of `search`, `describe` and `call`: a model that has found them need not find them again. */
const own = new WeakSet<object>();

export function markAsOwn(handler: object): void {
  own.add(handler);
}

/** Internal operations are never shown to anybody outside, and those without a handler cannot be called. */
export function isShown({ handler, isInternal }: Entry): boolean {
  return handler !== undefined && !isInternal && !own.has(handler);
}
