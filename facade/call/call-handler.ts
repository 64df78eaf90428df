import type { ResponseEnvelope } from "../envelope.js";
import { CallError, failed, isError, isInternal, mapError } from "../errors.js";
import { coalesced, Yielder } from "../interop/event-loop.js";
import { onNextTurn } from "../interop/host.js";
import { neverRejects } from "../interop/listeners.js";
import {
  aCount,
  aDuration,
  aFunction,
  aList,
  aSize,
  checkedOptions,
  type Fields,
  must,
  required,
} from "../interop/options.js";
import { callAt } from "../interop/timer.js";
import { TransientMap } from "../interop/transient-map.js";
import { logger } from "../logging.js";
import { tookTooLong } from "../outcomes.js";
import { refuseOtherCopy } from "../registry/assert-registry.js";
import { type CallOrigin, SERVED, SERVED_WITH_FILES, type Via } from "../registry/call.js";
import { restrictMetadata } from "../registry/metadata.js";
import { warnAboutOpenSources } from "../registry/open-sources.js";
import type { OperationRegistry } from "../registry/registry.js";
import { AbandonedHandlers, defaultOverrun } from "./abandoned-handlers.js";
import { AdmissionQueue, DEFAULT_QUEUE, overloaded, type PlaceLimits } from "./admission-queue.js";
import { detailsWithoutCookies, withoutCookies } from "./cookies.js";
import type { CallAbortedEvent, CallRequestedEvent } from "./events.js";
import { readEvent } from "./incoming.js";
import { maskedDetails, withoutStderr } from "./masked-details.js";
import {
  assertSendable,
  type ClientChannel,
  callerTokenOf,
  clientChannelOf,
  internalError,
  permitReleased,
  type Server,
  takesFiles,
  viaOf,
  whileServing,
} from "./remote.js";
import { Running } from "./running.js";

import { type VerifyIdentity, verifiedIdentity } from "./verify-identity.js";

/**
 * Serves a `call.requested` event. Never rejects.
 *
 * @example
 * ```ts
 * const handler: CallHandler = buildCallHandler({ registry, callMap: new PendingRequestMap() });
 * ```
 */
export type CallHandler = (event: CallRequestedEvent) => Promise<void>;

/**
 * What a call handler is doing now.
 *
 * @example
 * ```ts
 * const handler = buildCallHandler({ registry, callMap: new PendingRequestMap() });
 * const { running, waiting, overrunning }: CallHandlerStats = handler.stats();
 * ```
 */
export interface CallHandlerStats {
  /** Calls and subscriptions that are served. */
  running: number;
  /** Calls that wait because of a limit. */
  waiting: number;
  /** Handlers that still run although their call was aborted or timed out. */
  overrunning: number;
}

/** The part of a `PendingRequestMap` that answers. A transport may have one of its own. */
export interface AnsweringMap {
  readonly "call.aborted": { subscribe(listener: (event: CallAbortedEvent) => unknown): () => unknown };
  /** With a promise, a stream waits until it resolves. */
  respond(requestId: string, output: ResponseEnvelope): unknown;
  /** `isInternal` says that the message was not written for the caller. */
  emitError(requestId: string, code: string, message: string, details?: unknown, isInternal?: boolean): void;
  complete(requestId: string): void;
  /** Calls are being served. Returns a function to call when none are left. */
  [whileServing]?(server: Server): () => void;
  /** Where the handler of a call may talk with its client. */
  [clientChannelOf]?(requestId: string): ClientChannel | undefined;
  /** The token of the caller, where it is known. */
  [callerTokenOf]?(): string | undefined;
  /** How a call came, where more is known than that it did. */
  [viaOf]?(requestId: string): Via | undefined;
  /** For a transport that has limits of its own: a permit is free again. */
  [permitReleased]?(requestId: string): void;
  /** A handler threw what its caller must not see. */
  [internalError]?(request: CallRequestedEvent, error: unknown): void;
  /** Whether the file of a large result can be handed out to the caller. */
  [takesFiles]?(requestId: string): boolean;
  /** Throws for an answer that cannot be sent: observers of the call are notified of that, too. */
  [assertSendable]?(output: ResponseEnvelope): void;
}

