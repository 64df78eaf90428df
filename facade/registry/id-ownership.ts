// Operations whose ids were chosen by a server: it says what its tools are called. Such an id must not replace what is
// registered already, or a server could take over any operation.

import { CallError, InfrastructureErrorCode } from "../errors.js";
import { traitsOf } from "./handler-traits.js";

/** Throws where an operation would take the place of another that is not of the same server. */
export function assertMayReplace(
  id: string,
  handler: unknown,
  present: { readonly handler?: unknown } | undefined,
): void {
  const chosenBy = chooserOf(handler);
  if (chosenBy === undefined || present === undefined) return;
  if (chooserOf(present.handler)?.source === chosenBy.source) return;
  throw new CallError(
    InfrastructureErrorCode.VALIDATION_ERROR,
    `${chosenBy.name} has an operation '${id}', and another of this id is registered already. Import it into a namespace of its ` +
      "own (FromOpenAPI: `namespace`; createMCPClient: without `keepIds`), or unregister the other first",
    { operationId: id, server: chosenBy.name },
  );
}

function chooserOf(handler: unknown) {
  return typeof handler === "function" ? traitsOf(handler).idChosenBy : undefined;
}
