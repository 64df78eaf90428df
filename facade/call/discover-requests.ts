// Requests for the list of operations at the other end of a wire: frames of type `hub.*` that belong together by an id.

import { CallError, failed } from "../errors.js";
import { newId } from "../interop/host.js";
import { isRecord, isString } from "../interop/options.js";
import { callAt } from "../interop/timer.js";

/** How long the other end may take to answer. */
const PATIENCE = 30_000;

interface PendingRequest {
  readonly parts: unknown[];
  resolve(operations: unknown[]): void;
  reject(error: CallError): void;
}

/** The requests that have no answer yet. */
export class DiscoverRequests {
  readonly #open = new Map<string, PendingRequest>();

  /** Requests a list. `send` is given the id of the request. */
  request(send: (id: string) => void): Promise<unknown[]> {
    const id = newId();
    const cancel = callAt(Date.now() + PATIENCE, () => this.failed(id, unanswered(SILENT)), true);
    return new Promise<unknown[]>((resolve, reject) => {
      this.#open.set(id, { parts: [], resolve, reject });
      send(id);
    }).finally(() => {
      cancel();
      this.#open.delete(id);
    });
  }

  /** A part of a requested list. */
  listed(id: string, payload: unknown): void {
    const request = this.#open.get(id);
    if (request === undefined || !isRecord(payload) || !Array.isArray(payload.operations)) return;
    for (const operation of payload.operations) request.parts.push(operation);
    if (payload.more !== true) request.resolve(request.parts);
  }

  failed(id: string, error: CallError): void {
    this.#open.get(id)?.reject(error);
  }

  /** There will be no answers. */
  end(why: string): void {
    for (const { reject } of this.#open.values()) reject(unanswered(why));
  }
}

const SILENT = "the other side says nothing. It may not know this request";

export function unanswered(why: string): CallError {
  return failed(`The request for what is served there has no answer: ${why}`, {
    reason: "peer-lost",
    delivery: "unknown",
  });
}

/** The error in a frame of type `hub.error`. */
export function errorIn(payload: unknown): CallError {
  if (!isRecord(payload) || !isString(payload.code) || !isString(payload.message)) {
    return unanswered("the other side refuses it, and does not say why");
  }
  return new CallError(payload.code, payload.message, payload.details);
}
