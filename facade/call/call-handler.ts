import { callAt } from "../border/timer.js";
import type { ResponseEnvelope } from "../envelope.js";
import { type CallError, mapError } from "../errors.js";
import { logger } from "../logging.js";
import { alwaysEnforceAccess, SERVED } from "../registry/protocol-context.js";
import type { OperationRegistry } from "../registry/registry.js";
import { subscribe } from "../registry/subscribe.js";
import { payloadOf } from "./bus.js";
import type { CallAbortedEvent, CallRequestedEvent } from "./events.js";
import { onLoss } from "./loss.js";
import { Running } from "./running.js";
import { soon } from "./soon.js";

/** Serves a `call.requested` event. Never rejects. */
export type CallHandler = (event: CallRequestedEvent) => Promise<void>;

/** The part of a `PendingRequestMap` that answers. A transport may have one of its own. */
export interface AnsweringMap {
  readonly "call.aborted": { subscribe(listener: (event: CallAbortedEvent) => unknown): () => unknown };
  /** A promise asks a stream to wait until it may go on. */
  respond(requestId: string, output: ResponseEnvelope): unknown;
  emitError(requestId: string, code: string, message: string, details?: unknown): void;
  complete(requestId: string): void;
  /** Calls back when events may have been missed, aborts among them. Returns a function that takes it back. */
  [onLoss]?(listener: (reason: CallError) => void): () => void;
}

/**
 * What `buildCallHandler` needs: whose operations are served, and where the answers go.
 *
 * @example
 * ```ts
 * const config: CallHandlerConfig = { registry, callMap: new PendingRequestMap() };
 * ```
 */
export interface CallHandlerConfig {
  registry: OperationRegistry;
  callMap: AnsweringMap;
}

const log = logger("call");

/**
 * Serves calls: `callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }))`. Access is
 * always checked, whatever the registry thinks of direct calls.
 *
 * @example
 * ```ts
 * const callMap = new PendingRequestMap();
 * callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
 * await callMap.call("demo.greet", { name: "Ada" });
 * ```
 */
export function buildCallHandler({ registry, callMap }: CallHandlerConfig): CallHandler {
  const served = new Map<string, Running>();
  let stopListening: (() => void) | undefined;
  const stopSoon = soon(() => {
    if (served.size > 0) return;
    stopListening?.();
    stopListening = undefined;
  });

  /** Listens for aborts while there is something that could be aborted. */
  function begin(request: CallRequestedEvent): Running {
    const { requestId, deadline } = request;
    const running = new Running(request);
    served.set(requestId, running);
    stopListening ??= listen();
    if (typeof deadline === "number") running.cancelDeadline = callAt(deadline, () => abort(requestId));
    return running;
  }

  function listen(): () => void {
    const stops = [
      callMap["call.aborted"].subscribe((event) => abort(event.requestId)),
      callMap[onLoss]?.(endStreams),
    ];
    return () => {
      for (const stop of stops) stop?.();
    };
  }

  /** An abort may have been missed, and a stream that nobody reads would run for ever. Whoever does read it is told. */
  function endStreams(reason: CallError): void {
    for (const [requestId, running] of [...served]) {
      if (running.onAbort === undefined) continue;
      abort(requestId);
      report(registry, callMap, running.request, reason);
    }
  }

  /** What is aborted is forgotten: nobody waits for its answer, and a handler that does not look at its signal may
   * never end. */
  function abort(requestId: string): void {
    const running = served.get(requestId);
    if (running === undefined) return;
    end(requestId, running);
    running.abort();
  }

  function end(requestId: string, running: Running): void {
    if (served.get(requestId) !== running) return;
    running.cancelDeadline?.();
    served.delete(requestId);
    if (served.size === 0) stopSoon();
  }

  /** Whoever aborted has an answer already. */
  function answer(request: CallRequestedEvent, running: Running, envelope: ResponseEnvelope): void {
    end(request.requestId, running);
    if (running.isAborted) return;
    try {
      callMap.respond(request.requestId, envelope);
    } catch (error) {
      report(registry, callMap, request, error);
    }
  }

  function fail(request: CallRequestedEvent, running: Running, error: unknown): void {
    end(request.requestId, running);
    if (!running.isAborted) report(registry, callMap, request, error);
  }

  return (event) => {
    const request = payloadOf(event) as CallRequestedEvent | undefined;
    if (request === undefined || typeof request.operationId !== "string" || served.has(request.requestId)) {
      log.warn("Dropped an event that is no call request", {});
      return Promise.resolve();
    }
    const running = begin(request);
    if (registry.isSubscription(request.operationId)) {
      return stream(registry, callMap, request, running).then(
        () => end(request.requestId, running),
        (error) => fail(request, running, error),
      );
    }
    return registry.execute(request.operationId, request.input, running.context(registry), SERVED).then(
      (envelope) => answer(request, running, envelope),
      (error) => fail(request, running, error),
    );
  };
}

async function stream(
  registry: OperationRegistry,
  callMap: AnsweringMap,
  request: CallRequestedEvent,
  running: Running,
): Promise<void> {
  const { requestId, operationId, input } = request;
  const context = running.context(registry);
  alwaysEnforceAccess(context);
  const events = subscribe(registry, operationId, input, context);
  running.onAbort = () => void events.return().catch(() => {});
  for await (const envelope of events) {
    if (running.isAborted) return;
    const room = callMap.respond(requestId, envelope);
    // Only a transport that paces its streams has a reason to wait.
    if (room instanceof Promise) await room;
  }
  if (!running.isAborted) callMap.complete(requestId);
}

function report(
  registry: OperationRegistry,
  callMap: AnsweringMap,
  { requestId, operationId }: CallRequestedEvent,
  error: unknown,
): void {
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
