/** The longest delay that `setTimeout` takes; a longer one would fire at once. */
const LONGEST = 2 ** 31 - 1;

/** Calls back at a time, in milliseconds since the epoch. Returns how to cancel. A promise that is settled by it keeps the
 * process alive; a server has other reasons to live. */
export function callAt(time: number, callback: () => void, keepsAlive = false): () => void {
  let timer: NodeJS.Timeout;
  const arm = () => {
    const left = time - Date.now();
    timer = left > LONGEST ? setTimeout(arm, LONGEST) : setTimeout(callback, Math.max(0, left));
    if (!keepsAlive) timer.unref?.();
  };
  arm();
  return () => clearTimeout(timer);
}
