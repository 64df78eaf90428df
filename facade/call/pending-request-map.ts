import { randomUUID } from "node:crypto";
import { isResponseEnvelope, type ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { logger } from "../logging.js";
import type { Identity } from "../types.js";
import { type Bus, eventTargetBus, localBus } from "./bus.js";
import {
  CALL_EVENT_TYPES,
  type CallErrorEvent,
  type CallEventMapValue,
  type CallEventType,
  type CallRequestedEvent,
  type CallRespondedEvent,
} from "./events.js";
import { Inbox } from "./inbox.js";
import { callAt } from "./timer.js";

interface CommonOptions {
  /** The call that makes this one: aborting it aborts this one too. */
  parentRequestId?: string | undefined;
  identity?: Identity | undefined;
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

export interface PendingRequestMapOptions {
  /** How many events of a subscription may wait for its consumer (65,536 unless told). Beyond that the
   * subscription ends with an error, rather than memory growing without end. */
  maxWaitingEvents?: number;
}

/** Listeners of one kind of event. */
export interface EventChannel<T> {
  /** Registers a listener; the returned function removes it. */
  subscribe(listener: (event: T) => unknown): () => void;
}

/** A request that has no final answer yet. */
interface Pending {
  readonly requestId: string;
  readonly parentRequestId: string | undefined;
  responded(output: ResponseEnvelope): void;
  failed(error: unknown): void;
  completed(): void;
  /** The other side, or someone here, has ended it. */
  aborted(): void;
  /** Timers and listeners that go when it is over. */
  readonly release: (() => void)[];
}

const log = logger("call");
const DEFAULT_WAITING_EVENTS = 65_536;

/**
 * Calls and subscriptions over events. Two maps on one `EventTarget` talk to each other; without one, a map
 * talks to itself, which is how a hub serves its own operations.
 */
export class PendingRequestMap {
  declare readonly "call.requested": EventChannel<CallEventMapValue["call.requested"]>;
  declare readonly "call.responded": EventChannel<CallEventMapValue["call.responded"]>;
  declare readonly "call.completed": EventChannel<CallEventMapValue["call.completed"]>;
  declare readonly "call.aborted": EventChannel<CallEventMapValue["call.aborted"]>;
  declare readonly "call.error": EventChannel<CallEventMapValue["call.error"]>;

  readonly #bus: Bus;
  readonly #pending = new Map<string, Pending>();
  readonly #maxWaitingEvents: number;
  /** What listens while requests are pending; an idle map listens to nothing. */
  #listening: (() => void)[] = [];

  constructor(eventTarget?: EventTarget, options: PendingRequestMapOptions = {}) {
    this.#bus = eventTarget === undefined ? localBus() : eventTargetBus(eventTarget);
    this.#maxWaitingEvents = options.maxWaitingEvents ?? DEFAULT_WAITING_EVENTS;
    for (const type of CALL_EVENT_TYPES) {
      const channel: EventChannel<never> = {
        subscribe: (listener) => this.#bus.listen(type, listener as (payload: unknown) => unknown),
      };
      Object.defineProperty(this, type, { value: channel, enumerable: true });
    }
  }

  /** Calls an operation. Resolves with its envelope, or rejects. */
  call(operationId: string, input: unknown, options: CallOptions = {}): Promise<ResponseEnvelope> {
    const { deadline, signal } = options;
    if (signal?.aborted === true) return Promise.reject(wasAborted(operationId));
    if (deadline !== undefined && deadline <= Date.now())
      return Promise.reject(timedOut(operationId, deadline));
    return new Promise((resolve, reject) => {
      const requestId = randomUUID();
      const pending = this.#add(requestId, options, {
        responded: (output) => this.#finish(pending, () => resolve(output)),
        failed: (error) => this.#finish(pending, () => reject(error)),
        completed: () => this.#finish(pending, () => reject(wasAborted(operationId))),
        aborted: () => this.#finish(pending, () => reject(wasAborted(operationId))),
      });
      if (deadline !== undefined) {
        pending.release.push(callAt(deadline, () => this.#giveUp(pending, timedOut(operationId, deadline))));
      }
      this.#onAbort(pending, signal, () => wasAborted(operationId));
      this.#ask(pending, requestPayload(requestId, operationId, input, options, { deadline }));
    });
  }

  /** Subscribes to an operation. Nothing is sent before the first `next()`. */
  subscribe(
    operationId: string,
    input: unknown,
    options: SubscribeOptions = {},
  ): AsyncIterableIterator<ResponseEnvelope, undefined> {
    const inbox = new Inbox(this.#maxWaitingEvents);
    let pending: Pending | undefined;
    const start = () => {
      if (pending !== undefined || inbox.isEnded) return;
      pending = this.#open(operationId, input, options, inbox);
    };
    const leave = () => {
      if (pending !== undefined && this.#pending.get(pending.requestId) === pending) {
        this.#finish(pending, () => {});
        this.#tellAborted(pending.requestId);
      }
      inbox.clear();
    };
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      next: () => {
        start();
        return inbox.next();
      },
      return: async () => {
        leave();
        return { done: true, value: undefined };
      },
      throw: async (error?: unknown) => {
        leave();
        throw error;
      },
    };
  }

  #open(operationId: string, input: unknown, options: SubscribeOptions, inbox: Inbox): Pending | undefined {
    const { idleTimeout, signal } = options;
    if (signal?.aborted === true) {
      inbox.end({ error: wasAborted(operationId) });
      return undefined;
    }
    const requestId = randomUUID();
    let cancelIdle = () => {};
    const heard = () => {
      if (idleTimeout === undefined) return;
      cancelIdle();
      cancelIdle = callAt(Date.now() + idleTimeout, () =>
        this.#giveUp(pending, wasSilent(operationId, idleTimeout)),
      );
    };
    const pending: Pending = this.#add(requestId, options, {
      responded: (output) => {
        heard();
        if (!inbox.push(output)) this.#giveUp(pending, tooSlow(operationId, this.#maxWaitingEvents));
      },
      failed: (error) => this.#finish(pending, () => inbox.end({ error })),
      completed: () => this.#finish(pending, () => inbox.end()),
      aborted: () => this.#finish(pending, () => inbox.end()),
    });
    pending.release.push(() => cancelIdle());
    heard();
    this.#onAbort(pending, signal, () => wasAborted(operationId));
    this.#ask(pending, requestPayload(requestId, operationId, input, options, { idleTimeout }));
    return pending;
  }

  /** Answers a request. */
  respond(requestId: string, output: ResponseEnvelope): void {
    if (!isResponseEnvelope(output)) {
      throw new CallError(
        InfrastructureErrorCode.VALIDATION_ERROR,
        "PendingRequestMap.respond() requires a ResponseEnvelope: wrap the value with localEnvelope(), httpEnvelope() or mcpEnvelope()",
        { requestId },
      );
    }
    this.#publish("call.responded", { requestId, output });
  }

  /** Fails a request. */
  emitError(requestId: string, code: string, message: string, details?: unknown): void {
    this.#publish(
      "call.error",
      details === undefined ? { requestId, code, message } : { requestId, code, message, details },
    );
  }

  /** Ends a subscription from the side of the handler. */
  complete(requestId: string): void {
    this.#publish("call.completed", { requestId });
  }

  /** Ends a request from either side. */
  abort(requestId: string): void {
    this.#publish("call.aborted", { requestId });
  }

  /** How many requests have no final answer yet. */
  getPendingCount(): number {
    return this.#pending.size;
  }

  #publish<T extends CallEventType>(type: T, payload: CallEventMapValue[T]): void {
    this.#bus.publish(type, payload);
  }

  /** Sends a request. If that fails, the request has failed. */
  #ask(pending: Pending, event: CallRequestedEvent): void {
    try {
      this.#publish("call.requested", event);
    } catch (error) {
      pending.failed(error);
    }
  }

  /** Tells the other side that a request is over. Whoever ended it here has their answer: a transport that
   * fails does not take it back. */
  #tellAborted(requestId: string): void {
    try {
      this.#publish("call.aborted", { requestId });
    } catch (error) {
      log.warn(`The end of a request could not be told to the other side: ${String(error)}`, { requestId });
    }
  }

  #add(
    requestId: string,
    { parentRequestId }: CommonOptions,
    outcomes: Pick<Pending, "responded" | "failed" | "completed" | "aborted">,
  ): Pending {
    const pending: Pending = { requestId, parentRequestId, release: [], ...outcomes };
    if (this.#pending.size === 0) this.#listen();
    this.#pending.set(requestId, pending);
    return pending;
  }

  #listen(): void {
    this.#listening = [
      this.#bus.listen("call.responded", (event) => this.#responded(event)),
      this.#bus.listen("call.error", (event) => this.#pending.get(event.requestId)?.failed(errorOf(event))),
      this.#bus.listen("call.completed", ({ requestId }) => this.#pending.get(requestId)?.completed()),
      this.#bus.listen("call.aborted", ({ requestId }) => {
        this.#pending.get(requestId)?.aborted();
        this.#abortChildren(requestId);
      }),
    ];
    const stop = this.#bus.listenForLoss?.((reason) => {
      for (const pending of [...this.#pending.values()]) this.#giveUp(pending, reason);
    });
    if (stop !== undefined) this.#listening.push(stop);
  }

  #responded({ requestId, output }: CallRespondedEvent): void {
    const pending = this.#pending.get(requestId);
    if (pending === undefined) return;
    const envelope = withData(output);
    if (isResponseEnvelope(envelope)) pending.responded(envelope);
    else pending.failed(malformedAnswer(requestId));
  }

  /** Whatever a call that was ended has itself called is ended too, and so on down. */
  #abortChildren(parentRequestId: string): void {
    for (const pending of [...this.#pending.values()]) {
      if (pending.parentRequestId === parentRequestId) this.#tellAborted(pending.requestId);
    }
  }

  /** Ends a request from this side: its own error here, `call.aborted` for the other side. */
  #giveUp(pending: Pending, error: CallError): void {
    if (this.#pending.get(pending.requestId) !== pending) return;
    pending.failed(error);
    this.#tellAborted(pending.requestId);
    this.#abortChildren(pending.requestId);
  }

  #onAbort(pending: Pending, signal: AbortSignal | undefined, error: () => CallError): void {
    if (signal === undefined) return;
    const giveUp = () => this.#giveUp(pending, error());
    signal.addEventListener("abort", giveUp, { once: true });
    pending.release.push(() => signal.removeEventListener("abort", giveUp));
  }

  /** Takes a request out, once, and settles it. */
  #finish(pending: Pending, settle: () => void): void {
    if (!this.#pending.delete(pending.requestId)) return;
    for (const release of pending.release) release();
    if (this.#pending.size === 0) {
      for (const stop of this.#listening.splice(0)) stop();
    }
    settle();
  }
}

