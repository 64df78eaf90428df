// Many calls, one signal. Node warns about the eleventh listener on a signal, so ours share one.

import { refusal } from "./options.js";
import { quoted } from "./text.js";

interface Watch {
  readonly callbacks: Set<() => void>;
  readonly notify: () => void;
}

const watches = new WeakMap<AbortSignal, Watch>();
const NOTHING = () => {};

/** Calls back when the signal is aborted. Returns a function that takes it back. For a signal that is aborted already
 * nothing is called: check `signal.aborted` first. */
export function onAbort(signal: AbortSignal | null | undefined, callback: () => void): () => void {
  if (signal == null) return NOTHING;
  const { callbacks, notify } = watches.get(signal) ?? watch(signal);
  callbacks.add(callback);
  return () => {
    if (!callbacks.delete(callback) || callbacks.size > 0) return;
    signal.removeEventListener("abort", notify);
    watches.delete(signal);
  };
}

function watch(signal: AbortSignal): Watch {
  if (typeof signal.addEventListener !== "function" || typeof signal.removeEventListener !== "function") {
    throw refusal("signal", `must be an AbortSignal, not ${quoted(signal)}`);
  }
  const callbacks = new Set<() => void>();
  const notify = () => {
    watches.delete(signal);
    // Those that take themselves back meanwhile are not called; none is added to a signal that is aborted.
    for (const callback of callbacks) {
      try {
        callback();
      } catch (error) {
        // The others must learn of the abort all the same; the error surfaces as one of a listener does.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  };
  signal.addEventListener("abort", notify, { once: true });
  const made = { callbacks, notify };
  watches.set(signal, made);
  return made;
}