/**
 * Options of `buildCallHandler`.
 *
 * @example
 * ```ts
 * const config: CallHandlerConfig = { registry, callMap: new PendingRequestMap() };
 * ```
 */
export interface CallHandlerConfig extends PlaceLimits {
  registry: OperationRegistry;
  callMap: AnsweringMap;
  /**
   * Fields of `metadata` with which a caller may control the package (`"headers"`, `"timeout"`). By default there are
   * none, and handlers get metadata as data.
   */
  allowMetadata?: readonly string[];
  /** Checks the identity that a request claims. By default every claim is accepted. */
  verifyIdentity?: VerifyIdentity;
  /**
   * How long a handler may run, in milliseconds. For a subscription: the longest time without an event. An
   * earlier deadline takes precedence. No limit by default.
   */
  timeout?: number;
}

const FIELDS: Fields<CallHandlerConfig> = {
  registry: required(must("an OperationRegistry", (value) => typeof value === "object" && value !== null)),
  callMap: required(must("a PendingRequestMap", (value) => typeof value === "object" && value !== null)),
  allowMetadata: aList,
  verifyIdentity: aFunction,
  concurrency: aSize,
  perOperation: aSize,
  perCaller: aSize,
  queue: aCount,
  overrun: aCount,
  timeout: aDuration,
};

const log = logger("call");

/**
 * Serves calls: `callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }))`. Access is always
 * checked, even if the registry has `trustDirectCalls`.
 *
 * @example
 * ```ts
 * const callMap = new PendingRequestMap();
 * callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
 * await callMap.call("demo.greet", { name: "Ada" });
 * ```
 */
