// Limits on calls, as users write them, and the native limiters that hold them (`crates/operations-core/src/limits/`).

import { aCount, aDuration, aSize, checkedOptions, type Fields, group, required } from "../border/options.js";
import type { Limiter as NativeLimiter } from "../native-binding.js";
import { native, runtime } from "../runtime.js";

/**
 * How many calls begin in a stretch of time. Exact: no stretch of `per` milliseconds sees more than `calls` of them begin.
 *
 * @example
 * ```ts
 * const rate: CallRate = { calls: 100, per: 60_000 }; // a hundred a minute
 * ```
 */
export interface CallRate {
  calls: number;
  /** In milliseconds. */
  per: number;
}

/**
 * How many calls run at a time, how many wait, how long they take and how many begin: of an operation, of an adapter or of
 * a whole registry. What is left out is not limited.
 *
 * @example
 * ```ts
 * const limits: CallLimits = { concurrency: 16, queue: 500, timeout: 30_000, rate: { calls: 100, per: 1_000 } };
 * const limited = new OperationRegistry({ limits });
 * ```
 */
export interface CallLimits {
  /** Calls and streams that run at a time. A stream runs until it ends. */
  concurrency?: number;
  /** Calls that wait, because of `concurrency` or `rate` (default 1,024; 0: none waits). Beyond that they are refused. Each caller
   * (`identity.id`) waits in a line of its own, and the lines take turns. */
  queue?: number;
  /** How long a call may wait, and how long it may then run, in milliseconds; a stream, how long it may be silent. */
  timeout?: number;
  /** Calls that begin in a stretch of time. */
  rate?: CallRate;
}

/**
 * When an adapter's server is left alone: after `failures` within `window` milliseconds no call is made for `cooldown`
 * milliseconds. Then one call is tried, whose end decides.
 *
 * @example
 * ```ts
 * const breaker: CircuitBreaker = { failures: 5, window: 10_000, cooldown: 30_000 };
 * const operations = FromOpenAPI(document, { namespace: "pets", breaker });
 * ```
 */
export interface CircuitBreaker {
  failures: number;
  /** In milliseconds. */
  window: number;
  /** In milliseconds. */
  cooldown: number;
}

/**
 * What runs and waits at one set of limits, and what became of calls since it was made.
 *
 * @example
 * ```ts
 * const busy = ({ name, running, waiting }: LimitStats) => `${name}: ${running} run, ${waiting} wait`;
 * console.log(registry.stats().limits.map(busy));
 * ```
 */
export interface LimitStats {
  /** Where the limits were set. */
  scope: "registry" | "adapter" | "operation";
  /** The id of the operation, or the namespace of the adapter; empty for the registry. */
  name: string;
  running: number;
  waiting: number;
  /** Handlers that run on although their call has ended. */
  overrunning: number;
  /** Calls that were let through. */
  admitted: number;
  /** Calls that were not, by reason. */
  refused: { overloaded: number; rateLimited: number; circuitOpen: number };
  /** Where there is a breaker: where it stands. */
  breaker?: "closed" | "open" | "half-open";
  /** Where there is a breaker: how often it has opened. */
  opened?: number;
}

/**
 * What `registry.stats()` tells.
 *
 * @example
 * ```ts
 * const { limits }: RegistryStats = registry.stats();
 * const refused = limits.map(({ name, refused }) => [name, refused.overloaded]);
 * ```
 */
export interface RegistryStats {
  /** One for each set of limits that calls of this registry go through: the registry's own first. */
  limits: LimitStats[];
  /** Calls that were done without JavaScript and not told to listeners, because JavaScript was too busy to take the reports. Decisions
   * about access are always told. */
  unreported: number;
}

const rate = group<CallRate>({ calls: required(aSize), per: required(aDuration) });

const LIMITS: Fields<CallLimits> = { concurrency: aSize, queue: aCount, timeout: aDuration, rate };
const BREAKER: Fields<CircuitBreaker> = {
  failures: required(aSize),
  window: required(aDuration),
  cooldown: required(aDuration),
};

/** Checks of the two options, for whatever has them. */
export const callLimits = group<CallLimits>(LIMITS);
export const circuitBreaker = group<CircuitBreaker>(BREAKER);

/** The limits that were set in one place, and everything that runs or waits because of them. */
export class Limiter {
  readonly native: NativeLimiter;
  readonly scope: LimitStats["scope"];
  readonly name: string;
  readonly timeout: number | undefined;
  readonly hasBreaker: boolean;
  /** What was set, as text: to see whether it is still the same. */
  readonly settings: string;

  constructor(
    scope: LimitStats["scope"],
    name: string,
    limits: CallLimits | undefined,
    breaker?: CircuitBreaker | undefined,
  ) {
    this.scope = scope;
    this.name = name;
    this.timeout = limits?.timeout;
    this.hasBreaker = breaker !== undefined;
    this.settings = JSON.stringify({
      scope,
      // Rust has no strings with half a surrogate pair.
      name: name.replace(/\p{Surrogate}/gu, "\ufffd"),
      ...limits,
      breaker,
    });
    this.native = new native.Limiter(runtime, this.settings);
  }

  stats(): LimitStats {
    return { ...JSON.parse(this.native.stats()), name: this.name };
  }
}

/** The limiter of an operation; the one that it had, if that allows the same. */
export function operationLimiter(
  id: string,
  limits: unknown,
  before: Limiter | undefined,
): Limiter | undefined {
  if (limits === undefined) return undefined;
  const checked = checkedOptions<CallLimits>(limits, LIMITS, {
    prefix: `Cannot register operation ${id}: limits.`,
  });
  const made = new Limiter("operation", id, checked);
  return before?.settings === made.settings ? before : made;
}

/** The limiter of an adapter; nothing where none is wanted. */
export function adapterLimiter(
  name: string,
  { limits, breaker }: { readonly limits?: CallLimits; readonly breaker?: CircuitBreaker },
): Limiter | undefined {
  return limits === undefined && breaker === undefined
    ? undefined
    : new Limiter("adapter", name, limits, breaker);
}

const bySource = new WeakMap<object, Limiter>();

/** Says of a handler that its calls go through these limits. A function around the handler is not the handler. */
export function limitHandler(handler: object, limiter: Limiter | undefined): void {
  if (limiter !== undefined) bySource.set(handler, limiter);
}

export function limiterOf(handler: object): Limiter | undefined {
  return bySource.get(handler);
}
