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
 * What a connection tells about itself. `"connected"` is the first time, `"reconnected"` each time after a loss.
 *
 * @example
 * ```ts
 * const events: NatsEvent[] = ["disconnected", "reconnected"];
 * for (const event of events) nats.on(event, () => console.log(event));
 * ```
 */
export type NatsEvent = LinkEvent;
