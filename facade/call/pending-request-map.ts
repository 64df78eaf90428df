import { isResponseEnvelope, type ResponseEnvelope } from "../envelope.js";
import { type CallError, internalFlag, invalid } from "../errors.js";
import { toSystemTime } from "../interop/clock.js";
import { newId } from "../interop/host.js";
import { aSize, checkedOptions, type Fields, isFunction, refusal } from "../interop/options.js";
import { PushedEvents, type PushSource } from "../interop/pushed-events.js";
import { kindOf } from "../interop/text.js";
import { callAt } from "../interop/timer.js";
import { tracedCall, tracedStream } from "../interop/trace.js";
import { TransientMap } from "../interop/transient-map.js";
import { logger } from "../logging.js";
import type { OperationsIn, TypedCallMap, WithOperations } from "../operation-types.js";
import {
  answered,
  errorOf,
  malformedAnswer,
  timedOut,
  tooSlow,
  wasAborted,
  wasSilent,
  withDelivery,
  withoutResponse,
} from "../outcomes.js";
import { type Bus, type DroppedEvents, EventTargetBus, LocalBus, type Receiver } from "./bus.js";
import {
  CALL_EVENT_TYPES,
  type CallErrorEvent,
  type CallEvents,
  type CallRequestedEvent,
  type CallRespondedEvent,
} from "./events.js";
import {
  type CallOptions,
  checkedCall,
  checkedSubscribe,
  declaredIdentity,
  requestPayload,
  type SubscribeOptions,
} from "./options.js";
import { REPORT_EVERY } from "./pacing.js";
import { type Pending, PendingCall, PendingStream } from "./pending.js";
import { knows, type Server, whileServing } from "./remote.js";
import { typedCallMap } from "./typed-call-map.js";

export type { CallOptions, SubscribeOptions } from "./options.js";

/**
 * Limits of a call map.
 *
 * @example
 * ```ts
 * const options: PendingRequestMapOptions = { maxWaitingEvents: 10_000 };
 * ```
 */
export interface PendingRequestMapOptions {
  /**
   * How many events of a subscription may wait for its consumer (default 65,536). Beyond that the subscription ends
   * with an error.
   */
  maxWaitingEvents?: number;
}

/**
 * Counters of a call map, as `stats()` returns them.
 *
 * @example
 * ```ts
 * const { dropped }: CallStats = new PendingRequestMap().stats();
 * if (dropped > 0) console.warn(`${dropped} events did not fit`);
 * ```
 */
export interface CallStats {
  /** Events that did not match `CallEventMap` and were dropped. */
  dropped: number;
  droppedBy: DroppedEvents;
}

/**
 * Listeners of one kind of event.
 *
 * @example
 * ```ts
 * const channel: EventChannel<CallRequestedEvent> = new PendingRequestMap()["call.requested"];
 * const stop = channel.subscribe(({ operationId }) => console.log(operationId));
 * ```
 */
export interface EventChannel<T> {
  /** Registers a listener; the returned function removes it. */
  subscribe(listener: (event: T) => unknown): () => void;
}

const log = logger("call");
const DEFAULT_WAITING_EVENTS = 65_536;
const FIELDS: Fields<PendingRequestMapOptions> = { maxWaitingEvents: aSize };

/** Whether it can stand for an `EventTarget`, which may be of another realm or written by hand. */
function isEventTarget(value: unknown): boolean {
  const { addEventListener, removeEventListener, dispatchEvent } = Object(value);
  return [addEventListener, removeEventListener, dispatchEvent].every(isFunction);
}

/**
 * Calls and subscriptions as events. Two maps on the same `EventTarget` talk to each other. A map without a target
 * talks to itself, so a process can serve its own operations.
 *
 * @example
 * ```ts
 * const callMap = new PendingRequestMap(createPortEventTarget(port));
 * const { data } = await callMap.call("demo.greet", { name: "Ada" }, { deadline: Date.now() + 5_000 });
 * for await (const envelope of callMap.subscribe("demo.ticks", {})) console.log(envelope.data);
 * ```
 */
export class PendingRequestMap {
  declare readonly "call.requested": EventChannel<CallEvents["call.requested"]>;
  declare readonly "call.responded": EventChannel<CallEvents["call.responded"]>;
  declare readonly "call.completed": EventChannel<CallEvents["call.completed"]>;
  declare readonly "call.aborted": EventChannel<CallEvents["call.aborted"]>;
  declare readonly "call.error": EventChannel<CallEvents["call.error"]>;

