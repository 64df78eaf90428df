// Limits on calls, as users write them, and the native limiters that hold them (`crates/operations-core/src/limits/`).

import {
  aCount,
  aDuration,
  aSize,
  checkedOptions,
  type Fields,
  group,
  required,
} from "../interop/options.js";
import type { Limiter as NativeLimiter } from "../native-binding.js";
import { native, runtime } from "../runtime.js";

/**
 * How many calls may start within a period. The limit is exact: at most `calls` calls start within any `per`
 * milliseconds.
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
 * Limits for an operation, an importer or a registry: how many calls run, wait and start, and how long they take.
 * Anything left out is not limited.
 *
 * @example
 * ```ts
 * const limits: CallLimits = { concurrency: 16, queue: 500, timeout: 30_000, rate: { calls: 100, per: 1_000 } };
 * const limited = new OperationRegistry({ limits });
 * ```
 */
export interface CallLimits {
  /** Calls and streams that run at the same time. A stream runs until it ends. */
  concurrency?: number;
  /**
   * How many calls may wait because of `concurrency` or `rate` (default 1,024; with 0, calls never wait). Further calls
   * are refused. Each caller (`identity.id`) has a queue of its own, and the queues take turns.
   */
  queue?: number;
  /** How long a call may wait, and how long it may then run, in milliseconds. For a stream: the longest silence. */
  timeout?: number;
  /** How many calls may start within a period. */
  rate?: CallRate;
}

/**
 * When to stop calling a server that fails: after `failures` failures within `window` milliseconds, no call is made for
 * `cooldown` milliseconds. Then one call is tried. If it succeeds, calls are made again.
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
 * Counters of one set of limits.
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
  /** The id of the operation, or the namespace of the importer (`"adapter"`); empty for the registry. */
  name: string;
  running: number;
  waiting: number;
  /** Handlers that still run although their call has ended. */
  overrunning: number;
  /** Calls that were let through. */
  admitted: number;
  /** Calls that were refused, by reason. */
  refused: { overloaded: number; rateLimited: number; circuitOpen: number };
  /** The state of the breaker, if there is one. */
  breaker?: "closed" | "open" | "half-open";
  /** How often the breaker has opened, if there is one. */
  opened?: number;
}

/**
 * The result of `registry.stats()`.
 *
 * @example
 * ```ts
 * const { limits }: RegistryStats = registry.stats();
 * const refused = limits.map(({ name, refused }) => [name, refused.overloaded]);
 * ```
 */
export interface RegistryStats {
  /** One entry for each set of limits that applies to calls of this registry. The registry's own entry comes first. */
  limits: LimitStats[];
  /** Calls that were done without JavaScript and not reported to listeners, because JavaScript was too busy to take the reports.
   * Access decisions are always reported. */
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

/** The limiter of an adapter; `undefined` without limits. */
export function adapterLimiter(
  name: string,
  { limits, breaker }: { readonly limits?: CallLimits; readonly breaker?: CircuitBreaker },
): Limiter | undefined {
  return limits === undefined && breaker === undefined
    ? undefined
    : new Limiter("adapter", name, limits, breaker);
}
