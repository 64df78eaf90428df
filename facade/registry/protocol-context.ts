// Calls that came through the call protocol, told apart from direct ones.

import { optionOf } from "../border/options.js";
import type { OperationContext } from "../types.js";

/** Handed to `execute` by the call handler: access is checked whatever the registry thinks of direct calls, and the
 * signal, which nobody can have aborted yet, is not looked at, because it is made only when somebody looks. */
export const SERVED: unique symbol = Symbol("a call that came through the call protocol");

/** The same, for somebody who hands out the file of a large result. */
export const SERVED_FILES: unique symbol = Symbol("a call whose result may be in a file");

export type Served = typeof SERVED | typeof SERVED_FILES;

/** Handed to `execute` by itself: somebody sees to the deadline. */
export const WATCHED: unique symbol = Symbol("a call whose deadline is watched");

const enforced = new WeakSet<OperationContext>();

/** Marks the context of a call that came through the call protocol: no registry lets it skip access control. */
export function alwaysEnforceAccess(context: OperationContext): void {
  enforced.add(context);
}

/** Whether a registry that trusts direct calls may trust this one. */
export function isDirect(context: OperationContext): boolean {
  return !enforced.has(context);
}

const watchedElsewhere = new WeakSet<OperationContext>();

/** Says that whoever made the context sees to its deadline: `subscribe` need not. */
export function seesToDeadline(context: OperationContext): void {
  watchedElsewhere.add(context);
}

/** Whether somebody else sees to the deadline of this call. */
export function isWatchedElsewhere(context: OperationContext): boolean {
  return watchedElsewhere.has(context);
}

/** Metadata that came over a wire, and the members of it that may steer the package. */
const offWire = new WeakMap<object, ReadonlySet<string>>();

export function markMetadata(metadata: object, allowed: ReadonlySet<string>): void {
  offWire.set(metadata, allowed);
}

/** A member of a call's metadata that steers how the package makes the call; nothing if the caller may not say so. */
export function steering({ metadata }: OperationContext, name: string): unknown {
  if (typeof metadata !== "object" || metadata === null) return undefined;
  return offWire.get(metadata)?.has(name) === false ? undefined : optionOf(metadata, name);
}
