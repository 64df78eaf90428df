// What every transport of the call protocol offers, whatever it travels on.

import type { ResponseEnvelope } from "../envelope.js";
import type { OperationsIn, TypedCallMap } from "../operation-types.js";
import type { CallMap } from "../registry/env.js";
import type { OperationRegistry } from "../registry/registry.js";
import type { CallerIdentity } from "../types.js";
import type { DiscoveredOperation } from "./described.js";
import type { ImportOptions, PeerOperation } from "./imported.js";
import type { CallOptions, SubscribeOptions } from "./options.js";

/**
 * Calls and subscriptions over a transport: what a caller needs of a `PendingRequestMap`.
 *
 * @example
 * ```ts
 * const greet = async (callMap: RemoteCallMap) => (await callMap.call("demo.greet", { name: "Ada" })).data;
 * ```
 */
export interface RemoteCallMap extends CallMap {
  /** Calls an operation. Resolves with its envelope, or rejects. */
  call(operationId: string, input: unknown, options?: CallOptions): Promise<ResponseEnvelope>;
  /** Subscribes to an operation. Nothing is sent before the first `next()`; a slow consumer slows whoever serves it. */
  subscribe(
    operationId: string,
    input: unknown,
    options?: SubscribeOptions,
  ): AsyncGenerator<ResponseEnvelope, undefined, unknown>;
  /** The same map, to the type checker one that knows the operations: `callMap.typed<typeof registry>()`. */
  typed<T>(): TypedCallMap<OperationsIn<T>>;
  /** Ends a request. */
  abort(requestId: string): void;
  /** How many requests have no final answer yet. */
  getPendingCount(): number;
}

/**
 * On whose behalf it is asked what can be called, where callers say who they are with each call: over NATS and over ports. A
 * connection to a hub has an identity of its own.
 *
 * @example
 * ```ts
 * const options: DiscoverOptions = { identity: { id: "ada", scopes: ["files:read"] } };
 * ```
 */
export interface DiscoverOptions {
  /** Who asks (default: nobody). Operations that they may not call are left out. */
  identity?: CallerIdentity;
  /** Whatever `verifyIdentity` of the other side wants to see: a token, say. */
  metadata?: Record<string, unknown>;
}

/**
 * A connection over which operations are called and served, whatever it travels on: `connectHub`, `connectNats` and `connectPort` give one.
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
  /** What the other side serves and we may call: whole specs, without the rules who may. */
  readonly discover: () => Promise<{ readonly operations: readonly DiscoveredOperation[] }>;
  /** Makes operations of them that work here like any other. */
  readonly import: (options?: ImportOptions) => Promise<PeerOperation[]>;
  /** What was counted. */
  readonly stats: () => object;
  /** Takes nothing new, finishes what runs, then ends the connection. Calls without an answer reject. */
  readonly close: (options?: { drain?: number }) => Promise<void>;
}
