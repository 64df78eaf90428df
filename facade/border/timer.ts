/** The longest delay that `setTimeout` takes; a longer one would fire at once. */
const LONGEST = 2 ** 31 - 1;

/** Calls back at a time, in milliseconds since the epoch. Keeps no process alive. Returns how to cancel. */
export function callAt(time: number, callback: () => void): () => void {
  let timer: NodeJS.Timeout;
  const arm = () => {
    const left = time - Date.now();
    timer = left > LONGEST ? setTimeout(arm, LONGEST) : setTimeout(callback, Math.max(0, left));
    timer.unref?.();
  };
  arm();
  return () => clearTimeout(timer);
}