export function buildCallHandler(config: CallHandlerConfig): CallHandler & { stats(): CallHandlerStats } {
  const checked = checkedOptions<CallHandlerConfig>(config, FIELDS, { prefix: "buildCallHandler: " });
  const { registry, callMap } = checked;
  refuseOtherCopy(registry, "buildCallHandler: registry");
  const allowed: ReadonlySet<string> = new Set(checked.allowMetadata);
  warnAboutOpenSources(registry);
  registry.warnAboutUnusedProtections();
  const { concurrency, perOperation, perCaller, timeout, verifyIdentity, queue = DEFAULT_QUEUE } = checked;
  const limit = concurrency ?? perOperation ?? perCaller;
  const admission = limit === undefined ? undefined : new AdmissionQueue(checked);
  const abandoned = new AbandonedHandlers<Running>(checked.overrun ?? defaultOverrun(limit), release);
  const served = new TransientMap<string, Running>();
  const assertOutput = callMap[assertSendable]?.bind(callMap);
  const withoutFiles: CallOrigin = { ...SERVED, assertOutput };
  const withFiles: CallOrigin = { ...SERVED_WITH_FILES, assertOutput };
  /** Calls whose identity is being verified. */
  let unverified = 0;
  let stopListening: (() => void) | undefined;
  const stopSoon = coalesced(() => {
    if (served.size > 0) return;
    stopListening?.();
    stopListening = undefined;
  }, onNextTurn);

  /** Listens for aborts while there is something that could be aborted. */
  function begin(request: CallRequestedEvent): Running {
    const { requestId, deadline, metadata } = request;
    if (metadata !== undefined) restrictMetadata(metadata, allowed);
    const running = new Running(
      request,
      callMap[clientChannelOf]?.(requestId),
      callMap[viaOf]?.(requestId),
      callMap[callerTokenOf]?.(),
    );
    served.set(requestId, running);
    stopListening ??= listen();
    if (typeof deadline === "number") running.cancelDeadline = callAt(deadline, () => abort(requestId));
    return running;
  }

  function listen(): () => void {
    const stops = [
      callMap["call.aborted"].subscribe((event) => abort(event.requestId)),
      callMap[whileServing]?.(server),
    ];
    return () => {
      for (const stop of stops) stop?.();
    };
  }

  const server: Server = {
    serves: (requestId) => served.has(requestId),
    abort,
    // An abort may have been missed, and a stream without a reader would run forever. A reader gets the reason.
    lost: (reason) => endAll(reason, (running) => running.onAbort !== undefined),
    giveUp: (reason) => endAll(reason, () => true),
  };

  function endAll(reason: CallError, isMeant: (running: Running) => boolean): void {
    for (const [requestId, running] of served.entries()) {
      if (!isMeant(running)) continue;
      abort(requestId);
      report(registry, callMap, running.request, reason);
    }
  }

  /** What is aborted is forgotten: its answer is not waited for, and a handler that does not look at its signal may
   * never end. */
  function abort(requestId: string): void {
    const running = served.get(requestId);
    if (running === undefined) return;
    end(requestId, running);
    running.abort();
    if (running.isWorking) abandoned.callEnded(running);
    else release(running);
  }

  function end(requestId: string, running: Running): void {
    if (served.get(requestId) !== running) return;
    running.cancelDeadline?.();
    running.cancelTimeout?.();
    served.delete(requestId);
    if (served.size === 0) stopSoon();
  }

  /** The handler has ended, and the call was answered. */
  function worked(running: Running): void {
    running.isWorking = false;
    abandoned.handlerEnded(running);
  }

  function release(running: Running): void {
    const { request } = running;
    if (running.hasPermit) admission?.leave(request);
    running.settle?.();
    callMap[permitReleased]?.(request.requestId);
  }

  /** A call that was aborted has been answered already. */
  function answer(request: CallRequestedEvent, running: Running, envelope: ResponseEnvelope): void {
    if (envelope.meta.spill !== undefined && callMap[takesFiles]?.(request.requestId) !== true) {
      fail(request, running, spilled(request.operationId));
      return;
    }
    end(request.requestId, running);
    if (!running.isAborted) {
      try {
        callMap.respond(request.requestId, withoutCookies(envelope));
      } catch (error) {
        report(registry, callMap, request, error);
      }
    }
    worked(running);
  }

  function fail(request: CallRequestedEvent, running: Running, error: unknown): void {
    end(request.requestId, running);
    // A handler may learn of its deadline by a call of its own, which has the same one, before our timer is due.
    if (request.deadline !== undefined && request.deadline <= Date.now() + 1) running.abort();
    if (!running.isAborted) report(registry, callMap, request, error);
    worked(running);
  }

  function handle(event: CallRequestedEvent): Promise<void> {
    const request = readEvent("call.requested", event);
    if (request === undefined || served.has(request.requestId)) {
      log.warn("Dropped an event that is not a call request", {});
      if (request === undefined) callMap[permitReleased]?.(event.requestId);
      return Promise.resolve();
    }
    const running = begin(request);
    return verifyIdentity === undefined ? admit(request, running) : verify(verifyIdentity, request, running);
  }

  /** Before anything else: limits depend on who calls, too. */
  async function verify(
    verifyIdentity: VerifyIdentity,
    request: CallRequestedEvent,
    running: Running,
  ): Promise<void> {
    if (unverified >= queue) return fail(request, running, overloaded(request.operationId));
    unverified += 1;
    running.isWorking = true;
    try {
      const identity = await verifiedIdentity(verifyIdentity, request);
      if (identity === undefined) delete request.identity;
      else request.identity = identity;
    } catch (error) {
      return fail(request, running, error);
    } finally {
      unverified -= 1;
    }
    if (running.isAborted) return worked(running);
    running.isWorking = false;
    return admit(request, running);
  }

  function admit(request: CallRequestedEvent, running: Running): Promise<void> {
    if (admission === undefined) return run(request, running);
    return new Promise((resolve) => {
      running.settle = resolve;
      running.hasPermit = true;
      const refuse = () => {
        running.hasPermit = false;
        fail(request, running, overloaded(request.operationId));
      };
      if (!admission.enter(request, () => resolve(run(request, running)), refuse)) refuse();
    });
  }

  function run(request: CallRequestedEvent, running: Running): Promise<void> {
    running.isWorking = true;
    if (timeout !== undefined) expectWithin(timeout, running, Date.now());
    if (registry.isSubscription(request.operationId)) {
      return stream(registry, callMap, request, running).then(
        () => {
          end(request.requestId, running);
          worked(running);
        },
        (error) => fail(request, running, error),
      );
    }
    const origin = callMap[takesFiles]?.(request.requestId) === true ? withFiles : withoutFiles;
    const context = running.context(registry);
    return registry.execute(request.operationId, request.input, context, cameVia(origin, running)).then(
      (envelope) => answer(request, running, envelope),
      (error) => fail(request, running, error),
    );
  }

  /** A handler that never ends is abandoned. The events of a stream are only noted: a timer for each would cost
   * more than the event. */
  function expectWithin(limit: number, running: Running, since: number): void {
    running.heardAt = since;
    const check = () => {
      if (running.heardAt > since) return expectWithin(limit, running, running.heardAt);
      const { request } = running;
      abort(request.requestId);
      report(registry, callMap, request, tookTooLong(request.operationId, limit));
    };
    running.cancelTimeout = callAt(since + limit, check, true);
  }

  function stats(): CallHandlerStats {
    const waiting = admission?.waiting ?? 0;
    return { running: served.size - waiting, waiting, overrunning: abandoned.size };
  }

  return Object.assign(handle, { stats, [neverRejects]: true });
}

