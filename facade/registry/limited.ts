// Calls that go through limits: they wait for their places, and give them back.

import { AsyncLocalStorage } from "node:async_hooks";
import { onAbort } from "../border/abort.js";
import { numbers, PendingWork } from "../border/pending-work.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import type { CallGate as NativeGate } from "../native-binding.js";
import { native, runtime } from "../runtime.js";
import type { OperationContext, OperationHandler, SubscriptionHandler } from "../types.js";
import { identityIn } from "./authorise.js";
import { within } from "./deadline.js";
import { traitsOf } from "./handler-traits.js";
import { LimitedStream } from "./limited-stream.js";
import type { Limiter } from "./limits.js";
import { steering } from "./protocol-context.js";

/** Calls that wait. One mailbox for all, so that one wake-up lets all of them begin that can. */
const waiting = new PendingWork<number>(numbers());

/** The places that the call holds on whose behalf this code runs: what it calls itself is a part of it. */
const holding = new AsyncLocalStorage<Place>();

/** The limits of one operation. */
export class CallGate {
  readonly id: string;
  readonly limiters: readonly Limiter[];
  readonly native: NativeGate;
  /** The shortest time that one of them allows. */
  readonly timeout: number | undefined;
  readonly #hasBreaker: boolean;

  constructor(id: string, limiters: readonly [Limiter, ...Limiter[]]) {
    this.id = id;
    this.limiters = limiters;
    const [first, second, third] = limiters;
    this.native = new native.CallGate(
      runtime,
      waiting.mailbox,
      id,
      first.native,
      second?.native,
      third?.native,
    );
    const timeouts = limiters.flatMap(({ timeout }) => timeout ?? []);
    this.timeout = timeouts.length === 0 ? undefined : Math.min(...timeouts);
    this.#hasBreaker = limiters.some(({ hasBreaker }) => hasBreaker);
  }

  /** The handler behind the limits. */
  around(handler: OperationHandler | SubscriptionHandler, isSubscription: boolean): typeof handler {
    if (isSubscription) {
      return ((input: unknown, context: OperationContext) =>
        new LimitedStream(this, handler as SubscriptionHandler, input, context)) as never;
    }
    const endsItself = traitsOf(handler).endsItself === true;
    const call = handler as OperationHandler;
    return (input: unknown, context: OperationContext) => {
      const place = this.enter(context);
      return place instanceof Promise
        ? place.then((granted) => this.#run(granted, call, endsItself, input, context))
        : this.#run(place, call, endsItself, input, context);
    };
  }

  /** The places of a call; a promise if it has to wait for them. Throws if it is refused. `onWaiting` is given how to wait no
   * longer. */
  enter(context: OperationContext, onWaiting?: (leave: () => void) => void): Place | Promise<Place> {
    const parent = holding.getStore();
    const caller = identityIn(context)?.id ?? "";
    const call = waiting.newId();
    const ticket = this.native.enter(
      call,
      typeof caller === "string" ? caller : String(caller),
      parent === undefined ? 0 : parent.covers(this.limiters),
      context.deadline,
    );
    if (ticket > 0) return new Place(this, ticket, parent);
    return new Promise((resolve, reject) => {
      waiting.wait(call, {
        owner: this.native,
        done: () => resolve(new Place(this, ticket, parent)),
        failed: reject,
      });
      const { signal } = context;
      const leave = () => {
        if (waiting.forget(call) === undefined) return;
        this.native.leave(ticket);
        reject(abortedWhileWaiting(this.id));
      };
      if (signal?.aborted === true) leave();
      else waiting.watch(call, signal, leave);
      onWaiting?.(leave);
    });
  }

  #run(
    place: Place,
    handler: OperationHandler,
    endsItself: boolean,
    input: unknown,
    context: OperationContext,
  ): unknown {
    const { timeout } = this;
    if (timeout === undefined) return place.hold(handler, endsItself, input, context);
    return within(timeout, this.id, context, endsItself, async (watched) =>
      place.hold(handler, endsItself, input, watched),
    );
  }

