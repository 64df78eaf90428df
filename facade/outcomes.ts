// The errors with which requests end. Worded as in `crates/operations-core/src/call/outcome.rs`.

import type { CallErrorEvent } from "./call/events.js";
import {
  CallError,
  failed,
  InfrastructureErrorCode,
  isInternal,
  looksInternal,
  markInternal,
} from "./errors.js";
import { textOf } from "./interop/text.js";

export function errorOf({ code, message, details, isInternal: flag }: CallErrorEvent): CallError {
  const error = new CallError(textOf(code), textOf(message), details);
  return (flag ?? looksInternal(error.code, details)) ? markInternal(error) : error;
}

/** An error that the other side has answered with. What it has refused before it did anything was not carried out.
 * `crates/operations-core/src/call/delivery.rs` has the same rule. */
export function answered(operationId: string, error: CallError): CallError {
  return withDelivery(error, isRefusal(operationId, error) ? "none" : "done");
}

/** A handler can fail with the code of a refusal; those of the pipeline speak of this very operation. */
function isRefusal(operationId: string, { code, message, details }: CallError): boolean {
  if (
    code === InfrastructureErrorCode.OPERATION_NOT_FOUND ||
    code === InfrastructureErrorCode.ACCESS_DENIED
  ) {
    return (details as { operationId?: unknown } | null | undefined)?.operationId === operationId;
  }
  return (
    code === InfrastructureErrorCode.VALIDATION_ERROR &&
    (message.startsWith(`Validation failed for input of operation ${operationId}:`) ||
      message.startsWith(`The input of operation ${operationId} cannot be`))
  );
}

/** Adds what a caller may conclude, where the error does not say it. What an operation throws may be anything. */
export function withDelivery(error: CallError, delivery: "none" | "unknown" | "done"): CallError {
  const { code, message, details = {} } = error;
  if (typeof details !== "object" || details === null || Array.isArray(details)) return error;
  if ("delivery" in details) return error;
  const reason = REASONS[code];
  const full = new CallError(code, message, {
    ...(reason !== undefined && { reason }),
    ...details,
    delivery,
  });
  return isInternal(error) ? markInternal(full) : full;
}

/** The short word in `details.reason` for the ends that have a code of their own. */
const REASONS: Readonly<Record<string, string | undefined>> = {
  [InfrastructureErrorCode.TIMEOUT]: "timeout",
  [InfrastructureErrorCode.ABORTED]: "aborted",
};

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

/** `after` is how long the call had been running, in milliseconds; `undefined` if it had not begun. */
export function timedOut(operationId: string, deadline: number, after: number | undefined): CallError {
  const when = after === undefined ? "before it began" : `after ${Math.round(after)} ms`;
  return new CallError(
    InfrastructureErrorCode.TIMEOUT,
    `The call of ${operationId} timed out ${when}: its deadline was ${deadline}`,
    { deadline },
  );
}

export function tookTooLong(operationId: string, timeout: number): CallError {
  return new CallError(
    InfrastructureErrorCode.TIMEOUT,
    `The call of ${operationId} timed out: its handler took longer than ${timeout} ms`,
    { reason: "timeout", delivery: "unknown", timeout, operationId },
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
  return failed(
    `The subscription to ${operationId} was ended: ${limit} events wait for a consumer that is too slow. Read faster, or raise maxWaitingEvents`,
    { maxWaitingEvents: limit },
  );
}

export function malformedAnswer(requestId: string): CallError {
  return failed(
    `The answer to request ${requestId} is not a ResponseEnvelope: the other side does not follow the call protocol`,
    { requestId },
  );
}
