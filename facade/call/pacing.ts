// Streams that go no faster than they are read, where both ends know the frames of type `hub.*`. The numbers are those of
// `crates/operations-websocket/src/limits.rs`.

import type { ResponseEnvelope } from "../envelope.js";
import { type CallError, failed } from "../errors.js";
import type { AnsweringMap } from "./call-handler.js";
import type { PendingRequestMap } from "./pending-request-map.js";
import { permitReleased, type Server, whileServing } from "./remote.js";

/** Events of a stream that may be on their way to its consumer, or wait for it. */
export const WINDOW = 128;

/** After so many more events were read, the other end is notified. */
export const REPORT_EVERY = WINDOW / 2;

interface Flow {
  sent: number;
  upTo: number;
  goOn: (() => void) | undefined;
}

/** The side of a call map that answers, which lets streams wait for their consumers. */
export class PacedAnswers implements AnsweringMap {
  readonly "call.aborted": PendingRequestMap["call.aborted"];
  readonly #map: PendingRequestMap;
  readonly #flows = new Map<string, Flow>();
  #freed: () => void = () => {};
  /** The current server of calls. */
  server: Server | undefined;
  /** The other end reports how far it has read. */
  isPaced = false;

  constructor(map: PendingRequestMap) {
    this.#map = map;
    this["call.aborted"] = map["call.aborted"];
  }

  /** The events of this request are paced. */
  begin(requestId: string): void {
    this.#flows.set(requestId, { sent: 0, upTo: WINDOW, goOn: undefined });
  }

  /** Events up to this number may be sent. */
  credit(requestId: string, upTo: number): void {
    const flow = this.#flows.get(requestId);
    if (flow === undefined || upTo <= flow.upTo) return;
    flow.upTo = upTo;
    if (flow.sent < upTo) this.#goOn(flow);
  }

  /** This request was abandoned, so it need not wait either. */
  aborted(requestId: string): void {
    const flow = this.#flows.get(requestId);
    if (flow !== undefined) this.#goOn(flow);
  }

  /** For a stream whose consumer has not read on: a promise of the moment when it has. */
  respond(requestId: string, output: ResponseEnvelope): Promise<void> | undefined {
    this.#map.respond(requestId, output);
    const flow = this.#flows.get(requestId);
    if (flow === undefined || !this.isPaced) return undefined;
    flow.sent += 1;
    if (flow.sent < flow.upTo) return undefined;
    return new Promise((resolve) => {
      flow.goOn = resolve;
    });
  }

  emitError(requestId: string, code: string, message: string, details?: unknown, isInternal?: boolean): void {
    this.#map.emitError(requestId, code, message, details, isInternal);
  }

  complete(requestId: string): void {
    this.#map.complete(requestId);
  }

  [whileServing](server: Server): () => void {
    this.server = server;
    const stop = this.#map[whileServing](server);
    return () => {
      this.server = undefined;
      stop();
    };
  }

  [permitReleased](requestId: string): void {
    this.aborted(requestId);
    this.#flows.delete(requestId);
    this.#freed();
  }

  /** Ends streams, which may have no end, and gives calls so many milliseconds to finish. */
  async finish(drain: number, isIdle: () => boolean): Promise<void> {
    this.server?.lost(ended());
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, drain);
      this.#freed = () => {
        if (!isIdle()) return;
        clearTimeout(timer);
        resolve();
      };
      this.#freed();
    });
    this.server?.giveUp(ended());
  }

  #goOn(flow: Flow): void {
    const { goOn } = flow;
    flow.goOn = undefined;
    goOn?.();
  }
}

function ended(): CallError {
  return failed("The call was ended: the side that serves it is closing", {
    reason: "closing",
    delivery: "unknown",
  });
}

/** A call that came too late to be served. */
export function closing(operationId: string): CallError {
  return failed(`The call of ${operationId} was refused: this side is about to close`, {
    operationId,
    reason: "closing",
    delivery: "none",
  });
}
