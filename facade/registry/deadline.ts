// `context.deadline` in `execute` and `subscribe`: work ends in time, and its signal is aborted then.

import { CallError, InfrastructureErrorCode, invalid } from "../errors.js";
import { onAbort } from "../interop/abort.js";
import { keepAlive, letGo } from "../interop/keep-alive.js";
import { aDuration, isDuration } from "../interop/options.js";
import { textOf } from "../interop/text.js";
import { callAt } from "../interop/timer.js";
import { timedOut, tookTooLong } from "../outcomes.js";
import type { OperationContext } from "../types.js";

/** Throws unless there is time left for work that is about to start. */
export function assertInTime(operationId: string, deadline: number): void {
  if (typeof deadline !== "number" || Number.isNaN(deadline) || isDuration(deadline)) {
    throw invalid(
      `The deadline of the call of ${operationId} must be a time in milliseconds since 1970, not ` +
        `${textOf(deadline)}: use Date.now() + ms`,
      { operationId, deadline },
    );
  }
  if (deadline <= Date.now()) throw timedOut(operationId, deadline, undefined);
}

/** A copy of a context in which the caller's `timeout` is a deadline. It is stronger than `metadata.timeout`. */
export function withTimeout(context: OperationContext): OperationContext {
  const { metadata, deadline = Number.POSITIVE_INFINITY } = context;
  const timeout = aDuration(context.timeout, "timeout") as number;
  const copy: OperationContext = Object.create(
    Object.getPrototypeOf(context),
    Object.getOwnPropertyDescriptors(context),
  );
  delete copy.timeout;
  copy.deadline = Math.min(deadline, Date.now() + timeout);
  if (metadata?.timeout !== undefined) copy.metadata = { ...metadata, timeout };
  return copy;
}

/** Whether a deadline is still to come. One that is not is reported after the checks of access and input. */
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
  /** Set when the deadline has passed before the watch was stopped. */
  expired: CallError | undefined;

  /** Calls `onExpired` when the deadline passes; or after `timeout` milliseconds, if they are given. */
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

  /** The call has been answered. */
  stop(): void {
    this.#cancel();
    this.#ignoreSignal();
    letGo(this);
  }

  /** The error that the caller gets for a failure. Work that the deadline ended says that it was aborted, or that its own time
   * was up; the details of that are kept. */
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

/** A copy with another signal. Getters of the original are getters of the copy. */
export function withSignal(context: OperationContext, signal: AbortSignal): OperationContext {
  return Object.create(Object.getPrototypeOf(context), {
    ...Object.getOwnPropertyDescriptors(context),
    signal: { value: signal, writable: true, enumerable: true, configurable: true },
  }) as OperationContext;
}

/** How long work that ends itself may take for that, in milliseconds. */
const ABORT_GRACE_MS = 1_000;

/**
 * Does work until the deadline of its context, or for `timeout` milliseconds. Where the handler `endsItself` once its signal is
 * aborted, its own error is waited for, because it knows more; any other handler is abandoned.
 */
export function withinDeadline<T>(
  operationId: string,
  context: OperationContext,
  endsItself: boolean,
  work: (context: OperationContext) => Promise<T>,
  timeout?: number,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let grace: NodeJS.Timeout | undefined;
    const onExpired = (error: CallError) => {
      if (endsItself) grace = setTimeout(reject, ABORT_GRACE_MS, error);
      else reject(error);
    };
    const watch = new DeadlineWatch(operationId, context, onExpired, timeout);
    const end = () => {
      watch.stop();
      clearTimeout(grace);
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
