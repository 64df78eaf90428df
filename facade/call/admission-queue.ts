// How many calls are served at a time. Above a limit a call waits; beyond that it is refused. Each caller has a queue of its own,
// and the queues take turns; where no more calls may wait, the last of the longest queue is refused.
// `crates/operations-serve/src/limits.rs` has the same rules.

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
  /** Calls and subscriptions at the same time; for `serve`, calls (see `streams`). No limit by default. */
  concurrency?: number;
  /** The same for one operation. */
  perOperation?: number;
  /** The same for one caller (`identity.id`). All callers without an identity count as one. */
  perCaller?: number;
  /**
   * How many calls may wait for a permit (default 1,024). Further calls are refused. Each caller has a queue of their own, and
   * the queues take turns. When the queues are full, the last call of the longest queue is refused in favour of a
   * caller with fewer calls.
   */
  queue?: number;
  /**
   * How many handlers may still run after their call was aborted or timed out, in addition to `concurrency` (default:
   * the value of `concurrency`, at least 16). Beyond that, a permit becomes free only when its handler ends.
   */
  overrun?: number;
}

interface Waiting {
  readonly request: CallRequestedEvent;
  /** Counts the calls that have waited. */
  readonly number: number;
  readonly begin: () => void;
  readonly refuse: () => void;
}

export const DEFAULT_QUEUE = 1024;

export class AdmissionQueue {
  readonly #limits: PlaceLimits;
  readonly #maxWaiting: number;
  readonly #byOperation = new Map<string, number>();
  readonly #byCaller = new Map<string, number>();
  #running = 0;
  /** The calls that wait, by caller, in the order of the callers' turns. */
  readonly #queues = new Map<string, Waiting[]>();
  #waiting = 0;
  #number = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
    this.#maxWaiting = limits.queue ?? DEFAULT_QUEUE;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Begins at once, or when the limits allow it. Returns false when too many wait already; `refuse` is called if another call
   * takes its place in the queue. */
  enter(request: CallRequestedEvent, begin: () => void, refuse: () => void): boolean {
    if (this.#isAllowed(request)) {
      this.#count(request, 1);
      begin();
      return true;
    }
    const caller = callerOf(request);
    let displaced: Waiting | undefined;
    if (this.#waiting >= this.#maxWaiting) {
      displaced = this.#displacedBy(caller);
      if (displaced === undefined) return false;
    }
    const waiting = { request, number: ++this.#number, begin, refuse };
    const queue = this.#queues.get(caller);
    if (queue === undefined) this.#queues.set(caller, [waiting]);
    else queue.push(waiting);
    this.#waiting += 1;
    displaced?.refuse();
    return true;
  }

  /** The call is over, or is not waited for any more. */
  leave(request: CallRequestedEvent): void {
    const caller = callerOf(request);
    const at = this.#queues.get(caller)?.findIndex((each) => each.request === request) ?? -1;
    if (at !== -1) {
      this.#takeOut(caller, at);
      return;
    }
    this.#count(request, -1);
    // All that may begin now: one operation's or caller's queue does not keep the others waiting, and where there is more
    // than one limit, several calls may have waited for the same one.
    for (;;) {
      const next = this.#next();
      if (next === undefined) return;
      this.#count(next.request, 1);
      next.begin();
    }
  }

  /** Takes out the next that may begin: callers take turns, and the calls of each keep their order. */
  #next(): Waiting | undefined {
    for (const [caller, queue] of this.#queues) {
      const at = queue.findIndex((each) => this.#isAllowed(each.request));
      if (at === -1) continue;
      const next = this.#takeOut(caller, at);
      if (this.#queues.delete(caller)) this.#queues.set(caller, queue);
      return next;
    }
    return undefined;
  }

  #takeOut(caller: string, at: number): Waiting {
    const queue = this.#queues.get(caller) as Waiting[];
    const [waiting] = queue.splice(at, 1) as [Waiting];
    if (queue.length === 0) this.#queues.delete(caller);
    this.#waiting -= 1;
    return waiting;
  }

  /** Where no more may wait: takes out the last of the longest queue, if that is longer than the caller's own will be.
   * Otherwise a caller could keep all others out by waiting often enough. */
  #displacedBy(caller: string): Waiting | undefined {
    let longest: [caller: string, queue: Waiting[]] | undefined;
    for (const each of this.#queues) {
      if (longest === undefined || isLonger(each[1], longest[1])) longest = each;
    }
    const own = this.#queues.get(caller)?.length ?? 0;
    if (longest === undefined || longest[1].length <= own + 1) return undefined;
    return this.#takeOut(longest[0], longest[1].length - 1);
  }

  #isAllowed(request: CallRequestedEvent): boolean {
    const { concurrency, perOperation, perCaller } = this.#limits;
    return (
      isBelow(this.#running, concurrency) &&
      isBelow(this.#byOperation.get(request.operationId), perOperation) &&
      isBelow(this.#byCaller.get(callerOf(request)), perCaller)
    );
  }

  #count(request: CallRequestedEvent, change: 1 | -1): void {
    this.#running += change;
    if (this.#limits.perOperation !== undefined) add(this.#byOperation, request.operationId, change);
    if (this.#limits.perCaller !== undefined) add(this.#byCaller, callerOf(request), change);
  }
}

/** Of queues of the same length, the one with the newest call counts as longer: chance decides nothing. */
function isLonger(one: readonly Waiting[], other: readonly Waiting[]): boolean {
  if (one.length !== other.length) return one.length > other.length;
  return Number(one.at(-1)?.number) > Number(other.at(-1)?.number);
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
