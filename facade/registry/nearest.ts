// Operations that are not registered, and the id that was probably meant.

import { CallError, InfrastructureErrorCode } from "../errors.js";
import { nearestName } from "../interop/nearest-name.js";
import { nameOf } from "../interop/text.js";

/** What is longer was not typed by a person. */
const MAX_NAME = 100;

/** There is no such operation; of those that the caller may know about, one may be near. */
export function operationNotFound(operationId: unknown, ids: readonly string[]): CallError {
  const nearest = nearestId(operationId, ids);
  const message = `Operation not found: ${nameOf(operationId)}`;
  const isName =
    typeof operationId === "string" && operationId.length <= MAX_NAME && !operationId.includes(".");
  const hint = isName ? ". An id is <namespace>.<name>" : "";
  return nearest === undefined
    ? new CallError(InfrastructureErrorCode.OPERATION_NOT_FOUND, message + hint, { operationId })
    : new CallError(InfrastructureErrorCode.OPERATION_NOT_FOUND, `${message}. Did you mean ${nearest}?`, {
        operationId,
        nearest,
      });
}

/** An environment has no such namespace; one of its own may be near. */
export function namespaceNotFound(namespace: string, namespaces: readonly string[]): CallError {
  const nearest = nearestName(namespace, namespaces);
  const hint = nearest === undefined ? "" : `. Did you mean ${nearest}?`;
  return new CallError(
    InfrastructureErrorCode.OPERATION_NOT_FOUND,
    `There is no namespace ${nameOf(namespace)} in env${hint}`,
    { namespace, nearest },
  );
}

/** Whether the error names something that is near. */
export function isNear({ details }: CallError): boolean {
  return (details as { nearest?: string }).nearest !== undefined;
}

/** The registered id that is nearest to one that is not there, if any is near. */
function nearestId(wanted: unknown, ids: readonly string[]): string | undefined {
  return nearestName(wanted, ids) ?? (typeof wanted === "string" ? withNamespace(wanted, ids) : undefined);
}

/** The only id of this name, where the namespace was forgotten. */
function withNamespace(name: string, ids: readonly string[]): string | undefined {
  const found = ids.filter((id) => id.endsWith(`.${name}`));
  return found.length === 1 ? found[0] : undefined;
}
