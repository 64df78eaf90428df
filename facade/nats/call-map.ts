import type { RemoteCallMap } from "../call/transport.js";

/**
 * Calls and subscriptions over NATS.
 *
 * @example
 * ```ts
 * const callMap: NatsCallMap = nats.callMap;
 * const { data } = await callMap.call("demo.greet", { name: "Ada" });
 * ```
 */
export interface NatsCallMap extends RemoteCallMap {}
