// Why an operation cannot be called.

import { isShownTo } from "../access.js";
import { CallError, failed, InfrastructureErrorCode } from "../errors.js";
import { type OperationContext, OperationType } from "../types.js";
import type { Entry } from "./entry.js";
import { operationNotFound } from "./nearest.js";

/** Why an operation cannot be called this way. Somebody from outside (`served` is their context) is not told about
 * operations that they may not call. */
export function notCallable(
  entries: Iterable<Entry>,
  entry: Entry | undefined,
  id: unknown,
  served: OperationContext | undefined,
): CallError {
  if (entry !== undefined && !(served !== undefined && entry.isInternal)) {
    return entry.handler === undefined ? noHandler(entry) : wrongWay(entry);
  }
  return operationNotFound(id, idsFor(entries, served));
}

function idsFor(entries: Iterable<Entry>, served: OperationContext | undefined): string[] {
  const isSeen = ({ isInternal, spec }: Entry) =>
    served === undefined || (!isInternal && isShownTo(served.identity, () => spec.accessControl));
  return Array.from(entries)
    .filter(isSeen)
    .map(({ id }) => id);
}

function wrongWay({ id, spec }: Entry): CallError {
  const message =
    spec.type === OperationType.SUBSCRIPTION
      ? `Operation ${id} is a subscription: use subscribe() instead of execute()`
      : `Operation ${id} is a ${spec.type}: use execute() instead of subscribe()`;
  return failed(message, { operationId: id });
}

function noHandler({ id }: Entry): CallError {
  return new CallError(
    InfrastructureErrorCode.OPERATION_NOT_FOUND,
    `No handler registered for operation: ${id}`,
    { operationId: id },
  );
}
