// What every transport of the call protocol offers, whatever it travels on.

import type { ResponseEnvelope } from "../envelope.js";
import type { OperationsIn, TypedCallMap, WithOperations } from "../operation-types.js";
import type { CallMap } from "../registry/env.js";
import type { OperationRegistry } from "../registry/registry.js";
import type { CallerIdentity } from "../types.js";
import type { DiscoveredOperation } from "./described.js";
import type { ImportOptions, PeerOperation } from "./imported.js";
import type { CallOptions, SubscribeOptions } from "./options.js";

/**
 * Calls and subscriptions over a transport: the methods of `PendingRequestMap` that a caller needs.
 *
 * @example
 * ```ts
 * const greet = async (callMap: RemoteCallMap) => (await callMap.call("demo.greet", { name: "Ada" })).data;
 * ```
 */
export interface RemoteCallMap extends CallMap {
  /** Calls an operation. Resolves with its envelope, or rejects. */
  call(operationId: string, input: unknown, options?: CallOptions): Promise<ResponseEnvelope>;
  /**
   * Subscribes to an operation. Nothing is sent before the first `next()`. A slow consumer slows the serving side down.
   */
  subscribe(
    operationId: string,
    input: unknown,
    options?: SubscribeOptions,
  ): AsyncGenerator<ResponseEnvelope, undefined, unknown>;
  /** The same map, typed with the operations of a registry: `callMap.typed<typeof registry>()`. */
  typed<T extends WithOperations>(): TypedCallMap<OperationsIn<T>>;
  typed<T>(): TypedCallMap<OperationsIn<T>>;
  /** Ends a request. */
  abort(requestId: string): void;
  /** How many requests have no final answer yet. */
  getPendingCount(): number;
}

/**
 * On whose behalf `discover` asks, over NATS and over ports, where callers say who they are. A connection to a hub has an
 * identity of its own.
 *
 * @example
 * ```ts
 * const options: DiscoverOptions = { identity: { id: "ada", scopes: ["files:read"] } };
 * ```
 */
export interface DiscoverOptions {
  /** The identity that asks (default: no identity). Operations that it may not call are left out. */
  identity?: CallerIdentity;
  /** What `verifyIdentity` of the other side wants to see, such as a token. */
  metadata?: Record<string, unknown>;
}

/**
 * Options of `close`.
 *
 * @example
 * ```ts
 * const options: CloseOptions = { drain: 30_000 };
 * ```
 */
export interface CloseOptions {
  /** How long running work may take to finish, in milliseconds (default 10,000). */
  drain?: number;
}

/**
 * A connection over which operations are called and served. `connectHub`, `connectNats`, `connectRedis` and `connectPort` return one.
 *
 * @example
 * ```ts
 * const names = async (transport: CallTransport) => {
 *   const { operations } = await transport.discover();
 *   return operations.map(({ namespace, name }) => `${namespace}.${name}`);
 * };
 * ```
 */
export interface CallTransport {
  /** Calls operations of the other side. */
  readonly callMap: RemoteCallMap;
  /** Serves the operations of a registry to the other side. */
  readonly serve: (registry: OperationRegistry) => Promise<unknown>;
  /** The specs of the operations that the other side serves to this connection, without access rules. */
  readonly discover: () => Promise<{ readonly operations: readonly DiscoveredOperation[] }>;
  /** Makes operations from the discovered specs. You can register and call them like any other operation. */
  readonly import: (options?: ImportOptions) => Promise<PeerOperation[]>;
  /** Counters of the connection. */
  readonly stats: () => object;
  /** Refuses new calls, lets running calls finish, then closes the connection. Calls without an answer reject. */
  readonly close: (options?: CloseOptions) => Promise<void>;
}
