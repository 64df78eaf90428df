// A request that has no final answer yet.

import type { ResponseEnvelope } from "../envelope.js";
import { onAbort } from "../interop/abort.js";
import type { PushedEvents } from "../interop/pushed-events.js";

/** Who waits: for one answer, or for many. */
export abstract class Pending {
  readonly requestId: string;
  readonly operationId: string;
  readonly parentRequestId: string | undefined;
  /** Timers and listeners go when it is over. */
  #cancelTimer: (() => void) | undefined;
  #stopWatching: (() => void) | undefined;

  constructor(requestId: string, operationId: string, parentRequestId: string | undefined) {
    this.requestId = requestId;
    this.operationId = operationId;
    this.parentRequestId = parentRequestId;
  }

  /** Takes an answer; false if there is no room for it. */
  abstract responded(output: ResponseEnvelope): boolean;
  abstract failed(error: unknown): void;
  /** Whether one answer is all. */
  abstract readonly isCall: boolean;

  /** Replaces the timer of before. */
  setTimer(cancel: () => void): void {
    this.#cancelTimer = cancel;
  }

  watch(signal: AbortSignal, aborted: () => void): void {
    this.#stopWatching = onAbort(signal, aborted);
  }

  release(): void {
    this.#cancelTimer?.();
    this.#stopWatching?.();
  }
}

export class PendingCall extends Pending {
  readonly #resolve: (output: ResponseEnvelope) => void;
  readonly #reject: (error: unknown) => void;
  readonly isCall = true;

  constructor(
    requestId: string,
    operationId: string,
    parentRequestId: string | undefined,
    resolve: (output: ResponseEnvelope) => void,
    reject: (error: unknown) => void,
  ) {
    super(requestId, operationId, parentRequestId);
    this.#resolve = resolve;
    this.#reject = reject;
  }

  responded(output: ResponseEnvelope): boolean {
    this.#resolve(output);
    return true;
  }

  failed(error: unknown): void {
    this.#reject(error);
  }
}

export class PendingStream extends Pending {
  readonly #events: PushedEvents<ResponseEnvelope>;
  readonly isCall = false;
  /** When something last arrived, where that is tracked. */
  heardAt: number | undefined;

  constructor(
    requestId: string,
    operationId: string,
    parentRequestId: string | undefined,
    events: PushedEvents<ResponseEnvelope>,
  ) {
    super(requestId, operationId, parentRequestId);
    this.#events = events;
  }

  responded(output: ResponseEnvelope): boolean {
    if (this.heardAt !== undefined) this.heardAt = Date.now();
    return this.#events.push(output);
  }

  failed(error: unknown): void {
    this.#events.end({ error });
  }

  /** The other side has ended it, in whichever way. */
  ended(): void {
    this.#events.end();
  }
}
