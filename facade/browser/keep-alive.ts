// The counterpart of `interop/keep-alive.ts`: a page lives until it is closed, but what is waited for must not be collected,
// and some who use this entry do have a process that could end.

const waiting = new Set<object>();
/** The longest period that a timer takes. */
const LONGEST_INTERVAL = 0x7fffffff;
let anchor: ReturnType<typeof setInterval> | undefined;

export function keepAlive(who: object): void {
  waiting.add(who);
  anchor ??= setInterval(() => {}, LONGEST_INTERVAL);
}

export function letGo(who: object): void {
  if (!waiting.delete(who) || waiting.size > 0) return;
  clearInterval(anchor);
  anchor = undefined;
}

export async function keepAliveDuring<T>(work: Promise<T>): Promise<T> {
  keepAlive(work);
  try {
    return await work;
  } finally {
    letGo(work);
  }
}
