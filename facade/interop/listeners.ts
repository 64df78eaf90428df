// Listeners, and how their errors are handled.

import { refusal } from "./options.js";
import { kindOf, quoted } from "./text.js";

export type Listener<T> = (event: T) => unknown;

/** On a listener whose promises never reject, so that they need not be watched. */
export const neverRejects: unique symbol = Symbol("@alkdev/operations: never rejects");

/**
 * The listener as it is called: a registration of its own, even if the same function is registered twice. What it
 * throws, or rejects with, goes to `failed`. Without `failed`, it surfaces by itself, as with an `EventTarget`.
 */
export function guarded<T>(listener: Listener<T>, failed?: (error: unknown) => void): Listener<T> {
  const isWatched = failed !== undefined && !(neverRejects in listener);
  const report = failed ?? rethrow;
  return (event) => {
    try {
      const result = listener(event);
      if (isWatched && result instanceof Promise) result.then(undefined, report);
    } catch (error) {
      report(error);
    }
  };
}

function rethrow(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** The listeners of one event. */
export class Listeners<T> {
  /** Replaced, never changed, so that it can be gone through while listeners come and go. */
  #all: readonly Listener<T>[] = [];
  readonly #failed: ((error: unknown) => void) | undefined;

  constructor(failed?: (error: unknown) => void) {
    this.#failed = failed;
  }

  get size(): number {
    return this.#all.length;
  }

  /** Returns a function that removes the listener. */
  add(listener: Listener<T>): () => void {
    const registered = guarded(listener, this.#failed);
    this.#all = [...this.#all, registered];
    return () => {
      this.#all = this.#all.filter((each) => each !== registered);
    };
  }

  notify(event: T): void {
    const listeners = this.#all;
    for (let i = 0; i < listeners.length; i++) (listeners[i] as Listener<T>)(event);
  }
}

/** The listeners of several events with names, as `on` adds them. */
export class NamedListeners<Name extends string, T> {
  readonly #byName: ReadonlyMap<Name, Listeners<T>>;

  constructor(...names: Name[]) {
    this.#byName = new Map(names.map((name) => [name, new Listeners<T>()]));
  }

  readonly on = (name: Name, listener: Listener<T>): (() => void) => {
    const listeners = this.#byName.get(name);
    if (listeners === undefined) {
      const names = [...this.#byName.keys()].join(", ");
      throw refusal("on: event", `must be one of ${names}, not ${quoted(name)}`);
    }
    if (typeof listener !== "function") {
      throw refusal("on: listener", `must be a function, not ${kindOf(listener)}`);
    }
    return listeners.add(listener);
  };

  notify(name: Name, event: T): void {
    this.#byName.get(name)?.notify(event);
  }
}
