// An `EventTarget` whose events arrive at the other end of a wire: a port, a socket. Listeners at this end do not get them: a map
// that calls and serves on one wire would answer its own calls.

import { type CallError, failed } from "../errors.js";
import { Listeners } from "../interop/listeners.js";
import { type ConnectedTarget, leavesProcess, onLoss, paces, type Server, whileServing } from "./remote.js";

/** QuickJS and other bare engines have no `EventTarget`. What needs no wire works there, so loading must not fail. */
const Target =
  typeof EventTarget === "undefined"
    ? (class {
        constructor() {
          throw failed("A port or a socket cannot be used here, because this engine has no EventTarget", {
            reason: "unavailable",
            name: "EventTarget",
          });
        }
      } as never as typeof EventTarget)
    : EventTarget;

export abstract class WireTarget extends Target implements ConnectedTarget {
  readonly [leavesProcess] = true;
  [paces]?: (requestId: string, read: number) => void;
  readonly #losses = new Listeners<CallError>();
  readonly #servers = new Set<Server>();
  #isOver = false;

  /** Sends an event to the other end. Throws where it cannot be sent. */
  protected abstract transmit(type: string, detail: unknown): void;

  /** What the wire is called in messages. */
  protected abstract readonly what: string;

  get isOver(): boolean {
    return this.#isOver;
  }

  override dispatchEvent(event: Event): boolean {
    const { type } = event;
    if (!this.#isOver) {
      this.transmit(type, (event as CustomEvent<unknown>).detail);
    } else if (type === "call.requested") {
      // Other events would go to a peer that is gone.
      throw this.cannotSend(type);
    }
    return true;
  }

  /** Hands out an event of the other end. */
  protected arrived(type: string, detail: unknown): void {
    super.dispatchEvent(new CustomEvent(type, { detail }));
  }

  protected cannotSend(type: string): CallError {
    return failed(`The event ${type} cannot be sent: ${this.what} is closed, or does not open`, {
      reason: "peer-lost",
      delivery: "none",
    });
  }

  /** The other end cannot be reached any more. Calls that wait for it fail. */
  protected lose(): void {
    this.end(
      failed(
        `${capitalised(this.what)} was closed while an answer was awaited. The operation may have been carried out, in part or in full`,
        { reason: "peer-lost", delivery: "unknown" },
      ),
    );
  }

  protected end(reason: CallError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#losses.notify(reason);
    for (const server of [...this.#servers]) server.giveUp(reason);
  }

  /** Events may have been missed; the wire itself goes on. */
  protected missed(reason: CallError): void {
    this.#losses.notify(reason);
    for (const server of [...this.#servers]) server.lost(reason);
  }

  [onLoss](listener: (reason: CallError) => void): () => void {
    return this.#losses.add(listener);
  }

  [whileServing](server: Server): () => void {
    this.#servers.add(server);
    return () => this.#servers.delete(server);
  }
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
