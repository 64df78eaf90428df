// How a large result of a call gets into a file: by its handler, while it is received, or afterwards.

import type { ResponseEnvelope } from "../envelope.js";
import type { OperationHandler } from "../types.js";
import type { AnyHandler, Entry } from "./entry.js";
import { addTraits, traitsOf } from "./handler-traits.js";
import type { Manner } from "./protocol-context.js";
import { drained, spilledIfLarge } from "./spill-result.js";
import type { Spills } from "./spills.js";

/** The language's own, as `await` has it: a promise may have been given another. */
export const { then } = Promise.prototype;

/** Where large results of a handler go, if anywhere: its own configuration has the first word. */
export function spillsOf(handler: object | undefined, registry: Spills | undefined): Spills | undefined {
  return traitsOf(handler).spilling?.own ?? registry;
}

/** The handler for a caller who can do nothing with a file. */
function withoutFiles(handler: AnyHandler): OperationHandler {
  const work = traitsOf(handler).spilling;
  if (work === undefined) return handler as OperationHandler;
  return (input, context) => work.call(input, context, undefined);
}

/** The handler whose large results go to files. */
function withFiles(handler: AnyHandler, id: string, spills: Spills): OperationHandler {
  const work = traitsOf(handler).spilling;
  if (work !== undefined) return (input, context) => work.call(input, context, spills);
  return async (input, context) => {
    const result: unknown = await (handler as OperationHandler)(input, context);
    return drained(result, id, spills, context?.signal);
  };
}

/** What does the work of a call, with large results in files or not. */
export function handlerOf(
  entry: Entry,
  by: Manner | undefined,
  spills: Spills | undefined,
): OperationHandler {
  const handler = entry.handler as OperationHandler;
  const chosen =
    spills !== undefined
      ? withFiles(handler, entry.id, spills)
      : by?.takesFiles === false
        ? withoutFiles(handler)
        : handler;
  if (chosen === handler) return entry.run as OperationHandler;
  // The same work, behind the same limits.
  if (traitsOf(handler).endsItself === true) addTraits(chosen, { endsItself: true });
  return (entry.gate?.around(chosen, false) ?? chosen) as OperationHandler;
}

/** The answer, or, if it is large and there is a place for that, one that names a file. */
export function inFiles(
  spills: Spills | undefined,
  answered: Promise<ResponseEnvelope>,
): Promise<ResponseEnvelope> {
  if (spills === undefined) return answered;
  return then.call(answered, (envelope) =>
    spilledIfLarge(envelope as ResponseEnvelope, spills),
  ) as Promise<ResponseEnvelope>;
}
