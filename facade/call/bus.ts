// Where the events of the call protocol travel.

import type { CallError } from "../errors.js";
import { CALL_EVENT_TYPES, type CallEventMapValue, type CallEventType } from "./events.js";
import { isLossy, onLoss } from "./loss.js";

type Listener<T extends CallEventType> = (payload: CallEventMapValue[T]) => unknown;

/** Publishes events and hands them to listeners. */
export interface Bus {
  publish<T extends CallEventType>(type: T, payload: CallEventMapValue[T]): void;
  /** Returns a function that removes the listener. */
  listen<T extends CallEventType>(type: T, listener: Listener<T>): () => void;
  /** Listens for a loss of events, where there can be one. */
  listenForLoss?(listener: (reason: CallError) => void): () => void;
}

/** The bus of a map that nobody shares: plain function calls, without an event object in between. */
export function localBus(): Bus {
  const listeners = new Map<CallEventType, Set<Listener<never>>>(
    CALL_EVENT_TYPES.map((type) => [type, new Set()]),
  );
  return {
    publish(type, payload) {
      for (const listener of listeners.get(type) ?? []) {
        try {
          (listener as Listener<typeof type>)(payload);
        } catch (error) {
          // As an EventTarget does: the other listeners are served, and the error surfaces by itself.
          queueMicrotask(() => {
            throw error;
          });
        }
      }
    },
    listen(type, listener) {
      listeners.get(type)?.add(listener as Listener<never>);
      return () => listeners.get(type)?.delete(listener as Listener<never>);
    },
  };
}

/** An `EventTarget`, perhaps one that bridges to other processes. */
export function eventTargetBus(target: EventTarget): Bus {
  return {
    publish(type, payload) {
      target.dispatchEvent(new CustomEvent(type, { detail: { type, id: "", payload } }));
    },
    listen(type, listener) {
      const receive = (event: Event) => {
        const payload = payloadOf((event as CustomEvent<unknown>).detail);
        if (payload !== undefined) listener(payload as CallEventMapValue[typeof type]);
      };
      target.addEventListener(type, receive);
      return () => target.removeEventListener(type, receive);
    },
    ...(isLossy(target) && { listenForLoss: (listener) => target[onLoss](listener) }),
  };
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
