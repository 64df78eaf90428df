// Exceptions of handlers, whose messages callers do not see: the operator reads them in the log.

import { messageOf, textOf } from "../interop/text.js";
import { logImportant } from "../logging.js";

interface Failed {
  readonly operationId: string;
  readonly requestId?: string | undefined;
}

/** Logs what a handler threw, with its stack and its cause. Never throws. */
export function logFailure(module: string, { operationId, requestId }: Failed, error: unknown): void {
  try {
    const { stack, cause } = Object(error) as { stack?: unknown; cause?: unknown };
    const message = `${operationId} failed: ${messageOf(error)}`;
    const properties = {
      operationId,
      requestId,
      stack: textOf(stack),
      ...(cause !== undefined && { cause }),
    };
    logImportant("error", module, message, properties, { once: "failure", detail: textOf(stack) });
  } catch {
    // A sink of the application failed, or the error refuses to be read. The call has its answer all the same.
  }
}
