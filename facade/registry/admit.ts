// What stands between a caller who may call and the handler.

import { CallError, InfrastructureErrorCode } from "../errors.js";
import { isLimit } from "../schema/compiled.js";
import { validationError } from "../schema/validation.js";
import type { OperationContext } from "../types.js";
import { refuseLate } from "./deadline.js";
import type { Entry } from "./entry.js";

/** Lets the input in, or throws. */
export function admit(entry: Entry, input: unknown): void {
  if (!entry.prepared) entry.prepare();
  const schema = entry.input;
  if (schema === undefined) return;
  let isValid: boolean;
  try {
    isValid = schema.check(input);
  } catch (error) {
    throw tooMuch(error, entry);
  }
  if (!isValid) throw validationError(schema.errors(input), `input of operation ${entry.id}`);
}

/** Nobody waits for the answer any more, or will by the time that there is one. */
export function refuseEnded(entry: Entry, context: OperationContext): void {
  if (context.signal?.aborted === true) {
    throw new CallError(
      InfrastructureErrorCode.ABORTED,
      `Operation ${entry.id} was aborted before it started`,
      { operationId: entry.id },
    );
  }
  if (context.deadline !== undefined) refuseLate(entry.id, context.deadline);
}

/** An input that is too deep or too much work for the check is told with the name of the operation. */
function tooMuch(error: unknown, { id }: Entry): unknown {
  return isLimit(error)
    ? new CallError(error.code, `The input of operation ${id} cannot be checked: ${error.message}`, {
        ...error.details,
        operationId: id,
      })
    : error;
}
