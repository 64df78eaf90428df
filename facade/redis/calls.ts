// Calls of a connection: which worker gets each, and what becomes of those that it does not take.

import type { CallEventType } from "../call/events.js";
import { WINDOW } from "../call/pacing.js";
import { PendingRequestMap } from "../call/pending-request-map.js";
import { knows, paces } from "../call/remote.js";
import { wireText } from "../call/wire-value.js";
import { CallError, failed, InfrastructureErrorCode } from "../errors.js";
import { coalesced } from "../interop/event-loop.js";
import { isRecord } from "../interop/options.js";
import { callAt } from "../interop/timer.js";
import { Callers } from "./callers.js";
import { ALL, type Frame, type Publisher, Wire } from "./wire.js";
import { Workers } from "./workers.js";

/** A call of ours without a final answer. */
interface Asked {
  readonly text: string;
  readonly operationId: string;
  /** Workers that did not take it. */
  readonly refused: Set<string>;
  worker?: string | undefined;
  /** No worker is known yet. Ends the wait for one. */
  stopWaiting?: (() => void) | undefined;
}

/** How long workers may take to say that they serve an operation, in milliseconds. */
const LOOK_FOR = 1_000;
/** A worker that says so has not begun: another may. */
const REFUSALS: readonly unknown[] = ["closing", "overloaded"];

export class Calls {
  readonly #link: Publisher;
  /** Whether there is a connection. */
  readonly #isConnected: () => boolean;
  readonly #wire = new Wire((type, frame) => this.#send(type, frame));
  readonly map = new PendingRequestMap(this.#wire);
  readonly #asked = new Map<string, Asked>();
  readonly #workers = new Workers();
  /** The workers that have calls of ours. */
  readonly #watched = new Callers({
    ask: (worker) => this.#link.publish(worker, "", worker),
    serves: (requestId) => this.map[knows](requestId),
    abort: (requestId) => this.#fail(requestId, peerLost()),
  });

  constructor(link: Publisher, isConnected: () => boolean) {
    this.#link = link;
    this.#isConnected = isConnected;
    this.#wire[paces] = (requestId, read) => {
      const worker = this.#asked.get(requestId)?.worker;
      if (worker !== undefined) link.say(worker, "hub.credit", "", { requestId, upTo: read + WINDOW });
    };
  }

  get isOver(): boolean {
    return this.#wire.isOver;
  }

  /** Asks who serves what. */
  readonly ask = coalesced(() => this.#link.say(ALL, "hub.who", "", {}));

  /** What workers say meanwhile is missed. */
  lost(reason: CallError): void {
    this.#workers.clear();
    this.#wire.lost(reason);
  }

  shut(reason: CallError): void {
    this.#wire.shut(reason);
    this.#watched.stop();
  }

  #send(type: CallEventType, frame: Frame): void {
    const requestId = String(frame.payload.requestId);
    if (type === "call.requested") {
      const text = wireText({ ...frame, from: this.#link.mine }, `The event ${type} cannot be sent`) ?? "";
      const asked: Asked = { text, operationId: String(frame.payload.operationId), refused: new Set() };
      this.#asked.set(requestId, asked);
      this.#route(requestId, asked);
    } else {
      const worker = this.#forget(requestId)?.worker;
      if (worker !== undefined) this.#link.say(worker, type, "", frame.payload);
    }
    this.#link.changed();
  }

  #route(requestId: string, asked: Asked, error?: CallError): void {
    const { operationId, text, refused } = asked;
    const worker = this.#workers.choose(operationId, refused);
    if (worker !== undefined) {
      asked.stopWaiting?.();
      asked.stopWaiting = undefined;
      asked.worker = worker;
      this.#watched.requested(requestId, { from: worker });
      this.#link.publish(worker, text, requestId);
    } else if (error !== undefined) {
      this.#fail(requestId, error);
    } else {
      this.ask();
      const fail = () => this.#fail(requestId, this.#noWorker(operationId));
      asked.stopWaiting ??= callAt(Date.now() + LOOK_FOR, fail, true);
    }
  }

  #noWorker(operationId: string): CallError {
    if (this.#isConnected()) return noWorker(operationId);
    return failed(`The call of ${operationId} was not sent: there is no connection to Redis`, {
      operationId,
      reason: "not-sent",
      delivery: "none",
    });
  }

  /** The worker did not take the call: another may. */
  #routeAgain(requestId: string, asked: Asked, error?: CallError): void {
    const { worker } = asked;
    if (worker !== undefined) {
      asked.refused.add(worker);
      this.#workers.release(worker);
      asked.worker = undefined;
    }
    this.#route(requestId, asked, error);
  }

  #forget(requestId: string): Asked | undefined {
    const asked = this.#asked.get(requestId);
    if (asked === undefined) return undefined;
    this.#asked.delete(requestId);
    asked.stopWaiting?.();
    if (asked.worker !== undefined) this.#workers.release(asked.worker);
    return asked;
  }

  learned(worker: string, { operations }: Frame["payload"]): void {
    this.#workers.serves(worker, operations);
    this.#routeWaiting();
  }

  /** Not at the first word of a worker: the others are about to answer too, and are to have their share. */
  readonly #routeWaiting = coalesced(() => {
    for (const [requestId, asked] of this.#asked) {
      if (asked.stopWaiting !== undefined) this.#route(requestId, asked);
    }
  });

  received(type: CallEventType, frame: Frame): void {
    const { payload } = frame;
    const requestId = String(payload.requestId);
    const asked = this.#asked.get(requestId);
    const details: unknown = payload.details;
    if (asked !== undefined && type === "call.error" && isRecord(details)) {
      const { reason, delivery } = details;
      if (delivery === "none" && REFUSALS.includes(reason)) {
        const error = new CallError(String(payload.code), String(payload.message), details);
        this.#routeAgain(requestId, asked, error);
        return;
      }
    }
    this.#wire.deliver(type, frame);
    if (this.map[knows](requestId)) return;
    // `call` of a subscription takes its first event only; the sender must stop.
    const worker = this.#forget(requestId)?.worker;
    if (type === "call.responded" && worker !== undefined)
      this.#link.say(worker, "call.aborted", "", { requestId });
  }

  /** A request of ours that could not be published, or has no receiver. */
  notSent(requestId: string, error: CallError): void {
    const asked = this.#asked.get(requestId);
    if (asked === undefined) return;
    if (error.code === InfrastructureErrorCode.OPERATION_NOT_FOUND) {
      if (asked.worker !== undefined) this.#workers.gone(asked.worker);
      this.#routeAgain(requestId, asked);
    } else this.#fail(requestId, error);
  }

  /** No one listens to the channel of a worker. Returns how many calls it had. */
  gone(worker: string): number {
    this.#workers.gone(worker);
    return this.#watched.gone(worker);
  }

  #fail(requestId: string, { code, message, details }: CallError): void {
    this.#forget(requestId);
    const payload = { requestId, code, message, details };
    this.#wire.deliver("call.error", { type: "call.error", id: "", payload });
    this.#link.changed();
  }
}

function noWorker(operationId: string): CallError {
  return new CallError(
    InfrastructureErrorCode.OPERATION_NOT_FOUND,
    `Operation not found: ${operationId} (no worker on this Redis serves it)`,
    { operationId, reason: "no-worker", delivery: "none" },
  );
}

function peerLost(): CallError {
  return failed(
    "The worker has disappeared while an answer was awaited. The operation may have been carried out, in part or in full",
    { reason: "worker-lost", delivery: "unknown" },
  );
}
