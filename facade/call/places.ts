// How many calls are served at a time. Above a limit a call waits; beyond that it is refused. Callers wait in lines of their own,
// which take turns; where all waiting places are taken, the last of the longest line makes room.
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
   * How many calls may wait for a place (default 1,024). Further calls are refused. Each caller has a queue of their own, and
   * the queues take turns. When all waiting places are taken, the last call of the longest queue is refused in favour of a
   * caller with fewer calls.
   */
  queue?: number;
  /**
   * How many handlers may still run after their call was aborted or timed out, in addition to `concurrency` (default:
   * the value of `concurrency`, at least 16). Beyond that, a place becomes free only when its handler ends.
   */
  overrun?: number;
}

interface Waiting {
  readonly request: CallRequestedEvent;
  /** Counts those who have waited. */
  readonly number: number;
  readonly begin: () => void;
  readonly refuse: () => void;
}

export const DEFAULT_QUEUE = 1024;

export class Places {
  readonly #limits: PlaceLimits;
  readonly #queue: number;
  readonly #byOperation = new Map<string, number>();
  readonly #byCaller = new Map<string, number>();
  #taken = 0;
  /** Those who wait, by caller, in the order of the callers' turns. */
  readonly #lines = new Map<string, Waiting[]>();
  #waiting = 0;
  #number = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
    this.#queue = limits.queue ?? DEFAULT_QUEUE;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Begins at once, or when there is a place. Says no when too many wait already; `refuse` is called if somebody else has to be let
   * in before. */
  enter(request: CallRequestedEvent, begin: () => void, refuse: () => void): boolean {
    if (this.#hasPlace(request)) {
      this.#take(request, 1);
      begin();
      return true;
    }
    const caller = callerOf(request);
    let inTheWay: Waiting | undefined;
    if (this.#waiting >= this.#queue) {
      inTheWay = this.#inTheWayOf(caller);
      if (inTheWay === undefined) return false;
    }
    const waiting = { request, number: ++this.#number, begin, refuse };
    const line = this.#lines.get(caller);
    if (line === undefined) this.#lines.set(caller, [waiting]);
    else line.push(waiting);
    this.#waiting += 1;
    inTheWay?.refuse();
    return true;
  }

  /** It is over, or nobody waits for it any more. */
  leave(request: CallRequestedEvent): void {
    const caller = callerOf(request);
    const at = this.#lines.get(caller)?.findIndex((each) => each.request === request) ?? -1;
    if (at !== -1) {
      this.#takeOut(caller, at);
      return;
    }
    this.#take(request, -1);
    // All that have a place now: one operation's or caller's queue does not keep the others waiting, and
    // where there is more than one limit, one place can be what several waited for.
    for (;;) {
      const next = this.#next();
      if (next === undefined) return;
      this.#take(next.request, 1);
      next.begin();
    }
  }

  /** Takes out the next who has a place: callers take turns, and each has its own calls in their order. */
  #next(): Waiting | undefined {
    for (const [caller, line] of this.#lines) {
      const at = line.findIndex((each) => this.#hasPlace(each.request));
      if (at === -1) continue;
      const next = this.#takeOut(caller, at);
      if (this.#lines.delete(caller)) this.#lines.set(caller, line);
      return next;
    }
    return undefined;
  }

  /** Takes one out of its line. */
  #takeOut(caller: string, at: number): Waiting {
    const line = this.#lines.get(caller) as Waiting[];
    const [waiting] = line.splice(at, 1) as [Waiting];
    if (line.length === 0) this.#lines.delete(caller);
    this.#waiting -= 1;
    return waiting;
  }

  /** Where there is no room for one more: takes out the last of the longest line, if that is longer than the caller's own will
   * be. Otherwise a caller could keep all others out by waiting often enough. */
  #inTheWayOf(caller: string): Waiting | undefined {
    let longest: [caller: string, line: Waiting[]] | undefined;
    for (const each of this.#lines) {
      if (longest === undefined || isLonger(each[1], longest[1])) longest = each;
    }
    const own = this.#lines.get(caller)?.length ?? 0;
    if (longest === undefined || longest[1].length <= own + 1) return undefined;
    return this.#takeOut(longest[0], longest[1].length - 1);
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

/** Of lines that are as long, the one with the newest call counts as longer: chance decides nothing. */
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
