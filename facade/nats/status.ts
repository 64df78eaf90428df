// Whether there is a connection to the broker.

import type { LinkEvent, LinkStatus } from "../border/link.js";

/**
 * Whether there is a connection to the broker, and since when (Unix milliseconds).
 *
 * @example
 * ```ts
 * const { state, problem }: NatsStatus = nats.status();
 * if (state === "disconnected") console.warn(`No broker: ${problem}`);
 * ```
 */
export interface NatsStatus extends LinkStatus {}

/**
 * Events of a connection. `"connected"` is the first connection, `"reconnected"` every later one.
 *
 * @example
 * ```ts
 * const events: NatsEvent[] = ["disconnected", "reconnected"];
 * for (const event of events) nats.on(event, () => console.log(event));
 * ```
 */
export type NatsEvent = LinkEvent;
