// What a caller says about a request, and what of it travels.

import type { CallerIdentity, Identity } from "../types.js";
import type { CallRequestedEvent } from "./events.js";

export interface CommonOptions {
  /** The call that makes this one: aborting it aborts this one too. */
  parentRequestId?: string | undefined;
  identity?: CallerIdentity | undefined;
  metadata?: Record<string, unknown> | undefined;
  signal?: AbortSignal | undefined;
}

export interface CallOptions extends CommonOptions {
  /** Absolute time in milliseconds. */
  deadline?: number | undefined;
}

export interface SubscribeOptions extends CommonOptions {
  /** The longest silence in milliseconds between arriving events. */
  idleTimeout?: number | undefined;
}

/** The payload of a request. Trust is never sent. */
export function requestPayload(
  requestId: string,
  operationId: string,
  input: unknown,
  { parentRequestId, identity, metadata }: CommonOptions,
  { deadline, idleTimeout }: { deadline?: number | undefined; idleTimeout?: number | undefined },
): CallRequestedEvent {
  const event: CallRequestedEvent = { requestId, operationId, input };
  if (parentRequestId !== undefined) event.parentRequestId = parentRequestId;
  if (deadline !== undefined) event.deadline = deadline;
  if (idleTimeout !== undefined) event.idleTimeout = idleTimeout;
  if (identity !== undefined) event.identity = identity as Identity;
  if (metadata !== undefined) event.metadata = metadata;
  return event;
}
