// Results of work off the JavaScript thread. They arrive in batches, under the number of the call that they
// belong to. A native promise for each would cost half as much again (docs/decisions/0006-http-client.md).

import { keepAlive, letGo } from "./border/keep-alive.js";
import { native } from "./runtime.js";

/** Told once, with what the native side says: a kind, a text, and a body if there is one. It must not throw. */
export type Arrival = (kind: number, about: string, body: unknown) => void;

interface Waiter {
  readonly arrival: Arrival;
  /** What must not be collected before the result is there. */
  readonly owner: object;
}

const waiting = new Map<number, Waiter>();
/** Given to whatever starts work whose results arrive here. */
export const completions = new native.Completions(deliver);

const LARGEST_ID = 0xffffffff;
let lastId = 0;

/** A number for work that is about to start. */
export function nextId(): number {
  do lastId = lastId === LARGEST_ID ? 1 : lastId + 1;
  while (waiting.has(lastId));
  return lastId;
}

/** Waits for the next result under this number. `owner` does the work, and ends it if it is collected. */
export function awaitArrival(id: number, owner: object, arrival: Arrival): void {
  waiting.set(id, { arrival, owner });
  if (waiting.size === 1) keepAlive(waiting);
}

/** Waits no longer. */
export function forget(id: number): void {
  if (waiting.delete(id) && waiting.size === 0) letGo(waiting);
}

/** Called by the event loop when results are there. */
function deliver(): void {
  const arrived = completions.take();
  for (let at = 0; at < arrived.length; at += 4) {
    const id = arrived[at] as number;
    const waiter = waiting.get(id);
    if (waiter === undefined) continue;
    forget(id);
    waiter.arrival(arrived[at + 1] as number, arrived[at + 2] as string, arrived[at + 3]);
  }
}