  readonly #bus: Bus;
  readonly #pending = new TransientMap<string, Pending>();
  /** Those that were made by another call, by its id. */
  readonly #children = new Map<string, Set<Pending>>();
  readonly #maxWaitingEvents: number;
  /** Call handlers that answer through this map. */
  readonly #servers = new Set<Server>();
  /** What is left to abort, the next one last. */
  readonly #toAbort: Pending[] = [];
  #isAborting = false;

  constructor(eventTarget?: EventTarget, options: PendingRequestMapOptions = {}) {
    const { maxWaitingEvents } = checkedOptions<PendingRequestMapOptions>(options, FIELDS, {
      prefix: "PendingRequestMap: ",
    });
    if (eventTarget !== undefined && !isEventTarget(eventTarget)) {
      throw refusal("PendingRequestMap: eventTarget", `must be an EventTarget, not ${kindOf(eventTarget)}`);
    }
    const receiver: Receiver = {
      "call.responded": (event) => this.#responded(event),
      "call.error": (event) => this.#answeredWith(event),
      "call.completed": (event) => this.#completed(this.#pending.get(event.requestId)),
      "call.aborted": (event) => this.#aborted(event.requestId),
      malformed: (requestId) =>
        this.#failed(this.#pending.get(requestId), this.#withDelivery(malformedAnswer(requestId))),
    };
    this.#bus =
      eventTarget === undefined
        ? new LocalBus(receiver)
        : new EventTargetBus(eventTarget, receiver, (reason) => this.#lost(reason));
    this.#maxWaitingEvents = maxWaitingEvents ?? DEFAULT_WAITING_EVENTS;
    for (const type of CALL_EVENT_TYPES) {
      const channel: EventChannel<never> = {
        subscribe: (listener) => this.#bus.listen(type, listener as (payload: unknown) => unknown),
      };
      Object.defineProperty(this, type, { value: channel, enumerable: true });
    }
  }

  /** Calls an operation. Resolves with its envelope, or rejects. */
  call(operationId: string, input: unknown, given?: CallOptions): Promise<ResponseEnvelope> {
    if (!this.#bus.isRemote) return this.#call(operationId, input, given);
    return tracedCall(operationId, undefined, () => this.#call(operationId, input, given));
  }

  #call(operationId: string, input: unknown, given?: CallOptions): Promise<ResponseEnvelope> {
    return new Promise((resolve, reject) => {
      const options = checkedCall(operationId, given);
      const { deadline, signal, parentRequestId } = options;
      if (signal?.aborted === true) throw this.#withDelivery(wasAborted(operationId), "none");
      if (deadline !== undefined && deadline <= Date.now()) {
        throw this.#withDelivery(timedOut(operationId, deadline, undefined), "none");
      }
      const requestId = newId();
      const pending = new PendingCall(requestId, operationId, parentRequestId, resolve, reject);
      this.#add(pending, signal);
      if (deadline !== undefined) {
        const began = Date.now();
        const expire = () => this.#giveUp(pending, timedOut(operationId, deadline, Date.now() - began));
        pending.setTimer(callAt(deadline, expire, true));
      }
      this.#ask(pending, requestPayload(requestId, operationId, input, options, options));
    });
  }

  /** The same map, typed with the operations of a registry: `callMap.typed<typeof registry>()`. */
  typed<T extends WithOperations>(): TypedCallMap<OperationsIn<T>>;
  typed<T>(): TypedCallMap<OperationsIn<T>>;
  typed<T>(): TypedCallMap<OperationsIn<T>> {
    return typedCallMap(this) as TypedCallMap<OperationsIn<T>>;
  }

  /** Subscribes to an operation. Nothing is sent before the first `next()`. */
  subscribe(
    operationId: string,
    input: unknown,
    given?: SubscribeOptions,
  ): AsyncGenerator<ResponseEnvelope, undefined, unknown> {
    let pending: PendingStream | undefined;
    const source: PushSource = {
      open: () => {
        const options = checkedSubscribe(operationId, given);
        pending = new PendingStream(newId(), operationId, options.parentRequestId, events);
        this.#open(pending, input, options);
      },
      close: () => {
        // It is out already when it has come to its end.
        if (pending === undefined || !this.#remove(pending)) return;
        this.#sendAborted(pending.requestId);
        this.#abortChildren(pending.requestId);
      },
    };
    const { paces } = this.#bus;
    if (paces !== undefined) {
      let read = 0;
      source.read = () => {
        read += 1;
        if (read % REPORT_EVERY === 0 && pending !== undefined) paces(pending.requestId, read);
      };
    }
    const events = new PushedEvents<ResponseEnvelope>(source, this.#maxWaitingEvents);
    return this.#bus.isRemote ? tracedStream(operationId, undefined, events) : events;
  }

  #open(pending: PendingStream, input: unknown, options: SubscribeOptions): void {
    const { requestId, operationId } = pending;
    const { idleTimeout, signal } = options;
    if (signal?.aborted === true) {
      pending.failed(this.#withDelivery(wasAborted(operationId), "none"));
      return;
    }
    this.#add(pending, signal);
    if (idleTimeout !== undefined) this.#expectWithin(idleTimeout, pending, Date.now());
    this.#ask(pending, requestPayload(requestId, operationId, input, options, options));
  }

  /** Gives up after a silence. What arrives in the meantime is only noted: a timer for each event would cost more
   * than the event. */
  #expectWithin(idleTimeout: number, pending: PendingStream, since: number): void {
    pending.heardAt = since;
    const check = () => {
      const heardAt = pending.heardAt ?? since;
      if (heardAt + idleTimeout > Date.now()) this.#expectWithin(idleTimeout, pending, heardAt);
      else this.#giveUp(pending, wasSilent(pending.operationId, idleTimeout));
    };
    pending.setTimer(callAt(since + idleTimeout, check, true));
  }

  /** Answers a request. */
  respond(requestId: string, output: ResponseEnvelope): void {
    if (!isResponseEnvelope(output)) {
      throw invalid(
        "PendingRequestMap.respond() requires a ResponseEnvelope: wrap the value with localEnvelope(), httpEnvelope() or mcpEnvelope()",
        { requestId },
      );
    }
    this.#bus.publish("call.responded", { requestId, output });
  }

  /** Fails a request. `isInternal` says that the message was not written for the caller: servers mask it (default: no). */
  emitError(requestId: string, code: string, message: string, details?: unknown, isInternal = false): void {
    const event: CallErrorEvent = { requestId, code, message };
    if (details !== undefined) event.details = details;
    const flag = internalFlag(code, details, isInternal);
    if (flag !== undefined) event.isInternal = flag;
    this.#bus.publish("call.error", event);
  }

  /** Ends a subscription. For the side that serves. */
  complete(requestId: string): void {
    this.#bus.publish("call.completed", { requestId });
  }

  /** Ends a request from either side. */
  abort(requestId: string): void {
    try {
      this.#bus.publish("call.aborted", { requestId });
    } finally {
      // At once, however long the event is under way. A wire does not bring it back to this end.
      for (const server of this.#servers) server.abort(requestId);
      this.#aborted(requestId);
    }
  }

  /** Counters since the map was made. */
  stats(): CallStats {
    const droppedBy = { ...this.#bus.dropped };
    const dropped = Object.values(droppedBy).reduce((sum, count) => sum + count, 0);
    return { dropped, droppedBy };
  }

  /** @internal */
  [whileServing](server: Server): () => void {
    this.#servers.add(server);
    const stop = this.#bus.serving(server);
    return () => {
      this.#servers.delete(server);
      stop();
    };
  }

  /** @internal */
  [knows](requestId: string): boolean {
    return this.#pending.has(requestId);
  }

  /** How many requests have no final answer yet. */
  getPendingCount(): number {
    return this.#pending.size;
  }

  #add(pending: Pending, signal: AbortSignal | undefined): void {
    if (this.#pending.size === 0) this.#bus.receive(true);
    this.#pending.set(pending.requestId, pending);
    const parent = pending.parentRequestId;
    if (parent !== undefined) {
      const siblings = this.#children.get(parent);
      if (siblings === undefined) this.#children.set(parent, new Set([pending]));
      else siblings.add(pending);
    }
    if (signal !== undefined) {
      pending.watch(signal, () => this.#giveUp(pending, wasAborted(pending.operationId)));
    }
  }

  /** Removes a request; false if it was removed already. The code that removed it settles it, so it is settled once. */
  #remove(pending: Pending): boolean {
    if (this.#pending.get(pending.requestId) !== pending) return false;
    this.#pending.delete(pending.requestId);
    pending.release();
    const parent = pending.parentRequestId;
    if (parent !== undefined) {
      const siblings = this.#children.get(parent);
      siblings?.delete(pending);
      if (siblings?.size === 0) this.#children.delete(parent);
    }
    if (this.#pending.size === 0) this.#bus.receive(false);
    return true;
  }

  /** Sends a request. If that fails, the request has failed. */
  #ask(pending: Pending, event: CallRequestedEvent): void {
    if (this.#bus.isRemote) {
      if (event.identity !== undefined) event.identity = declaredIdentity(event.identity);
      if (event.deadline !== undefined) event.deadline = toSystemTime(event.deadline);
    }
    try {
      this.#bus.publish("call.requested", event);
    } catch (error) {
      this.#failed(pending, error);
    }
  }

  #responded({ requestId, output }: CallRespondedEvent): void {
    const pending = this.#pending.get(requestId);
    if (pending === undefined) return;
    if (pending.isCall) {
      if (this.#remove(pending)) pending.responded(output);
    } else if (!pending.responded(output)) {
      this.#giveUp(pending, tooSlow(pending.operationId, this.#maxWaitingEvents));
    }
  }

  #answeredWith(event: CallErrorEvent): void {
    const pending = this.#pending.get(event.requestId);
    if (pending === undefined) return;
    const error = errorOf(event);
    this.#failed(pending, this.#bus.isRemote ? answered(pending.operationId, error) : error);
  }

  #failed(pending: Pending | undefined, error: unknown): void {
    if (pending !== undefined && this.#remove(pending)) pending.failed(error);
  }

  #completed(pending: Pending | undefined): void {
    if (pending instanceof PendingCall) {
      this.#failed(pending, this.#withDelivery(withoutResponse(pending.operationId)));
    } else {
      this.#ended(pending);
    }
  }

  /** A call that ends without an answer was aborted. */
  #ended(pending: Pending | undefined): void {
    if (pending instanceof PendingCall) {
      this.#failed(pending, this.#withDelivery(wasAborted(pending.operationId)));
    } else if (pending !== undefined && this.#remove(pending)) {
      (pending as PendingStream).ended();
    }
  }

  /** Over a wire, an error says what may be concluded from it. */
  #withDelivery(error: CallError, delivery: "none" | "unknown" = "unknown"): CallError {
    return this.#bus.isRemote ? withDelivery(error, delivery) : error;
  }

  #aborted(requestId: string): void {
    this.#ended(this.#pending.get(requestId));
    this.#abortChildren(requestId);
  }

  /** Whatever a call that was ended has itself called is ended too, and so on down: each child right after its
   * parent. By a list of what is left to do, not by recursion: how deep calls nest is not ours to decide. */
  #abortChildren(parentRequestId: string): void {
    const children = this.#children.get(parentRequestId);
    if (children === undefined) return;
    for (const child of [...children].reverse()) this.#toAbort.push(child);
    if (this.#isAborting) return;
    this.#isAborting = true;
    for (let child = this.#toAbort.pop(); child !== undefined; child = this.#toAbort.pop()) {
      if (this.#pending.get(child.requestId) !== child) continue;
      this.#sendAborted(child.requestId);
      this.#aborted(child.requestId);
    }
    this.#isAborting = false;
  }

  /** Ends a request from this side: its own error here, `call.aborted` for the other side. */
  #giveUp(pending: Pending, error: CallError): void {
    if (!this.#remove(pending)) return;
    pending.failed(this.#withDelivery(error));
    this.#sendAborted(pending.requestId);
    this.#abortChildren(pending.requestId);
  }

  /** Notifies the other side that a request is over. It is settled here already: a transport that
   * fails does not change that. */
  #sendAborted(requestId: string): void {
    try {
      this.#bus.publish("call.aborted", { requestId });
    } catch (error) {
      log.warn(`Failed to notify the other side that a request has ended: ${String(error)}`, { requestId });
    }
  }

  /** Events may have been missed, and any of them may have been an answer. */
  #lost(reason: CallError): void {
    for (const pending of this.#pending.values()) this.#giveUp(pending, reason);
  }
}