/** The payload of a request. Trust is never sent. */
export function requestPayload(
  requestId: string,
  operationId: string,
  input: unknown,
  { parentRequestId, identity, metadata }: CommonOptions,
  { deadline, idleTimeout }: { deadline?: number | undefined; idleTimeout?: number | undefined },
): CallRequestedEvent {
  return {
    requestId,
    operationId,
    input,
    ...(parentRequestId !== undefined && { parentRequestId }),
    ...(deadline !== undefined && { deadline }),
    ...(idleTimeout !== undefined && { idleTimeout }),
    ...(identity !== undefined && { identity }),
    ...(metadata !== undefined && { metadata }),
  };
}

/** JSON has no `undefined`: over a wire, an envelope whose data was that arrives without. */
export function withData(output: ResponseEnvelope): ResponseEnvelope {
  const { meta } = (output ?? {}) as Partial<ResponseEnvelope>;
  const isIncomplete = typeof meta === "object" && meta !== null && !("data" in output);
  return isIncomplete ? { data: undefined, meta } : output;
}

function errorOf({ code, message, details }: CallErrorEvent): CallError {
  return new CallError(String(code), String(message), details);
}

export function wasAborted(operationId: string): CallError {
  return new CallError(InfrastructureErrorCode.ABORTED, `The call of ${operationId} was aborted`, {
    operationId,
  });
}

function timedOut(operationId: string, deadline: number): CallError {
  return new CallError(InfrastructureErrorCode.TIMEOUT, `The call of ${operationId} timed out`, { deadline });
}

function wasSilent(operationId: string, idleTimeout: number): CallError {
  return new CallError(
    InfrastructureErrorCode.TIMEOUT,
    `The subscription to ${operationId} timed out: nothing arrived for ${idleTimeout} ms`,
    { idleTimeout },
  );
}

function tooSlow(operationId: string, limit: number): CallError {
  return new CallError(
    InfrastructureErrorCode.EXECUTION_ERROR,
    `The subscription to ${operationId} was ended: ${limit} events wait for a consumer that is too slow. Read faster, or raise maxWaitingEvents`,
    { maxWaitingEvents: limit },
  );
}

function malformedAnswer(requestId: string): CallError {
  return new CallError(
    InfrastructureErrorCode.EXECUTION_ERROR,
    `The answer to request ${requestId} is no ResponseEnvelope: the other side does not follow the call protocol`,
    { requestId },
  );
}
