// `context.deadline` in `execute` and `subscribe`: work ends in time, and is told so by its signal.

import { onAbort } from "../border/abort.js";
import { keepAlive, letGo } from "../border/keep-alive.js";
import { isDuration } from "../border/options.js";
import { textOf } from "../border/text.js";
import { callAt } from "../border/timer.js";
import { CallError, InfrastructureErrorCode, invalid } from "../errors.js";
import { timedOut, tookTooLong } from "../outcomes.js";
import type { OperationContext } from "../types.js";
import { carryVia } from "./protocol-context.js";

/** Throws unless there is time left for work that is about to start. */
export function refuseLate(operationId: string, deadline: number): void {
  if (typeof deadline !== "number" || Number.isNaN(deadline) || isDuration(deadline)) {
    throw invalid(
      `The deadline of the call of ${operationId} must be a time in milliseconds since 1970, not ` +
        `${textOf(deadline)}: use Date.now() + ms`,
      { operationId, deadline },
    );
  }
  if (deadline <= Date.now()) throw timedOut(operationId, deadline, undefined);
}

/** Whether a deadline is still to come. One that is not is told where it counts: after access and input. */
export function isAhead(deadline: number | undefined): deadline is number {
  return typeof deadline === "number" && deadline > Date.now() && deadline !== Number.POSITIVE_INFINITY;
}

/** One call or one stream with a deadline. */
export class DeadlineWatch {
  /** For the handler: the caller's, with a signal that is aborted at the deadline too. */
  readonly context: OperationContext;
  readonly #operationId: string;
  readonly #deadline: number;
  readonly #timeout: number | undefined;
  readonly #startedAt = Date.now();
  readonly #cancel: () => void;
  readonly #ignoreSignal: () => void;
  /** The deadline has passed, and nobody had stopped the watch. */
  expired: CallError | undefined;

  /** Calls `onExpired` when the deadline passes; or `timeout` milliseconds, where they are what is watched. */
  constructor(
    operationId: string,
    context: OperationContext,
    onExpired: (error: CallError) => void,
    timeout?: number,
  ) {
    this.#operationId = operationId;
    this.#timeout = timeout;
    this.#deadline = timeout === undefined ? (context.deadline as number) : Date.now() + timeout;
    const controller = new AbortController();
    const { signal } = context;
    if (signal?.aborted === true) controller.abort(signal.reason);
    this.#ignoreSignal = onAbort(signal, () => controller.abort(signal?.reason));
    this.context = withSignal(context, controller.signal);
    this.#cancel = callAt(this.#deadline, () => {
      this.stop();
      this.expired = this.#timedOut();
      controller.abort(this.expired);
      onExpired(this.expired);
    });
    keepAlive(this);
  }

  /** Whoever waits has an answer. */
  stop(): void {
    this.#cancel();
    this.#ignoreSignal();
    letGo(this);
  }

  /** What the caller is told about a failure. Work that the deadline ended says that it was aborted, or that its own time
   * was up; what it knows about that is kept. */
  failure(error: unknown): unknown {
    if (!(error instanceof CallError)) return this.expired ?? error;
    const { ABORTED, TIMEOUT } = InfrastructureErrorCode;
    const isEnd = error.code === TIMEOUT && Date.now() >= this.#deadline;
    if (!isEnd && !(error.code === ABORTED && this.expired !== undefined)) return this.expired ?? error;
    const { message } = this.expired ?? this.#timedOut();
    const limit = this.#timeout === undefined ? { deadline: this.#deadline } : { timeout: this.#timeout };
    return new CallError(TIMEOUT, message, { ...Object(error.details), reason: "timeout", ...limit });
  }

  #timedOut(): CallError {
    return this.#timeout === undefined
      ? timedOut(this.#operationId, this.#deadline, Date.now() - this.#startedAt)
      : tookTooLong(this.#operationId, this.#timeout);
  }
}

/** A copy with another signal. What the original computes when it is asked, the copy does too. */
export function withSignal(context: OperationContext, signal: AbortSignal): OperationContext {
  const copy = Object.create(Object.getPrototypeOf(context), {
    ...Object.getOwnPropertyDescriptors(context),
    signal: { value: signal, writable: true, enumerable: true, configurable: true },
  }) as OperationContext;
  carryVia(context, copy);
  return copy;
}

/** How long work that ends itself may take for that. */
const FAREWELL = 1_000;

/**
 * Does work until the deadline. Where the handler `endsItself` once its signal is aborted, its own words are waited for,
 * because it knows more; any other is left to itself.
 */
export function withinDeadline<T>(
  operationId: string,
  context: OperationContext & { deadline: number },
  endsItself: boolean,
  work: (context: OperationContext) => Promise<T>,
): Promise<T> {
  return within(undefined, operationId, context, endsItself, work);
}

/** The same, with a time of its own in place of the deadline. */
export function within<T>(
  timeout: number | undefined,
  operationId: string,
  context: OperationContext,
  endsItself: boolean,
  work: (context: OperationContext) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let farewell: NodeJS.Timeout | undefined;
    const onExpired = (error: CallError) => {
      if (endsItself) farewell = setTimeout(reject, FAREWELL, error);
      else reject(error);
    };
    const watch = new DeadlineWatch(operationId, context, onExpired, timeout);
    const end = () => {
      watch.stop();
      clearTimeout(farewell);
    };
    work(watch.context).then(
      (value) => {
        end();
        if (watch.expired === undefined) resolve(value);
        else reject(watch.expired);
      },
      (error) => {
        end();
        reject(endsItself ? watch.failure(error) : error);
      },
    );
  });
}
