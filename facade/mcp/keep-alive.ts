/** As long as `setInterval` goes. */
const RARELY = 2 ** 31 - 1;

let timer: NodeJS.Timeout | undefined;
let pending = 0;

/** Native work does not keep the process alive. Somebody who awaits its answer wants it to be: an `await`
 * at the top of a program would otherwise end it. */
export function beginWaiting(): void {
  pending += 1;
  if (pending > 1) return;
  timer ??= setInterval(() => {}, RARELY);
  timer.ref?.();
}

export function endWaiting(): void {
  pending -= 1;
  if (pending === 0) timer?.unref?.();
}
