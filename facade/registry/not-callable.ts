// Why an operation cannot be called.

import { isShownTo } from "../access.js";
import { CallError, failed, InfrastructureErrorCode } from "../errors.js";
import { type OperationContext, OperationType } from "../types.js";
import type { Call } from "./call.js";
import type { Entry } from "./entry.js";
import { operationNotFound } from "./nearest.js";
import { isForOutside } from "./origin.js";

/** Why an operation cannot be called this way. A caller from outside learns nothing of operations that it may not call,
 * neither from its own call nor from one that a handler makes for it. */
export function notCallable(
  entries: ReadonlyMap<string, Entry>,
  { id, context, origin: { isServed } }: Call,
): CallError {
  const entry = entries.get(id);
  if (entry !== undefined && !(isServed && entry.isInternal)) {
    return entry.handler === undefined ? noHandler(entry) : wrongMethod(entry);
  }
  const isSeen = isServed || isForOutside(context) ? seenBy(context) : () => true;
  const seen = Array.from(entries.values()).filter(isSeen);
  return operationNotFound(
    id,
    seen.map((each) => each.id),
  );
}

/** The operations that a caller from outside may see. */
export function seenBy({ identity }: OperationContext): (entry: Entry) => boolean {
  return ({ isInternal, rules }) => !isInternal && isShownTo(identity, () => rules);
}

function wrongMethod({ id, spec }: Entry): CallError {
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
