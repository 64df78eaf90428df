// A stream that goes through limits: it holds its permit from its first event, or the wait for it, to its end.

import { onAbort } from "../interop/abort.js";
import { DONE, EventIterator, type Step } from "../interop/event-iterator.js";
import { callAt } from "../interop/timer.js";
import { tookTooLong } from "../outcomes.js";
import type { OperationContext, SubscriptionHandler } from "../types.js";
import type { CallGate, Permit } from "./call-gate.js";
import { withSignal } from "./deadline.js";
import { asyncIteratorOf, noAsyncIterable } from "./stream-source.js";

export class LimitedStream extends EventIterator<unknown> {
  readonly #gate: CallGate;
  readonly #handler: SubscriptionHandler;
  readonly #input: unknown;
  readonly #context: OperationContext;
  /** Ends the wait for a permit. */
  #stopWaiting: (() => void) | undefined;
  #permit: Permit | undefined;
  #iterator: AsyncIterator<unknown> | undefined;
  #answer: IteratorResult<unknown> | undefined;
  /** The handler's generator is at its end, or has thrown. */
  #isEnded = false;
  #hasAnswered = false;
  /** Where silence is limited: aborted when it was too long. */
  #controller: AbortController | undefined;
  #ignoreSignal: (() => void) | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(gate: CallGate, handler: SubscriptionHandler, input: unknown, context: OperationContext) {
    super();
    this.#gate = gate;
    this.#handler = handler;
    this.#input = input;
    this.#context = context;
  }

  protected override take(): Step<unknown> | undefined {
    const answer = this.#answer;
    if (answer === undefined) return undefined;
    this.#answer = undefined;
    return answer.done === true ? DONE : (answer as Step<unknown>);
  }

  protected override wait(): void {
    if (this.#permit !== undefined) {
      this.#pull(this.#permit);
      return;
    }
    const permit = this.#gate.enter(this.#context, (leave) => {
      this.#stopWaiting = leave;
    });
    if (permit instanceof Promise) {
      permit.then(
        (granted) => this.#open(granted),
        (error) => this.fail(error),
      );
    } else {
      this.#open(permit);
    }
  }

  #open(permit: Permit): void {
    this.#stopWaiting = undefined;
    this.#permit = permit;
    if (this.isOver) {
      permit.leave();
      return;
    }
    try {
      const source: unknown = permit.run(() => this.#handler(this.#input, this.#handlerContext()));
      const iterator = asyncIteratorOf(source);
      if (iterator === undefined) throw noAsyncIterable(this.#gate.id, source);
      this.#iterator = iterator;
    } catch (error) {
      this.#onError(error);
      return;
    }
    this.#pull(permit);
  }

  #handlerContext(): OperationContext {
    if (this.#gate.timeout === undefined) return this.#context;
    const { signal } = this.#context;
    const controller = new AbortController();
    this.#controller = controller;
    if (signal?.aborted === true) controller.abort(signal.reason);
    this.#ignoreSignal = onAbort(signal, () => controller.abort(signal?.reason));
    return withSignal(this.#context, controller.signal);
  }

  #pull(permit: Permit): void {
    const { timeout } = this.#gate;
    if (timeout !== undefined) {
      this.#cancelTimer = callAt(Date.now() + timeout, () => this.#wasSilent(timeout), true);
    }
    try {
      const iterator = this.#iterator as AsyncIterator<unknown>;
      Promise.resolve(permit.run(() => iterator.next())).then(this.#onAnswer, this.#onError);
    } catch (error) {
      this.#onError(error);
    }
  }

  #wasSilent(timeout: number): void {
    const error = tookTooLong(this.#gate.id, timeout);
    this.#permit?.judge(error);
    this.#controller?.abort(error);
    this.fail(error);
  }

  readonly #onAnswer = (answer: IteratorResult<unknown>): void => {
    this.#cancelTimer?.();
    if (answer.done === true) this.#end();
    else if (!this.#hasAnswered) this.#permit?.works();
    this.#hasAnswered = true;
    if (this.isOver) return;
    this.#answer = answer;
    this.ready();
  };

  readonly #onError = (error: unknown): void => {
    this.#cancelTimer?.();
    this.#isEnded = true;
    this.#ignoreSignal?.();
    this.#permit?.failed(error);
    this.fail(error);
  };

  #end(): void {
    this.#isEnded = true;
    this.#ignoreSignal?.();
    this.#permit?.leave();
  }

  /** The handler may take long to end: its permit is given back before. */
  protected override async close(): Promise<void> {
    this.#cancelTimer?.();
    this.#stopWaiting?.();
    if (this.#isEnded || this.#iterator === undefined) return;
    this.#permit?.abandon();
    try {
      await this.#iterator.return?.();
    } finally {
      this.#end();
    }
  }
}
