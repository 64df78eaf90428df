// What a catalogue shows of a registry at all.

import type { Entry } from "../registry/entry.js";
import { traitsOf } from "../registry/handler-traits.js";

/** Internal operations are never shown outside, and those without a handler cannot be called. */
export function isShown({ handler, isInternal }: Entry): boolean {
  return handler !== undefined && !isInternal && traitsOf(handler).isCatalogue !== true;
}
