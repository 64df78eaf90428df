// What `connectRedis` takes and returns.

import type { CallHandlerConfig, CallHandlerStats } from "../call/call-handler.js";
import type { ServedOperation } from "../call/discovery.js";
import type { ImportOptions, PeerOperation } from "../call/imported.js";
import type { CallTransport, CloseOptions, DiscoverOptions, RemoteCallMap } from "../call/transport.js";
import type { ConnectionEvent, ConnectionStatus } from "../interop/link.js";
import type { OperationRegistry } from "../registry/registry.js";
import type { RedisEventTargetOptions } from "./redis-event-target.js";

/**
 * The address of Redis, and the name of this connection.
 *
 * @example
 * ```ts
 * const options: RedisOptions = { url: "redis://localhost:6379", name: "worker-1", prefix: "shop:" };
 * ```
 */
export interface RedisOptions extends RedisEventTargetOptions {
  /** The name of this connection in log lines of others. */
  name: string;
}

/**
 * How calls are served: limits, and the identity of callers. At most 256 calls run at a time by default; others wait.
 *
 * @example
 * ```ts
 * const options: RedisServeOptions = { concurrency: 16, timeout: 30_000 };
 * ```
 */
export interface RedisServeOptions extends Omit<CallHandlerConfig, "registry" | "callMap"> {}

/**
 * Options of `discover`.
 *
 * @example
 * ```ts
 * const options: RedisDiscoverOptions = { identity: { id: "ada", scopes: ["tasks:read"] }, timeout: 500 };
 * ```
 */
export interface RedisDiscoverOptions extends DiscoverOptions {
  /** How long to wait for answers of workers, in milliseconds (default 300). */
  timeout?: number;
}

/**
 * Options of `import`: which operations, under which names, and on whose behalf.
 *
 * @example
 * ```ts
 * const options: RedisImportOptions = { include: ["tasks.*"], keepInStep: registry };
 * ```
 */
export interface RedisImportOptions extends ImportOptions, RedisDiscoverOptions {}

/**
 * An operation, as `discover` found it.
 *
 * @example
 * ```ts
 * const { operations } = await redis.discover();
 * operations.map((operation: RedisOperationInfo) => operation.operationId);
 * ```
 */
export interface RedisOperationInfo extends ServedOperation {}

/**
 * Counters of a connection.
 *
 * @example
 * ```ts
 * const { running, malformed }: RedisStats = redis.stats();
 * ```
 */
export interface RedisStats extends CallHandlerStats {
  /** Messages that were dropped because they do not follow the protocol. */
  malformed: number;
}

/**
 * A connection to Redis.
 *
 * @example
 * ```ts
 * const redis: RedisTransport = await connectRedis({ url: "redis://localhost:6379", name: "worker-1" });
 * await redis.serve(registry);
 * await redis.close();
 * ```
 */
export interface RedisTransport extends CallTransport {
  /** The id under which others know this connection. */
  readonly id: string;
  /** Calls operations that are served on the same prefix. One worker runs each call. */
  readonly callMap: RemoteCallMap;
  /** Serves the operations of a registry, and follows what is registered later. With the same registry again, nothing happens. */
  readonly serve: (registry: OperationRegistry, options?: RedisServeOptions) => Promise<void>;
  /** The operations that others serve and the caller may call. */
  readonly discover: (options?: RedisDiscoverOptions) => Promise<{ operations: RedisOperationInfo[] }>;
  /** Makes operations of them that work here like any other. */
  readonly import: (options?: RedisImportOptions) => Promise<PeerOperation[]>;
  /** Counters of the connection. */
  readonly stats: () => RedisStats;
  /** Whether there is a connection now. */
  readonly status: () => ConnectionStatus;
  /** Adds a listener for changes of the connection. Returns a function that removes it. */
  readonly on: (event: ConnectionEvent, listener: (status: ConnectionStatus) => unknown) => () => void;
  /** Refuses new calls, lets running calls finish, then closes the connection. Calls without an answer reject. */
  readonly close: (options?: CloseOptions) => Promise<void>;
  /** `await using redis = await connectRedis(...)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}
