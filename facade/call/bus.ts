// Where the events of the call protocol travel.

import { messageOf } from "../border/text.js";
import type { CallError } from "../errors.js";
import { logger } from "../logging.js";
import { CALL_EVENT_TYPES, type CallEvents, type CallEventType } from "./events.js";
import { answeredBy, readEvent } from "./incoming.js";
import {
  isConnected,
  leavesProcess,
  neverRejects,
  onLoss,
  onMalformed,
  paces,
  type Server,
  whileServing,
} from "./remote.js";
import { soon } from "./soon.js";

type Listener<T extends CallEventType> = (payload: CallEvents[T]) => unknown;
type Listeners = { [T in CallEventType]: readonly Listener<T>[] };
/** What a map itself does with the events that answer its requests. */
export type Receiver = { [T in Exclude<CallEventType, "call.requested">]: Listener<T> } & {
  /** An answer to this request did not fit `CallEventMap`. */
  malformed(requestId: string): void;
};

const log = logger("call");

/** The listener as the bus calls it: a registration of its own, even if the same function is registered twice, whose errors
 * are logged. They are not the concern of the sender, and must not end the process. */
function guarded<T extends CallEventType>(type: T, listener: Listener<T>): Listener<T> {
  const failed = (error: unknown) => log.error(`A listener for ${type} failed: ${messageOf(error)}`, {});
  const isQuiet = neverRejects in listener;
  return (payload) => {
    try {
      const result = listener(payload);
      if (!isQuiet && result instanceof Promise) result.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  };
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
  /** Where streams are paced: to be told of each so-many-th event of a stream that was read. */
  readonly paces: ((requestId: string, read: number) => void) | undefined;
  /** Somebody works on calls. Returns a function that says that none are left. */
  serving(server: Server): () => void;
  /** Events that were none of the protocol. */
  readonly dropped: DroppedEvents;
}

/** How many events of each type did not fit `CallEventMap`. */
export type DroppedEvents = Record<CallEventType, number>;

function noneDropped(): DroppedEvents {
  return Object.fromEntries(CALL_EVENT_TYPES.map((type) => [type, 0])) as DroppedEvents;
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
  /** What does not come over a wire is not looked at. */
  readonly dropped = noneDropped();

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  publish<T extends CallEventType>(type: T, payload: CallEvents[T]): void {
    const listeners = this.#listeners[type];
    for (let i = 0; i < listeners.length; i++) (listeners[i] as Listener<T>)(payload);
    // The map comes last: who watches sees the end of a call before the ends that follow from it.
    if (type !== "call.requested") this.#receiver[type as Exclude<T, "call.requested">](payload as never);
  }

  listen<T extends CallEventType>(type: T, listener: Listener<T>): () => void {
    const listeners = this.#listeners as Record<T, readonly Listener<T>[]>;
    const registered = guarded(type, listener);
    listeners[type] = [...listeners[type], registered];
    return () => {
      listeners[type] = listeners[type].filter((each) => each !== registered);
    };
  }

  receive(): void {
    // Nobody else can reach this bus, so there is no reason to stop.
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
    return this.#listen(type, guarded(type, listener));
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
