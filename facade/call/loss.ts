// How a transport says that events may have been missed.

import type { CallError } from "../errors.js";

/** A transport that loses its connection cannot know which answers it has missed. Whoever waits for one is told,
 * and does not wait for ever. */
export const onLoss: unique symbol = Symbol("@alkdev/operations: events may have been missed");

export interface LossyTarget extends EventTarget {
  /** Registers a listener; the returned function removes it. */
  [onLoss](listener: (reason: CallError) => void): () => void;
}

export function isLossy(target: EventTarget): target is LossyTarget {
  return onLoss in target;
}
