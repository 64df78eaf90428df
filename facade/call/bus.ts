// Where the events of the call protocol travel.

import type { CallError } from "../errors.js";
import { fromSystemTime } from "../interop/clock.js";
import { coalesced } from "../interop/event-loop.js";
import { onNextTurn } from "../interop/host.js";
import { guarded, Listeners } from "../interop/listeners.js";
import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import { CALL_EVENT_TYPES, type CallEvents, type CallEventType } from "./events.js";
import { answeredBy, readEvent } from "./incoming.js";
import {
  isConnected,
  leavesProcess,
  onLoss,
  onMalformed,
  paces,
  type Server,
  whileServing,
} from "./remote.js";

type Listener<T extends CallEventType> = (payload: CallEvents[T]) => unknown;
/** What a map itself does with the events that answer its requests. */
export type Receiver = { [T in Exclude<CallEventType, "call.requested">]: Listener<T> } & {
  /** An answer to this request did not fit `CallEventMap`. */
  malformed(requestId: string): void;
};

const log = logger("call");

/** Errors of listeners are logged. They are not the concern of the sender, and must not end the process. */
function logFailure(type: CallEventType): (error: unknown) => void {
  return (error) => log.error(`A listener for ${type} failed: ${messageOf(error)}`, {});
}

/** Publishes events and hands them to listeners. */
export interface Bus {
  publish<T extends CallEventType>(type: T, payload: CallEvents[T]): void;
  /** Returns a function that removes the listener. */
  listen<T extends CallEventType>(type: T, listener: Listener<T>): () => void;
  /** The map waits for answers from now on, or no longer. */
  receive(isWaiting: boolean): void;
  /** Whether events leave the process. */
  readonly isRemote: boolean;
  /** Where streams are paced: called with how many events of a stream were read, now and then. */
  readonly paces: ((requestId: string, read: number) => void) | undefined;
  /** Registers what works on calls. Returns a function to call when none are left. */
  serving(server: Server): () => void;
  /** Events that were none of the protocol. */
  readonly dropped: DroppedEvents;
}

/** How many events of each type did not fit `CallEventMap`. */
export type DroppedEvents = Record<CallEventType, number>;

function noneDropped(): DroppedEvents {
  return Object.fromEntries(CALL_EVENT_TYPES.map((type) => [type, 0])) as DroppedEvents;
}

/** The bus of a map that is not shared: plain function calls, without an event object in between. */
export class LocalBus implements Bus {
  readonly #listeners = Object.fromEntries(
    CALL_EVENT_TYPES.map((type) => [type, new Listeners<never>(logFailure(type))]),
  ) as unknown as { readonly [T in CallEventType]: Listeners<CallEvents[T]> };
  readonly #receiver: Receiver;
  /** What does not come over a wire is not validated. */
  readonly dropped = noneDropped();

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  publish<T extends CallEventType>(type: T, payload: CallEvents[T]): void {
    this.#listeners[type].notify(payload);
    // The map comes last: who watches sees the end of a call before the ends that follow from it.
    if (type !== "call.requested") this.#receiver[type as Exclude<T, "call.requested">](payload as never);
  }

  listen<T extends CallEventType>(type: T, listener: Listener<T>): () => void {
    return this.#listeners[type].add(listener);
  }

  receive(): void {
    // Nothing else can reach this bus, so there is no reason to stop.
  }

  readonly isRemote = false;
  readonly paces = undefined;

  serving(): () => void {
    return () => {};
  }
}

/** An `EventTarget`, perhaps one that bridges to other processes. An idle map does not listen to it. */
export class EventTargetBus implements Bus {
  readonly #target: EventTarget;
  readonly #receiver: Receiver;
  readonly #lost: (reason: CallError) => void;
  readonly dropped = noneDropped();
  #lastDropped: Event | undefined;
  #isWaiting = false;
  #listening: (() => void)[] = [];
  readonly #stopSoon = coalesced(() => {
    if (this.#isWaiting) return;
    for (const stop of this.#listening.splice(0)) stop();
  }, onNextTurn);

  constructor(target: EventTarget, receiver: Receiver, lost: (reason: CallError) => void) {
    this.#target = target;
    this.#receiver = receiver;
    this.#lost = lost;
  }

  publish<T extends CallEventType>(type: T, payload: CallEvents[T]): void {
    this.#target.dispatchEvent(new CustomEvent(type, { detail: { type, id: "", payload } }));
  }

  listen<T extends CallEventType>(type: T, listener: Listener<T>): () => void {
    return this.#listen(type, guarded(listener, logFailure(type)));
  }

  #listen<T extends CallEventType>(
    type: T,
    listener: Listener<T>,
    malformed?: Receiver["malformed"],
  ): () => void {
    const receive = (event: Event) => {
      const { detail } = event as CustomEvent<unknown>;
      const payload = readEvent(type, detail);
      if (payload !== undefined) {
        if (this.isRemote && "deadline" in payload)
          payload.deadline = fromSystemTime(payload.deadline as number);
        listener(payload);
        return;
      }
      this.#drop(type, event);
      const requestId = malformed && answeredBy(type, detail);
      if (requestId !== undefined) malformed?.(requestId);
    };
    this.#target.addEventListener(type, receive);
    return () => this.#target.removeEventListener(type, receive);
  }

  /** One event may have several listeners. */
  #drop(type: CallEventType, event: Event): void {
    if (this.#lastDropped === event) return;
    this.#lastDropped = event;
    this.dropped[type] += 1;
  }

  receive(isWaiting: boolean): void {
    this.#isWaiting = isWaiting;
    if (!isWaiting) this.#stopSoon();
    if (!isWaiting || this.#listening.length > 0) return;
    const { malformed, ...receiver } = this.#receiver;
    for (const type of Object.keys(receiver) as (keyof typeof receiver)[]) {
      this.#listening.push(this.#listen(type, receiver[type] as Listener<typeof type>, malformed));
    }
    if (!isConnected(this.#target)) return;
    this.#listening.push(this.#target[onLoss](this.#lost));
    const stop = this.#target[onMalformed]?.(malformed);
    if (stop !== undefined) this.#listening.push(stop);
  }

  get isRemote(): boolean {
    return leavesProcess in this.#target;
  }

  get paces(): ((requestId: string, read: number) => void) | undefined {
    return isConnected(this.#target) ? this.#target[paces] : undefined;
  }

  serving(server: Server): () => void {
    return isConnected(this.#target) ? this.#target[whileServing](server) : () => {};
  }
}
