// Why an operation cannot be called.

import { isShownTo } from "../access.js";
import { CallError, failed, InfrastructureErrorCode } from "../errors.js";
import { type OperationContext, OperationType } from "../types.js";
import type { Entry } from "./entry.js";
import { operationNotFound } from "./nearest.js";
import { isFromOutside } from "./protocol-context.js";

/** Why an operation cannot be called this way. Somebody from outside is not told about operations that they may not call,
 * neither by their own call (`isServed`) nor by one that a handler makes for them. */
export function notCallable(
  entries: Iterable<Entry>,
  entry: Entry | undefined,
  id: unknown,
  context: OperationContext,
  isServed: boolean,
): CallError {
  if (entry !== undefined && !(isServed && entry.isInternal)) {
    return entry.handler === undefined ? noHandler(entry) : wrongWay(entry);
  }
  const isSeen = isServed || isFromOutside(context) ? seenBy(context) : () => true;
  const seen = Array.from(entries).filter(isSeen);
  return operationNotFound(
    id,
    seen.map((each) => each.id),
  );
}

/** What somebody from outside may be told about. */
export function seenBy({ identity }: OperationContext): (entry: Entry) => boolean {
  return ({ isInternal, rules }) => !isInternal && isShownTo(identity, () => rules);
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
