// A request that has no final answer yet.

import type { ResponseEnvelope } from "../envelope.js";
import { onAbort } from "./abort-listeners.js";
import type { Inbox } from "./inbox.js";
import { wasAborted } from "./outcomes.js";

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

  /** Takes an answer; says no when there is no room for it. */
  abstract responded(output: ResponseEnvelope): boolean;
  abstract failed(error: unknown): void;
  /** The other side has ended it, in whichever way. */
  abstract ended(): void;
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

  /** A call that ends without an answer was aborted. */
  ended(): void {
    this.#reject(wasAborted(this.operationId));
  }
}

export class PendingStream extends Pending {
  readonly #inbox: Inbox;
  readonly isCall = false;
  /** When something last arrived, if anybody asks. */
  heardAt: number | undefined;

  constructor(requestId: string, operationId: string, parentRequestId: string | undefined, inbox: Inbox) {
    super(requestId, operationId, parentRequestId);
    this.#inbox = inbox;
  }

  responded(output: ResponseEnvelope): boolean {
    if (this.heardAt !== undefined) this.heardAt = Date.now();
    return this.#inbox.push(output);
  }

  failed(error: unknown): void {
    this.#inbox.end({ error });
  }

  ended(): void {
    this.#inbox.end();
  }
}
