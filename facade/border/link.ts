// Whether there is a connection to somebody else, and who wants to hear of it.

import { refusal } from "./options.js";
import { kindOf, quoted } from "./text.js";

/** Whether there is a connection, and since when (Unix milliseconds). */
export interface LinkStatus {
  /** `"connecting"` before the first connection (`waitOnFirstConnect`), `"disconnected"` while one that was lost is restored. */
  state: "connecting" | "connected" | "disconnected" | "closed";
  since: number;
  /** Why there is no connection, as far as is known: what the other side said, or how the last attempt failed. */
  problem?: string;
}

/** What a connection tells about itself. `"connected"` is the first time, `"reconnected"` each time after a loss. */
export type LinkEvent = "connected" | "disconnected" | "reconnected" | "closed";

/** What the native side tells: the newest state, and how often it has changed since the beginning. */
export interface LinkNews {
  state: LinkStatus["state"];
  since: number;
  problem: string | null;
  connections: number;
  losses: number;
}

export function statusOf({ state, since, problem }: LinkNews): LinkStatus {
  return problem === null ? { state, since } : { state, since, problem };
}

const EVENTS: readonly LinkEvent[] = ["connected", "disconnected", "reconnected", "closed"];
type Listener = (status: LinkStatus) => unknown;

/** Those who are told of changes. */
export class Watchers {
  readonly #listeners = new Map<LinkEvent, Set<{ run: Listener }>>(EVENTS.map((event) => [event, new Set()]));
  #connections = 0;
  #losses = 0;

  /** From here on changes are told. */
  begin({ connections, losses }: LinkNews): void {
    this.#connections = connections;
    this.#losses = losses;
  }

  add(event: LinkEvent, run: Listener): () => void {
    const listeners = this.#listeners.get(event);
    if (listeners === undefined)
      throw refusal("on: event", `must be one of ${EVENTS.join(", ")}, not ${quoted(event)}`);
    if (typeof run !== "function") throw refusal("on: listener", `must be a function, not ${kindOf(run)}`);
    // A registration of its own, even if the same function is registered twice.
    const entry = { run };
    listeners.add(entry);
    return () => void listeners.delete(entry);
  }

  /** Only the newest state arrives here; what happened on the way to it is told too. */
  changed(news: LinkNews): void {
    const status = statusOf(news);
    for (;;) {
      const isConnected = this.#connections > this.#losses;
      if (isConnected && news.losses > this.#losses) {
        this.#losses += 1;
        this.tell("disconnected", status);
      } else if (!isConnected && news.connections > this.#connections) {
        this.#connections += 1;
        this.tell(this.#connections === 1 ? "connected" : "reconnected", status);
      } else {
        return;
      }
    }
  }

  tell(event: LinkEvent, status: LinkStatus): void {
    for (const { run } of [...(this.#listeners.get(event) ?? [])]) {
      try {
        run(status);
      } catch (error) {
        // As an EventTarget does: the others are told, and the error surfaces by itself.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
