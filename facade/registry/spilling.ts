// Handlers that put large results into files themselves, while they receive them.

import type { OperationContext, OperationHandler } from "../types.js";
import type { AnyHandler } from "./entry.js";
import { drained } from "./spill-result.js";
import type { Spills } from "./spills.js";

interface Spilling {
  /** Where its own configuration says that large results go. */
  readonly own: Spills | undefined;
  /** The same work, with large results in these files, or in memory. */
  call(input: unknown, context: OperationContext | undefined, spills: Spills | undefined): unknown;
}

const spilling = new WeakMap<object, Spilling>();

/** Says that a handler can put large results into files. A function around the handler is not the handler. */
export function markSpilling(handler: object, work: Spilling): void {
  spilling.set(handler, work);
}

/** Where large results of a handler go, if anywhere: its own configuration has the first word. */
export function spillsOf(handler: object | undefined, registry: Spills | undefined): Spills | undefined {
  return (handler && spilling.get(handler)?.own) ?? registry;
}

/** The handler for a caller who can do nothing with a file. */
export function withoutFiles(handler: AnyHandler): OperationHandler {
  const work = spilling.get(handler);
  if (work === undefined) return handler as OperationHandler;
  return (input, context) => work.call(input, context, undefined);
}

/** The handler whose large results go to files. */
export function withFiles(handler: AnyHandler, id: string, spills: Spills): OperationHandler {
  const work = spilling.get(handler);
  if (work !== undefined) return (input, context) => work.call(input, context, spills);
  return async (input, context) => {
    const result: unknown = await (handler as OperationHandler)(input, context);
    return drained(result, id, spills, context?.signal);
  };
}
