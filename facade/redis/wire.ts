// Messages between connections on one Redis.

import type { CallEventType } from "../call/events.js";
import { WireTarget } from "../call/wire-target.js";
import type { CallError } from "../errors.js";

/** What is published: an event of the call protocol, or a word between connections. */
export interface Frame {
  readonly type: string;
  readonly id: string;
  readonly payload: Record<string, unknown>;
  /** The channel for answers. Of `hub.serves`: the channel for calls. */
  readonly from?: unknown;
}

/** How a side publishes. */
export interface Publisher {
  /** The channel for answers to this connection. */
  readonly mine: string;
  publish(channel: string, text: string, requestId?: string): void;
  say(channel: string, type: string, id: string, payload: object): void;
  /** Whether calls are pending may have changed. */
  changed(): void;
}

/** The channel that all connections listen to. */
export const ALL = "call.workers";

/** One side of the call protocol. */
export class Wire extends WireTarget {
  protected readonly what = "the connection to Redis";
  readonly #send: (type: CallEventType, frame: Frame) => void;

  constructor(send: (type: CallEventType, frame: Frame) => void) {
    super();
    this.#send = send;
  }

  protected override transmit(type: string, detail: unknown): void {
    this.#send(type as CallEventType, detail as Frame);
  }

  deliver(type: CallEventType, detail: unknown): void {
    this.arrived(type, detail);
  }

  lost(reason: CallError): void {
    this.missed(reason);
  }

  shut(reason: CallError): void {
    this.end(reason);
  }
}
