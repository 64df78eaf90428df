// What the events of the call protocol carry, for the type checker.

import type { TraceContext } from "../border/trace.js";
import type { ResponseEnvelope } from "../envelope.js";
import type { Identity } from "../types.js";

/**
 * Asks for an operation.
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
  /** Absolute time in milliseconds. */
  deadline?: number;
  /** The longest silence in milliseconds between the events of a subscription. */
  idleTimeout?: number;
  identity?: Identity;
  metadata?: Record<string, unknown>;
  /** The trace that the call belongs to. */
  trace?: TraceContext;
}

/**
 * Answers: once for a call, as often as there are results for a subscription.
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
 * Says that a subscription has come to its end.
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
 * Says that nobody waits any more, or that nobody works any more.
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
 * Says that a request has failed, and why.
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
}

/**
 * What an event may carry.
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
