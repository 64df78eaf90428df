// The call protocol in plain JavaScript over an `EventTarget`, as a TypeScript package would have it: one
// `CustomEvent` for each event, a map of pending calls, an `AbortController` for each call that is served. What is
// not needed for a call that succeeds (subscriptions, aborting what a call has called) is left out, in its favour.

import { randomUUID } from "node:crypto";

class ProtocolError extends Error {
  constructor(code, message, details) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

export class ReferencePendingRequestMap {
  #pending = new Map();

  constructor(target = new EventTarget()) {
    this.target = target;
    this.#listen("call.responded", ({ requestId, output }) => this.#settle(requestId)?.resolve(output));
    this.#listen("call.error", ({ requestId, code, message, details }) =>
      this.#settle(requestId)?.reject(new ProtocolError(code, message, details)),
    );
    this.#listen("call.aborted", ({ requestId }) =>
      this.#settle(requestId)?.reject(new ProtocolError("ABORTED", `Request ${requestId} was aborted`)),
    );
  }

  #listen(type, listener) {
    this.target.addEventListener(type, (event) => listener(event.detail.payload));
  }

  listen(type, listener) {
    this.#listen(type, listener);
  }

  publish(type, payload) {
    this.target.dispatchEvent(new CustomEvent(type, { detail: { type, id: "", payload } }));
  }

  call(operationId, input, options = {}) {
    const { deadline, signal, identity, metadata, parentRequestId } = options;
    if (signal?.aborted) return Promise.reject(new ProtocolError("ABORTED", "aborted"));
    return new Promise((resolve, reject) => {
      const requestId = randomUUID();
      const pending = { resolve, reject, timer: undefined };
      if (deadline !== undefined) {
        pending.timer = setTimeout(() => {
          this.#settle(requestId)?.reject(new ProtocolError("TIMEOUT", "timed out", { deadline }));
          this.publish("call.aborted", { requestId });
        }, deadline - Date.now());
        pending.timer.unref();
      }
      this.#pending.set(requestId, pending);
      this.publish("call.requested", {
        requestId,
        operationId,
        input,
        ...(parentRequestId !== undefined && { parentRequestId }),
        ...(deadline !== undefined && { deadline }),
        ...(identity !== undefined && { identity }),
        ...(metadata !== undefined && { metadata }),
      });
    });
  }

  #settle(requestId) {
    const pending = this.#pending.get(requestId);
    if (pending === undefined) return undefined;
    this.#pending.delete(requestId);
    if (pending.timer !== undefined) clearTimeout(pending.timer);
    return pending;
  }
}

/** Serves calls; `registry` has `execute(id, input, context)`. */
export function serveReference(map, registry) {
  const running = new Map();
  map.listen("call.aborted", ({ requestId }) => running.get(requestId)?.abort());
  map.listen("call.requested", async (event) => {
    const { requestId, operationId, input, parentRequestId, identity, metadata, deadline } = event;
    const controller = new AbortController();
    running.set(requestId, controller);
    try {
      const context = { requestId, parentRequestId, identity, metadata, deadline, signal: controller.signal };
      const output = await registry.execute(operationId, input, context);
      map.publish("call.responded", { requestId, output });
    } catch (error) {
      map.publish("call.error", { requestId, code: error.code ?? "EXECUTION_ERROR", message: error.message });
    } finally {
      running.delete(requestId);
    }
  });
}
