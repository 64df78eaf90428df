// Calls that came through the call protocol, told apart from direct ones.

import { type Marks, marks } from "../border/marks.js";
import { optionOf } from "../border/options.js";
import type { ResponseEnvelope } from "../envelope.js";
import type { OperationContext } from "../types.js";

/** How `execute` is called by the package itself. */
export interface Manner {
  /** By the call handler: access is checked whatever the registry thinks of direct calls, and the signal, which nobody can
   * have aborted yet, is not looked at, because it is made only when somebody looks. */
  readonly isServed: boolean;
  /** By the registry itself: somebody sees to the deadline, and those who watch are around it already. */
  readonly isWithin: boolean;
  /** By the registry itself: the caller may. */
  readonly isGranted: boolean;
  /** Whether the caller can be handed the file of a large result. */
  readonly takesFiles: boolean;
  /** Throws for an answer that the caller cannot be sent. Used where the call has observers. */
  readonly assertOutput?: (envelope: ResponseEnvelope) => void;
}

const SERVED_CALL = { isServed: true, isWithin: false, isGranted: false };
const DIRECT_CALL = { isServed: false, isWithin: false, isGranted: false, takesFiles: true };

/** A call that came through the call protocol. */
export const SERVED: Manner = { ...SERVED_CALL, takesFiles: false };

/** The same, for somebody who hands out the file of a large result. */
export const SERVED_FILES: Manner = { ...SERVED_CALL, takesFiles: true };

/** The same, and a direct call, from within. */
export const WITHIN: Manner = { ...DIRECT_CALL, isWithin: true };
const WITHIN_SERVED: Manner = { ...SERVED, isWithin: true };
const WITHIN_FILES: Manner = { ...SERVED_FILES, isWithin: true };

/** The same once more, by a caller who may. */
const GRANTED: Manner = { ...WITHIN, isGranted: true };
const GRANTED_SERVED: Manner = { ...WITHIN_SERVED, isGranted: true };
const GRANTED_FILES: Manner = { ...WITHIN_FILES, isGranted: true };

/** A call, from within. */
export function within(by: Manner | undefined): Manner {
  if (by?.isServed !== true) return WITHIN;
  return by.takesFiles ? WITHIN_FILES : WITHIN_SERVED;
}

/** A call whose caller may. */
export function granted(by: Manner): Manner {
  if (!by.isServed) return GRANTED;
  return by.takesFiles ? GRANTED_FILES : GRANTED_SERVED;
}

/** Set in the context of a call that came from outside. An enumerable property, because copies and proxies that a handler makes
 * of its context have to have it as well: with them, it still calls on behalf of its caller. Another copy of the package knows it. */
const FROM_OUTSIDE = Symbol.for("@alkdev/operations: from outside");

/** The beginning of the context of a call that came from outside. */
export function contextFromOutside(requestId: string): OperationContext {
  return { requestId, [FROM_OUTSIDE]: true } as OperationContext;
}

/** Marks the context of a call that came from outside: no registry lets it skip access control. Returns whether it could be
 * marked. */
export function alwaysEnforceAccess(context: OperationContext): boolean {
  return Reflect.defineProperty(context, FROM_OUTSIDE, {
    value: true,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

const environments = new WeakSet<object>();

/** Marks the environment that a call from outside was given. A copy of its context has the same one. */
export function markOutside(env: object): void {
  environments.add(env);
}

/** Whether a context is that of a call from outside, or was made from it. A handler uses it for calls on behalf of its caller, so
 * a registry that trusts direct calls must not trust these, and errors must not name what the caller cannot see. */
export function isFromOutside(context: OperationContext): boolean {
  if ((context as { [FROM_OUTSIDE]?: true })[FROM_OUTSIDE] === true) return true;
  // Copies that are made name by name lack symbols.
  const env: unknown = optionOf(context, "env");
  return typeof env === "object" && env !== null && environments.has(env);
}

/** How a call came from outside: for those who watch. */
export interface Via {
  readonly door: "http" | "mcp" | "nats" | "tool";
  /** Of the request: `POST`, or `tools/call`. */
  readonly method?: string;
  /** Of an HTTP request. */
  readonly path?: string;
  /** Its path with the names of parameters in it. */
  readonly route?: string;
  readonly scheme?: string;
  /** Whether it is answered with the whole envelope. */
  readonly wantsEnvelope?: boolean;
  readonly transport?: "tcp" | "pipe";
  /** The name of the tool that was called, as its caller knows it. */
  readonly tool?: string | null;
}

const ways: Marks<OperationContext, Via> = marks();

export function markVia(context: OperationContext, via: Via): void {
  ways.set(context, via);
}

/** Has observers see a context as the one that it was made of. */
export function carryVia(from: OperationContext, to: OperationContext): void {
  const via = viaIn(from);
  if (via !== undefined) markVia(to, via);
}

/** How the call with this context came; nothing where it came through the call protocol alone, or was direct. */
export function viaIn(context: OperationContext): Via | undefined {
  return ways.get(context);
}

/** Metadata that came over a wire, and the members of it that may steer the package. */
const offWire: Marks<object, ReadonlySet<string>> = marks();

export function markMetadata(metadata: object, allowed: ReadonlySet<string>): void {
  offWire.set(metadata, allowed);
}

/** A member of a call's metadata that steers how the package makes the call; nothing if the caller may not say so. */
export function steering({ metadata }: OperationContext, name: string): unknown {
  if (typeof metadata !== "object" || metadata === null) return undefined;
  return offWire.get(metadata)?.has(name) === false ? undefined : optionOf(metadata, name);
}
