import type { ResponseEnvelope } from "../envelope.js";
import { mapError } from "../errors.js";
import { logger } from "../logging.js";
import { alwaysEnforceAccess } from "../registry/protocol-context.js";
import type { OperationRegistry } from "../registry/registry.js";
import { subscribe } from "../registry/subscribe.js";
import { type OperationContext, OperationType } from "../types.js";
import { payloadOf } from "./bus.js";
import type { CallAbortedEvent, CallRequestedEvent } from "./events.js";
import { callAt } from "./timer.js";

/** Serves a `call.requested` event. Never rejects. */
export type CallHandler = (event: CallRequestedEvent) => Promise<void>;

/** The part of a `PendingRequestMap` that answers. A transport may have one of its own. */
export interface AnsweringMap {
  readonly "call.aborted": { subscribe(listener: (event: CallAbortedEvent) => unknown): () => unknown };
  /** A promise asks a stream to wait until it may go on. */
  respond(requestId: string, output: ResponseEnvelope): unknown;
  emitError(requestId: string, code: string, message: string, details?: unknown): void;
  complete(requestId: string): void;
}

export interface CallHandlerConfig {
  registry: OperationRegistry;
  callMap: AnsweringMap;
}

const log = logger("call");

/**
 * Serves calls: `callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }))`. Access is
 * always checked, whatever the registry thinks of direct calls.
 */
export function buildCallHandler({ registry, callMap }: CallHandlerConfig): CallHandler {
  const running = new Map<string, AbortController>();
  let stopListening: (() => unknown) | undefined;

  /** Listens for aborts while there is something that could be aborted. */
  function begin(requestId: string): AbortController {
    const controller = new AbortController();
    running.set(requestId, controller);
    stopListening ??= callMap["call.aborted"].subscribe((event) => running.get(event.requestId)?.abort());
    return controller;
  }

  function end(requestId: string): void {
    running.delete(requestId);
    if (running.size > 0) return;
    stopListening?.();
    stopListening = undefined;
  }

  return async (event) => {
    const request = payloadOf(event) as CallRequestedEvent | undefined;
    if (request === undefined || typeof request.operationId !== "string" || running.has(request.requestId)) {
      log.warn("Dropped an event that is no call request", {});
      return;
    }
    const { requestId, deadline } = request;
    const controller = begin(requestId);
    const cancelDeadline =
      typeof deadline === "number" ? callAt(deadline, () => controller.abort()) : undefined;
    try {
      await serve(registry, callMap, request, controller.signal);
    } catch (error) {
      report(registry, callMap, request, controller.signal, error);
    } finally {
      cancelDeadline?.();
      end(requestId);
    }
  };
}

async function serve(
  registry: OperationRegistry,
  callMap: AnsweringMap,
  request: CallRequestedEvent,
  signal: AbortSignal,
): Promise<void> {
  const { requestId, operationId, input } = request;
  const context = contextOf(request, signal);
  if (registry.getSpec(operationId)?.type !== OperationType.SUBSCRIPTION) {
    const envelope = await registry.execute(operationId, input, context);
    if (!signal.aborted) callMap.respond(requestId, envelope);
    return;
  }
  const stream = subscribe(registry, operationId, input, context);
  const leave = () => void stream.return().catch(() => {});
  signal.addEventListener("abort", leave, { once: true });
  for await (const envelope of stream) {
    if (signal.aborted) return;
    const room = callMap.respond(requestId, envelope);
    // Only a transport that paces its streams has a reason to wait.
    if (room instanceof Promise) await room;
  }
  if (!signal.aborted) callMap.complete(requestId);
}

/** What the handler learns. `trusted` is neither read from an event nor set. */
function contextOf(request: CallRequestedEvent, signal: AbortSignal): OperationContext {
  const { requestId, parentRequestId, identity, metadata, deadline } = request;
  const context: OperationContext = { requestId, signal };
  if (parentRequestId !== undefined) context.parentRequestId = parentRequestId;
  if (identity !== undefined) context.identity = identity;
  if (metadata !== undefined) context.metadata = metadata;
  if (deadline !== undefined) context.deadline = deadline;
  alwaysEnforceAccess(context);
  return context;
}

function report(
  registry: OperationRegistry,
  callMap: AnsweringMap,
  { requestId, operationId }: CallRequestedEvent,
  signal: AbortSignal,
  error: unknown,
): void {
  // Whoever aborted has an answer already.
  if (signal.aborted) return;
  const { code, message, details } = mapError(error, registry.getSpec(operationId)?.errorSchemas);
  try {
    callMap.emitError(requestId, code, message, details);
  } catch (failure) {
    log.error(`The failure of ${operationId} could not be reported: ${String(failure)}`, {
      requestId,
      operationId,
    });
  }
}
