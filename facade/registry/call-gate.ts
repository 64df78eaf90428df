// Calls that go through limits: they wait for a permit, and give it back.

import { AsyncLocalStorage } from "node:async_hooks";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { onAbort } from "../interop/abort.js";
import { toSystemTime } from "../interop/clock.js";
import { numbers, PendingWork } from "../interop/pending-work.js";
import type { CallGate as NativeGate } from "../native-binding.js";
import { native, runtime } from "../runtime.js";
import type { OperationContext, OperationHandler, SubscriptionHandler } from "../types.js";
import { identityIn } from "./authorise.js";
import { withinDeadline } from "./deadline.js";
import { traitsOf } from "./handler-traits.js";
import { LimitedStream } from "./limited-stream.js";
import type { Limiter } from "./limits.js";
import { steering } from "./metadata.js";

/** Calls that wait. One mailbox for all, so that one wake-up lets all of them begin that can. */
const waiting = new PendingWork<number>(numbers());

/** The permit of the call on whose behalf this code runs: what it calls itself is a part of it. */
const held = new AsyncLocalStorage<Permit>();

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
      const permit = this.enter(context);
      return permit instanceof Promise
        ? permit.then((granted) => this.#run(granted, call, endsItself, input, context))
        : this.#run(permit, call, endsItself, input, context);
    };
  }

  /** The permit of a call; a promise if it has to wait for it. Throws if it is refused. `onWaiting` gets a function that ends
   * the wait. */
  enter(context: OperationContext, onWaiting?: (leave: () => void) => void): Permit | Promise<Permit> {
    const parent = held.getStore();
    const caller = identityIn(context)?.id ?? "";
    const call = waiting.newId();
    const ticket = this.native.enter(
      call,
      typeof caller === "string" ? caller : String(caller),
      parent === undefined ? 0 : parent.covers(this.limiters),
      context.deadline === undefined ? undefined : toSystemTime(context.deadline),
    );
    if (ticket > 0) return new Permit(this, ticket, parent);
    return new Promise((resolve, reject) => {
      waiting.wait(call, {
        owner: this.native,
        done: () => resolve(new Permit(this, ticket, parent)),
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
    permit: Permit,
    handler: OperationHandler,
    endsItself: boolean,
    input: unknown,
    context: OperationContext,
  ): unknown {
    const { timeout } = this;
    if (timeout === undefined) return permit.hold(handler, endsItself, input, context);
    const run = async (given: OperationContext) => permit.hold(handler, endsItself, input, given);
    return withinDeadline(this.id, context, endsItself, run, timeout);
  }

  /** The call has failed, for a reason that a breaker may count. */
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

/** What one call may run with: a part of each limit of its gate. */
export class Permit {
  readonly #gate: CallGate;
  readonly #ticket: number;
  readonly #parent: Permit | undefined;
  #isFree = false;

  constructor(gate: CallGate, ticket: number, parent: Permit | undefined) {
    this.#gate = gate;
    this.#ticket = ticket;
    this.#parent = parent;
  }

  /** Those of the limiters that this call, or one that it is a part of, runs under already: a bit for each. */
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
    return held.run(this, work);
  }

  /** Runs a handler, and gives the permit back when it has ended. */
  hold(handler: OperationHandler, endsItself: boolean, input: unknown, context: OperationContext): unknown {
    let forget: (() => void) | undefined;
    const ended = (error?: unknown, isFailure = false): void => {
      forget?.();
      if (isFailure) this.failed(isOwnTimeout(error, context) ? undefined : error);
      else this.leave();
    };
    try {
      if (!endsItself) forget = this.#abandonWith(context.signal);
      const result: unknown = held.run(this, handler, input, context);
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

  /** The call has ended without its handler, which may run on. */
  #abandonWith(signal: AbortSignal | undefined): () => void {
    if (signal?.aborted === true) this.abandon();
    return onAbort(signal, () => this.abandon());
  }

  abandon(): void {
    this.#isFree = true;
    this.#gate.native.abandon(this.#ticket);
  }

  /** The source works. */
  works(): void {
    this.#gate.native.works(this.#ticket);
  }

  /** Has a breaker count an error before the end of the call. */
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

/** A timeout that the caller has chosen says nothing about the source, as with a deadline. */
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
