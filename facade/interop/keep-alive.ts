// Native work keeps no process alive, and native code holds its JavaScript side weakly. Code that waits for such work
// needs both: an `await` at the top of a program would end the program, and one that is reachable only from what it
// waits for would be collected with it, and never go on.

import { setInterval } from "node:timers";

/** The longest period that a timer takes. */
const LONGEST_INTERVAL = 0x7fffffff;

const waiting = new Set<object>();
let anchor: NodeJS.Timeout | undefined;

/** Keeps the process alive, and `who` from being collected, until `letGo`. */
export function keepAlive(who: object): void {
  waiting.add(who);
  if (waiting.size > 1) return;
  anchor ??= setInterval(() => {}, LONGEST_INTERVAL);
  anchor.ref();
}

export function letGo(who: object): void {
  if (waiting.delete(who) && waiting.size === 0) anchor?.unref();
}

/** Keeps the process alive until the work is over. */
export async function keepAliveDuring<T>(work: Promise<T>): Promise<T> {
  keepAlive(work);
  try {
    return await work;
  } finally {
    letGo(work);
  }
}
