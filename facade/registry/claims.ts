// Operations whose ids were chosen by somebody else: a server that says what its tools are called where it has them. Such an
// id must not take the place of what is registered already, or a server could put itself in the way of any operation.

import { CallError, InfrastructureErrorCode } from "../errors.js";

const claims = new WeakMap<object, { readonly by: object; readonly server: string }>();

/** Says that the id of an operation with this handler was chosen by a server. */
export function markClaimed(handler: object, by: object, server: string): void {
  claims.set(handler, { by, server });
}

/** Throws where an operation would take the place of another that is not of the same server. */
export function assertMayReplace(
  id: string,
  handler: unknown,
  present: { readonly handler?: unknown } | undefined,
): void {
  const claim = typeof handler === "function" ? claims.get(handler) : undefined;
  if (claim === undefined || present === undefined) return;
  const { handler: taken } = present;
  if (typeof taken === "function" && claims.get(taken)?.by === claim.by) return;
  throw new CallError(
    InfrastructureErrorCode.VALIDATION_ERROR,
    `${claim.server} has an operation '${id}', and another of this id is registered already. Import it into a namespace of its ` +
      "own (FromOpenAPI: `namespace`; createMCPClient: without `keepIds`), or unregister the other first",
    { operationId: id, server: claim.server },
  );
}