  /** What the end of a call says about its source is of interest to a breaker only. */
  failed(ticket: number, error: unknown): void {
    const [code, facts] = this.#facts(error);
    this.native.fail(ticket, code, facts, true);
  }

  judge(ticket: number, error: unknown): void {
    const [code, facts] = this.#facts(error);
    this.native.fail(ticket, code, facts, false);
  }

  #facts(error: unknown): [code: string, facts: string | undefined] {
    if (!this.#hasBreaker || !(error instanceof CallError)) {
      return [InfrastructureErrorCode.UNKNOWN_ERROR, undefined];
    }
    const { statusCode, rpcCode, delivery, reason, deadline } = Object(error.details);
    const facts = {
      statusCode,
      rpcCode,
      delivery,
      reason,
      deadline: deadline === undefined ? undefined : true,
    };
    return [String(error.code), JSON.stringify(facts)];
  }
}

/** The places of one call. */
export class Place {
  readonly #gate: CallGate;
  readonly #ticket: number;
  readonly #parent: Place | undefined;
  #isFree = false;

  constructor(gate: CallGate, ticket: number, parent: Place | undefined) {
    this.#gate = gate;
    this.#ticket = ticket;
    this.#parent = parent;
  }

  /** Those of the limiters that this call, or one that it is a part of, holds a place of: a bit for each. */
  covers(limiters: readonly Limiter[]): number {
    let bits = this.#parent === undefined ? 0 : this.#parent.covers(limiters);
    if (this.#isFree) return bits;
    for (let i = 0; i < limiters.length; i++) {
      if (this.#gate.limiters.includes(limiters[i] as Limiter)) bits |= 1 << i;
    }
    return bits;
  }

  /** Runs what the call does. */
  run<T>(work: () => T): T {
    return holding.run(this, work);
  }

  /** Runs a handler, and gives the places back when it has ended. */
  hold(handler: OperationHandler, endsItself: boolean, input: unknown, context: OperationContext): unknown {
    let forget: (() => void) | undefined;
    const ended = (error?: unknown, isFailure = false): void => {
      forget?.();
      if (isFailure) this.failed(isOwnTimeout(error, context) ? undefined : error);
      else this.leave();
    };
    try {
      if (!endsItself) forget = this.#abandonWith(context.signal);
      const result: unknown = holding.run(this, handler, input, context);
      if (!isThenable(result)) {
        ended();
        return result;
      }
      return Promise.resolve(result).then(
        (value) => {
          ended();
          return value;
        },
        (error) => {
          ended(error, true);
          throw error;
        },
      );
    } catch (error) {
      ended(error, true);
      throw error;
    }
  }

  /** Nobody waits for the call any more; its handler may run on. */
  #abandonWith(signal: AbortSignal | undefined): () => void {
    if (signal?.aborted === true) this.abandon();
    return onAbort(signal, () => this.abandon());
  }

  abandon(): void {
    this.#isFree = true;
    this.#gate.native.abandon(this.#ticket);
  }

  /** The source has shown that it works. */
  works(): void {
    this.#gate.native.works(this.#ticket);
  }

  /** What an error says about the source, before the end. */
  judge(error: unknown): void {
    this.#gate.judge(this.#ticket, error);
  }

  leave(): void {
    this.#isFree = true;
    this.#gate.native.leave(this.#ticket);
  }

  failed(error: unknown): void {
    this.#isFree = true;
    this.#gate.failed(this.#ticket, error);
  }
}

/** A caller who allows a call next to no time says nothing about its source, as with a deadline. */
function isOwnTimeout(error: unknown, context: OperationContext): boolean {
  const isTimeout = error instanceof CallError && error.code === InfrastructureErrorCode.TIMEOUT;
  return isTimeout && steering(context, "timeout") !== undefined;
}

function isThenable(value: unknown): boolean {
  return (
    (typeof value === "object" || typeof value === "function") &&
    value !== null &&
    typeof (value as PromiseLike<unknown>).then === "function"
  );
}

function abortedWhileWaiting(id: string): CallError {
  return new CallError(InfrastructureErrorCode.ABORTED, `Operation ${id} was aborted before it started`, {
    operationId: id,
    reason: "aborted",
    delivery: "none",
  });
}
