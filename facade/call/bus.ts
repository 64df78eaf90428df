// Where the events of the call protocol travel.

import type { CallError } from "../errors.js";
import type { CallEvents, CallEventType } from "./events.js";
import { isLossy, onLoss } from "./loss.js";
import { soon } from "./soon.js";

type Listener<T extends CallEventType> = (payload: CallEvents[T]) => unknown;
type Listeners = { [T in CallEventType]: readonly Listener<T>[] };
/** What a map itself does with the events that answer its requests. */
export type Receiver = { [T in Exclude<CallEventType, "call.requested">]: Listener<T> };

/** Publishes events and hands them to listeners. */
export interface Bus {
  publish<T extends CallEventType>(type: T, payload: CallEvents[T]): void;
  /** Returns a function that removes the listener. */
  listen<T extends CallEventType>(type: T, listener: Listener<T>): () => void;
  /** The map waits for answers from now on, or no longer. */
  receive(isWaiting: boolean): void;
  /** Calls back when events may have been missed. Returns a function that takes it back. */
  onLoss(listener: (reason: CallError) => void): () => void;
}

/** The bus of a map that nobody shares: plain function calls, without an event object in between. */
export class LocalBus implements Bus {
  /** Replaced, never changed, so that a list can be gone through while listeners come and go. */
  readonly #listeners: Listeners = {
    "call.requested": [],
    "call.responded": [],
    "call.completed": [],
    "call.aborted": [],
    "call.error": [],
  };
  readonly #receiver: Receiver;

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  publish<T extends CallEventType>(type: T, payload: CallEvents[T]): void {
    const listeners = this.#listeners[type];
    for (let i = 0; i < listeners.length; i++) {
      try {
        (listeners[i] as Listener<T>)(payload);
      } catch (error) {
        // As an EventTarget does: the other listeners are served, and the error surfaces by itself.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
    // The map comes last: who watches sees the end of a call before the ends that follow from it.
    if (type !== "call.requested") this.#receiver[type as keyof Receiver](payload as never);
  }

  listen<T extends CallEventType>(type: T, listener: Listener<T>): () => void {
    const listeners = this.#listeners as Record<T, readonly Listener<T>[]>;
    // A registration of its own, even if the same function is registered twice.
    const registered: Listener<T> = (payload) => listener(payload);
    listeners[type] = [...listeners[type], registered];
    return () => {
      listeners[type] = listeners[type].filter((each) => each !== registered);
    };
  }

  receive(): void {
    // Nobody else can reach this bus, so there is no reason to stop.
  }

  onLoss(): () => void {
    return () => {};
  }
}

/** An `EventTarget`, perhaps one that bridges to other processes. An idle map does not listen to it. */
export class EventTargetBus implements Bus {
  readonly #target: EventTarget;
  readonly #receiver: Receiver;
  readonly #lost: (reason: CallError) => void;
  #isWaiting = false;
  #listening: (() => void)[] = [];
  readonly #stopSoon = soon(() => {
    if (this.#isWaiting) return;
    for (const stop of this.#listening.splice(0)) stop();
  });

  constructor(target: EventTarget, receiver: Receiver, lost: (reason: CallError) => void) {
    this.#target = target;
    this.#receiver = receiver;
    this.#lost = lost;
  }

  publish<T extends CallEventType>(type: T, payload: CallEvents[T]): void {
    this.#target.dispatchEvent(new CustomEvent(type, { detail: { type, id: "", payload } }));
  }

  listen<T extends CallEventType>(type: T, listener: Listener<T>): () => void {
    const receive = (event: Event) => {
      const payload = payloadOf((event as CustomEvent<unknown>).detail);
      if (payload !== undefined) listener(payload as CallEvents[T]);
    };
    this.#target.addEventListener(type, receive);
    return () => this.#target.removeEventListener(type, receive);
  }

  receive(isWaiting: boolean): void {
    this.#isWaiting = isWaiting;
    if (!isWaiting) this.#stopSoon();
    if (!isWaiting || this.#listening.length > 0) return;
    for (const type of Object.keys(this.#receiver) as (keyof Receiver)[]) {
      this.#listening.push(this.listen(type, this.#receiver[type] as Listener<typeof type>));
    }
    this.#listening.push(this.onLoss(this.#lost));
  }

  onLoss(listener: (reason: CallError) => void): () => void {
    return isLossy(this.#target) ? this.#target[onLoss](listener) : () => {};
  }
}

/** The payload of an event's `detail`, which is `{ type, id, payload }` or the bare payload. Nothing if it
 * cannot be one: whatever arrives over a wire is looked at before it is believed. */
export function payloadOf(detail: unknown): { requestId: string } | undefined {
  const inner =
    isObject(detail) && isObject(detail.payload) && !("requestId" in detail) ? detail.payload : detail;
  return isObject(inner) && typeof inner.requestId === "string"
    ? (inner as { requestId: string })
    : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
