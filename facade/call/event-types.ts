// What the events of the call protocol carry, for the type checker.

import type { ResponseEnvelope } from "../envelope.js";
import type { TraceContext } from "../interop/trace.js";
import type { Identity } from "../types.js";

/**
 * A request for an operation.
 *
 * @example
 * ```ts
 * const event: CallRequestedEvent = { requestId: "r-1", operationId: "demo.greet", input: { name: "Ada" } };
 * ```
 */
export interface CallRequestedEvent {
  requestId: string;
  operationId: string;
  input: unknown;
  parentRequestId?: string;
  /** Milliseconds since 1970. */
  deadline?: number;
  /** The longest silence in milliseconds between the events of a subscription. */
  idleTimeout?: number;
  identity?: Identity;
  metadata?: Record<string, unknown>;
  /** The trace that the call belongs to. */
  trace?: TraceContext;
}

/**
 * An answer: one for a call, any number for a subscription.
 *
 * @example
 * ```ts
 * const event: CallRespondedEvent = { requestId: "r-1", output: localEnvelope("Hello", "demo.greet") };
 * ```
 */
export interface CallRespondedEvent {
  requestId: string;
  output: ResponseEnvelope;
}

/**
 * The natural end of a subscription.
 *
 * @example
 * ```ts
 * const event: CallCompletedEvent = { requestId: "r-1" };
 * ```
 */
export interface CallCompletedEvent {
  requestId: string;
}

/**
 * Ends a request early. Sent by a caller that no longer waits, or by a handler that has stopped.
 *
 * @example
 * ```ts
 * const event: CallAbortedEvent = { requestId: "r-1" };
 * ```
 */
export interface CallAbortedEvent {
  requestId: string;
}

/**
 * A request has failed.
 *
 * @example
 * ```ts
 * const event: CallErrorEvent = { requestId: "r-1", code: "TIMEOUT", message: "The call of demo.greet timed out" };
 * ```
 */
export interface CallErrorEvent {
  requestId: string;
  code: string;
  message: string;
  details?: unknown;
  /** Whether the message was not written for the caller, as that of an exception. Servers mask such messages. */
  isInternal?: boolean;
}

/**
 * The payload of an event: one of the five.
 *
 * @example
 * ```ts
 * const log = (event: CallEventMapValue) => console.log(event.requestId);
 * ```
 */
export type CallEventMapValue = CallEvents[CallEventType];

/** What each event carries. */
export interface CallEvents {
  "call.requested": CallRequestedEvent;
  "call.responded": CallRespondedEvent;
  "call.completed": CallCompletedEvent;
  "call.aborted": CallAbortedEvent;
  "call.error": CallErrorEvent;
}

export type CallEventType = keyof CallEvents;
