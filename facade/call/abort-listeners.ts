// Many calls, one signal: a user who gives one signal to a thousand calls should not see Node's warning about a
// thousand listeners.

interface Listening {
  readonly callbacks: Set<() => void>;
  readonly notify: () => void;
}

const listening = new WeakMap<AbortSignal, Listening>();

/** Calls back when a signal is aborted. Returns a function that takes it back. */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const { callbacks, notify } = listening.get(signal) ?? listen(signal);
  callbacks.add(callback);
  return () => {
    if (!callbacks.delete(callback) || callbacks.size > 0) return;
    signal.removeEventListener("abort", notify);
    listening.delete(signal);
  };
}

function listen(signal: AbortSignal): Listening {
  const callbacks = new Set<() => void>();
  const notify = () => {
    listening.delete(signal);
    // Those that take themselves back meanwhile are not called; none is added to a signal that is aborted.
    for (const callback of callbacks) callback();
  };
  signal.addEventListener("abort", notify, { once: true });
  const made = { callbacks, notify };
  listening.set(signal, made);
  return made;
}
