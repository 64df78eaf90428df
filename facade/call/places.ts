// How many calls are served at a time. Above a limit a call waits; beyond that it is refused.

import { type CallError, failed } from "../errors.js";
import { identityIn } from "../registry/authorise.js";
import type { CallRequestedEvent } from "./events.js";

/**
 * How many calls a call handler serves at the same time.
 *
 * @example
 * ```ts
 * const limits: PlaceLimits = { concurrency: 100, perCaller: 10, queue: 500 };
 * ```
 */
export interface PlaceLimits {
  /** Calls and subscriptions at the same time. No limit by default. */
  concurrency?: number;
  /** The same for one operation. */
  perOperation?: number;
  /** The same for one caller (`identity.id`). All callers without an identity count as one. */
  perCaller?: number;
  /** How many calls may wait for a place (default 1,024). Further calls are refused. */
  queue?: number;
  /**
   * How many handlers may still run after their call was aborted or timed out, in addition to `concurrency` (default:
   * the value of `concurrency`, at least 16). Beyond that, a place becomes free only when its handler ends.
   */
  overrun?: number;
}

interface Waiting {
  readonly request: CallRequestedEvent;
  readonly begin: () => void;
}

export const DEFAULT_QUEUE = 1024;

export class Places {
  readonly #limits: PlaceLimits;
  readonly #queue: number;
  readonly #byOperation = new Map<string, number>();
  readonly #byCaller = new Map<string, number>();
  #taken = 0;
  #waiting: Waiting[] = [];

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
    this.#queue = limits.queue ?? DEFAULT_QUEUE;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Begins at once, or when there is a place. Says no when too many wait already. */
  enter(request: CallRequestedEvent, begin: () => void): boolean {
    if (this.#hasPlace(request)) {
      this.#take(request, 1);
      begin();
      return true;
    }
    if (this.#waiting.length >= this.#queue) return false;
    this.#waiting.push({ request, begin });
    return true;
  }

  /** It is over, or nobody waits for it any more. */
  leave(request: CallRequestedEvent): void {
    const before = this.#waiting.length;
    this.#waiting = before === 0 ? this.#waiting : this.#waiting.filter((each) => each.request !== request);
    if (this.#waiting.length < before) return;
    this.#take(request, -1);
    // All that have a place now, in their order: one operation's or caller's queue does not keep the others waiting, and
    // where there is more than one limit, one place can be what several waited for.
    for (;;) {
      const next = this.#waiting.findIndex((each) => this.#hasPlace(each.request));
      if (next === -1) return;
      const [{ request: waited, begin }] = this.#waiting.splice(next, 1) as [Waiting];
      this.#take(waited, 1);
      begin();
    }
  }

  #hasPlace(request: CallRequestedEvent): boolean {
    const { concurrency, perOperation, perCaller } = this.#limits;
    return (
      isBelow(this.#taken, concurrency) &&
      isBelow(this.#byOperation.get(request.operationId), perOperation) &&
      isBelow(this.#byCaller.get(callerOf(request)), perCaller)
    );
  }

  #take(request: CallRequestedEvent, change: 1 | -1): void {
    this.#taken += change;
    if (this.#limits.perOperation !== undefined) add(this.#byOperation, request.operationId, change);
    if (this.#limits.perCaller !== undefined) add(this.#byCaller, callerOf(request), change);
  }
}

function isBelow(count: number | undefined, limit: number | undefined): boolean {
  return limit === undefined || (count ?? 0) < limit;
}

function add(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

function callerOf(request: CallRequestedEvent): string {
  return identityIn(request)?.id ?? "";
}

export function overloaded(operationId: string): CallError {
  return failed(
    `The call of ${operationId} was refused: too many calls are running or waiting already. Try again later`,
    { reason: "overloaded", delivery: "none", operationId },
  );
}
