// Many calls may share one signal. Node warns about the eleventh listener on it, so ours share one.

/** Those who want to know about one signal, behind one listener. */
class Watch {
  readonly #signal: AbortSignal;
  readonly #callbacks = new Set<() => void>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  readonly #onAbort = (): void => {
    watches.delete(this.#signal);
    for (const callback of this.#callbacks) callback();
  };

  add(callback: () => void): void {
    this.#callbacks.add(callback);
  }

  remove(callback: () => void): void {
    if (!this.#callbacks.delete(callback) || this.#callbacks.size > 0) return;
    if (watches.get(this.#signal) === this) watches.delete(this.#signal);
    this.#signal.removeEventListener("abort", this.#onAbort);
  }
}

const watches = new WeakMap<AbortSignal, Watch>();

/** Calls back when the signal is aborted. The function that it returns ends that. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => {};
  let watch = watches.get(signal);
  if (watch === undefined) {
    watch = new Watch(signal);
    watches.set(signal, watch);
  }
  watch.add(callback);
  const added = watch;
  return () => added.remove(callback);
}