function cameVia(origin: CallOrigin, { via }: Running): CallOrigin {
  return via === undefined ? origin : { ...origin, via };
}

async function stream(
  registry: OperationRegistry,
  callMap: AnsweringMap,
  request: CallRequestedEvent,
  running: Running,
): Promise<void> {
  const { requestId, operationId, input } = request;
  const events = registry.subscribe(operationId, input, running.context(registry), cameVia(SERVED, running));
  running.onAbort = () => events.return(undefined).catch(() => {});
  const yielder = new Yielder();
  for await (const envelope of events) {
    if (running.isAborted) break;
    if (running.cancelTimeout !== undefined) running.heardAt = Date.now();
    const room = callMap.respond(requestId, withoutCookies(envelope));
    // Only a transport that paces its streams has a reason to wait.
    if (room instanceof Promise) await room;
    // A generator that never waits would keep the abort that ends it from arriving.
    if (yielder.isDue) await yielder.yieldNow();
  }
  if (!running.isAborted) callMap.complete(requestId);
  // The iterator lets go of its consumer at once; the handler's generator may still run.
  await running.stopping;
}

/** A file of this machine is of no use to a caller elsewhere, and the beginning of it is not the answer. */
function spilled(operationId: string): CallError {
  return failed(
    `The answer of ${operationId} is so large that it was put into a file here (\`spill\`), which callers from elsewhere cannot read`,
    { reason: "spilled", delivery: "done", operationId },
  );
}

/** Details without the refused answer, which may hold anything; `undefined` if they hold no answer. */
function withoutEnvelope(details: unknown): unknown {
  if (typeof details !== "object" || details === null || !("envelope" in details)) return undefined;
  const { envelope: _, ...rest } = details;
  return rest;
}

function report(
  registry: OperationRegistry,
  callMap: AnsweringMap,
  request: CallRequestedEvent,
  error: unknown,
): void {
  const { requestId, operationId } = request;
  const mapped = mapError(error, registry.getSpec(operationId)?.errorSchemas);
  const { code } = mapped;
  const internal = isInternal(mapped);
  // What leaves is chosen: the fields of any other error may be secrets.
  const { details: own, exception } = maskedDetails(error instanceof CallError ? error.details : undefined);
  const { message, details } = withoutStderr(mapped.message, own);
  if (internal || exception !== undefined) callMap[internalError]?.(request, internal ? error : exception);
  const shown = isError(mapped.details) ? undefined : detailsWithoutCookies(details);
  try {
    // An error is not lost because something about it cannot be written.
    for (const each of [shown, withoutEnvelope(shown)]) {
      if (each === undefined) continue;
      try {
        callMap.emitError(requestId, code, message, each, internal);
        return;
      } catch {}
    }
    callMap.emitError(requestId, code, message, undefined, internal);
  } catch (failure) {
    log.error(`The failure of ${operationId} could not be reported: ${String(failure)}`, {
      requestId,
      operationId,
    });
  }
}
