// The callers of what is being served here, and the workers that have our calls. A process that is killed takes nothing back:
// without this, a stream that it reads would run forever.
//
// Each caller listens to a channel of its own while it waits for answers, and names itself in its requests. Redis knows how
// many listen to a channel, so a message without listeners says that the caller is gone.

import { randomUUID } from "node:crypto";

/** How often to check whether callers are still there, in milliseconds. */
const ASK_EVERY = 2_000;
const NAME = /^call\.(caller|worker)\.[0-9a-f-]{36}$/;

/** The name of a caller, and the channel on which it listens. */
export function newCaller(): string {
  return `call.caller.${randomUUID()}`;
}

/** Whether this is the channel of one connection. */
export function isChannel(name: unknown): name is string {
  return typeof name === "string" && NAME.test(name);
}

interface Needs {
  /** Sends nothing to a channel, to learn whether it has listeners. */
  ask(caller: string): void;
  /** Whether this request is still being worked on. */
  serves(requestId: string): boolean;
  /** Nothing waits for this request any more. */
  abort(requestId: string): void;
}

export class Callers {
  readonly #needs: Needs;
  readonly #requests = new Map<string, Set<string>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** A request has arrived. One that does not say whose it is, or not in our words, has no caller. */
  requested(requestId: string, detail: unknown): void {
    const caller: unknown = (detail as { from?: unknown }).from;
    if (!isChannel(caller)) return;
    const requests = this.#requests.get(caller);
    if (requests === undefined) this.#requests.set(caller, new Set([requestId]));
    else requests.add(requestId);
    this.#timer ??= setInterval(() => this.#ask(), ASK_EVERY).unref();
  }

  isCaller(name: string): boolean {
    return this.#requests.has(name);
  }

  /** The channel of a caller has no listeners: what runs for it is aborted. Returns how much that is. */
  gone(caller: string): number {
    const requests = this.#requests.get(caller) ?? new Set();
    this.#requests.delete(caller);
    const running = [...requests].filter((requestId) => this.#needs.serves(requestId));
    for (const requestId of running) this.#needs.abort(requestId);
    return running.length;
  }

  /** Checks the callers for which something still runs. */
  #ask(): void {
    for (const [caller, requests] of this.#requests) {
      for (const requestId of requests) if (!this.#needs.serves(requestId)) requests.delete(requestId);
      if (requests.size === 0) this.#requests.delete(caller);
      else this.#needs.ask(caller);
    }
    if (this.#requests.size === 0) this.stop();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
