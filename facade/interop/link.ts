// Whether there is a connection to another process, and listeners to its changes.

import { NamedListeners } from "./listeners.js";

/**
 * Whether there is a connection, and since when (Unix milliseconds).
 *
 * @example
 * ```ts
 * const { state, problem }: ConnectionStatus = nats.status();
 * if (state === "disconnected") console.warn(`No broker: ${problem}`);
 * ```
 */
export interface ConnectionStatus {
  /** `"connecting"` before the first connection (`waitOnFirstConnect`), `"disconnected"` while one that was lost is restored. */
  state: "connecting" | "connected" | "disconnected" | "closed";
  since: number;
  /** Why there is no connection, as far as is known: what the other side said, or how the last attempt failed. */
  problem?: string;
}

/**
 * Events of a connection. `"connected"` is the first connection, `"reconnected"` every later one.
 *
 * @example
 * ```ts
 * const events: ConnectionEvent[] = ["disconnected", "reconnected"];
 * for (const event of events) hub.on(event, () => console.log(event));
 * ```
 */
export type ConnectionEvent = "connected" | "disconnected" | "reconnected" | "closed";

/** What the native side reports: the newest state, and how often it has changed since the beginning. */
export interface LinkReport {
  state: ConnectionStatus["state"];
  since: number;
  problem: string | null;
  connections: number;
  losses: number;
}

export function statusOf({ state, since, problem }: LinkReport): ConnectionStatus {
  return problem === null ? { state, since } : { state, since, problem };
}

export class LinkListeners extends NamedListeners<ConnectionEvent, ConnectionStatus> {
  #connections: number;
  #losses: number;

  /** Changes since then are reported. */
  constructor({ connections, losses }: LinkReport) {
    super("connected", "disconnected", "reconnected", "closed");
    this.#connections = connections;
    this.#losses = losses;
  }

  /** Only the newest state arrives here; what happened on the way to it is reported too. */
  changed(news: LinkReport): void {
    const status = statusOf(news);
    for (;;) {
      const isConnected = this.#connections > this.#losses;
      if (isConnected && news.losses > this.#losses) {
        this.#losses += 1;
        this.notify("disconnected", status);
      } else if (!isConnected && news.connections > this.#connections) {
        this.#connections += 1;
        this.notify(this.#connections === 1 ? "connected" : "reconnected", status);
      } else {
        return;
      }
    }
  }
}
