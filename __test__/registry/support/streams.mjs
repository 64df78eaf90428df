// Handlers to subscribe to that count what happens to them, and consumers.

export { collect, settled } from "../../support/waiting.mjs";

/** `"waiting"` if the promise takes longer than this; else what it resolves to. */
export function within(promise, milliseconds = 50) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, milliseconds, "waiting");
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** An endless handler that counts its starts, its yields and its ends. */
export function counting() {
  const counts = { started: 0, pulled: 0, cleaned: 0 };
  const handler = async function* () {
    counts.started++;
    try {
      for (;;) {
        counts.pulled++;
        yield counts.pulled;
      }
    } finally {
      counts.cleaned++;
    }
  };
  return { counts, handler };
}

/** A handler whose generator yields one value and then waits until it is released. */
export function waiting() {
  const state = { cleaned: 0, release: undefined };
  const handler = async function* () {
    try {
      yield "first";
      await new Promise((resolve) => {
        state.release = resolve;
      });
      yield "second";
    } finally {
      state.cleaned++;
    }
  };
  return { state, handler };
}

/** A handler that is told apart as a generator function but makes its iterator by hand. */
export function byHand(iterator) {
  const make = (...all) => ({ [Symbol.asyncIterator]: () => iterator(...all) });
  return Object.assign(make, { [Symbol.toStringTag]: "AsyncGeneratorFunction" });
}
