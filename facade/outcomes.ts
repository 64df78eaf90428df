// The errors with which requests end. Worded as in `crates/operations-core/src/call/outcome.rs`.

import { textOf } from "./border/text.js";
import type { CallErrorEvent } from "./call/events.js";
import { CallError, InfrastructureErrorCode } from "./errors.js";

export function errorOf({ code, message, details }: CallErrorEvent): CallError {
  return new CallError(textOf(code), textOf(message), details);
}

const REASONS: Readonly<Record<string, string>> = {
  [InfrastructureErrorCode.TIMEOUT]: "timeout",
  [InfrastructureErrorCode.ABORTED]: "aborted",
};

/** An error of the protocol's own about a call that may have left the process, with what a caller may conclude from it. */
export function withDelivery(error: CallError, delivery: "none" | "unknown"): CallError {
  const details = error.details as Record<string, unknown> | undefined;
  if (details?.delivery !== undefined) return error;
  const reason = REASONS[error.code];
  const more = reason === undefined ? { delivery } : { reason, delivery };
  return new CallError(error.code, error.message, { ...details, ...more });
}

export function wasAborted(operationId: string): CallError {
  return new CallError(InfrastructureErrorCode.ABORTED, `The call of ${operationId} was aborted`, {
    operationId,
  });
}

export function withoutResponse(operationId: string): CallError {
  return new CallError(
    InfrastructureErrorCode.ABORTED,
    `The call of ${operationId} completed without response`,
    { operationId },
  );
}

/** `after` is how long the call had been under way, in milliseconds; nothing where it had not begun. */
export function timedOut(operationId: string, deadline: number, after: number | undefined): CallError {
  const when = after === undefined ? "before it began" : `after ${Math.round(after)} ms`;
  return new CallError(
    InfrastructureErrorCode.TIMEOUT,
    `The call of ${operationId} timed out ${when}: its deadline was ${deadline}`,
    { deadline },
  );
}

export function wasSilent(operationId: string, idleTimeout: number): CallError {
  return new CallError(
    InfrastructureErrorCode.TIMEOUT,
    `The subscription to ${operationId} timed out: nothing arrived for ${idleTimeout} ms`,
    { idleTimeout },
  );
}

export function tooSlow(operationId: string, limit: number): CallError {
  return new CallError(
    InfrastructureErrorCode.EXECUTION_ERROR,
    `The subscription to ${operationId} was ended: ${limit} events wait for a consumer that is too slow. Read faster, or raise maxWaitingEvents`,
    { maxWaitingEvents: limit },
  );
}

export function malformedAnswer(requestId: string): CallError {
  return new CallError(
    InfrastructureErrorCode.EXECUTION_ERROR,
    `The answer to request ${requestId} is no ResponseEnvelope: the other side does not follow the call protocol`,
    { requestId },
  );
}
