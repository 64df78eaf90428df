/** As long as `setInterval` goes. */
const RARELY = 2 ** 31 - 1;

let timer: NodeJS.Timeout | undefined;

/** Whoever has requests under way. Held here: native code refers to them weakly, and an `await` that is
 * reachable only from the thing that it waits for would be collected with it, and never go on. */
const waiting = new Set<object>();

/** Native work does not keep the process alive. Somebody who awaits its answer wants it to be: an `await`
 * at the top of a program would otherwise end it. */
export function beginWaiting(who: object): void {
  waiting.add(who);
  timer ??= setInterval(() => {}, RARELY);
  timer.ref?.();
}

export function endWaiting(who: object): void {
  waiting.delete(who);
  if (waiting.size === 0) timer?.unref?.();
}
