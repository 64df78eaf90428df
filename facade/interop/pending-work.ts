// Native work that was started and has not ended. Everything about waiting for it is here: numbers, aborts, staying
// alive, and starts that fail.

import { CallError, invalid } from "../errors.js";
import { onAbort } from "./abort.js";
import { inThisContext } from "./host.js";
import { Inbox, type Receiver } from "./inbox.js";
import { keepAlive, letGo } from "./keep-alive.js";
import { messageOf } from "./text.js";
import { TransientMap } from "./transient-map.js";

/** What waits. One of the ends is called, once. */
export interface Waiter {
  /** Does the work. It is not collected before the end. */
  readonly owner: object;
  done?(value: unknown, mayHoldBytes: boolean): void;
  failed?(error: CallError): void;
  ended?(): void;
  ready?(): void;
  /** Something on the way. */
  event?: ((value: unknown, mayHoldBytes: boolean) => void) | undefined;
}

/** Work with one result. */
interface Work<Id> {
  /** Does the work. It is not collected before the end. */
  readonly owner: object;
  readonly signal?: AbortSignal | undefined;
  /** Starts it. What it throws is the end. */
  start(id: Id): void;
  /** The signal was aborted. The native side still answers. */
  cancel?(id: Id): void;
  /** Something on the way. */
  event?: ((value: never) => void) | undefined;
}

interface Entry {
  readonly waiter: Waiter;
  /** Stops listening to the signal. */
  release: (() => void) | undefined;
}

export class PendingWork<Id extends number | string> implements Receiver {
  readonly #entries = new TransientMap<Id, Entry>();
  readonly #newId: () => Id;
  readonly #inbox = new Inbox(this);

  /** `newId` makes the numbers or names of work; `receiver` gets what is for no work in particular. */
  constructor(
    newId: () => Id,
    public receiver: Receiver = {},
  ) {
    this.#newId = newId;
  }

  /** Given to whatever does the work. */
  get mailbox() {
    return this.#inbox.mailbox;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Takes everything that the native side has sent. */
  drain(): void {
    this.#inbox.drain();
  }

  /** An id that no work has. */
  newId(): Id {
    let id = this.#newId();
    while (this.#entries.has(id)) id = this.#newId();
    return id;
  }

  /** Starts work and waits for its result. */
  run<T>(work: Work<Id>): Promise<T> {
    return new Promise((resolve, reject) => {
      const { owner, signal } = work;
      const id = this.newId();
      const event = work.event as Waiter["event"];
      this.wait(id, {
        owner,
        done: resolve as (value: unknown) => void,
        failed: reject,
        event: event && inThisContext(event),
      });
      try {
        this.watch(id, signal, () => work.cancel?.(id));
        work.start(id);
      } catch (error) {
        this.failed(id, refusal(error));
      }
    });
  }

  /** Waits for messages about work. */
  wait(id: Id, waiter: Waiter): void {
    this.#entries.set(id, { waiter, release: undefined });
    if (this.#entries.size === 1) keepAlive(this);
  }

  /** Calls back if the signal is aborted before the work has ended. */
  watch(id: Id, signal: AbortSignal | undefined, aborted: () => void): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined && signal != null) entry.release = onAbort(signal, aborted);
  }

  has(id: Id): boolean {
    return this.#entries.has(id);
  }

  /** Waits no longer. */
  forget(id: Id): Waiter | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#entries.delete(id);
    entry.release?.();
    if (this.#entries.size === 0) letGo(this);
    return entry.waiter;
  }

  done(id: Id, value: unknown, mayHoldBytes = true): void {
    this.forget(id)?.done?.(value, mayHoldBytes);
  }

  failed(id: Id, error: CallError): void {
    this.forget(id)?.failed?.(error);
  }

  ended(id: Id): void {
    this.forget(id)?.ended?.();
  }

  ready(id: Id): void {
    this.forget(id)?.ready?.();
  }

  event(id: Id, value: unknown, mayHoldBytes = true): void {
    this.#entries.get(id)?.waiter.event?.(value, mayHoldBytes);
  }

  asked(to: unknown, value: unknown, mayHoldBytes = true): void {
    this.receiver.asked?.(to, value, mayHoldBytes);
  }

  aborted(to: unknown): void {
    this.receiver.aborted?.(to);
  }

  goOn(to: unknown): void {
    this.receiver.goOn?.(to);
  }

  changed(what: unknown, value: unknown): void {
    this.receiver.changed?.(what, value);
  }
}

const LARGEST_NUMBER = 0xffffffff;

/** Numbers, as the native side takes them. */
export function numbers(): () => number {
  let last = 0;
  return () => {
    last = last === LARGEST_NUMBER ? 1 : last + 1;
    return last;
  };
}

/** Why work was not started. The binding refuses an argument of the wrong type by an error of its own. */
function refusal(error: unknown): CallError {
  if (error instanceof CallError) return error;
  return invalid(`The call cannot be made: an argument has the wrong type (${messageOf(error)})`);
}
