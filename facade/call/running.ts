// A call that is being served.

import type { OperationContext } from "../types.js";
import type { CallRequestedEvent } from "./events.js";

export class Running {
  readonly request: CallRequestedEvent;
  #controller: AbortController | undefined;
  #isAborted = false;
  /** What stops the work, beside the signal. */
  onAbort: (() => void) | undefined;
  cancelDeadline: (() => void) | undefined;

  constructor(request: CallRequestedEvent) {
    this.request = request;
  }

  get isAborted(): boolean {
    return this.#isAborted;
  }

  /** Made when somebody asks: it costs more than all the rest of a call. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isAborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  abort(): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#controller?.abort();
    this.onAbort?.();
  }

  /** What the handler learns. `trusted` is neither read from an event nor set. */
  context(): OperationContext {
    const { requestId, parentRequestId, identity, metadata, deadline } = this.request;
    const running = this;
    const context: OperationContext = {
      requestId,
      // A property of its own, so that a copy of the context has it too.
      get signal() {
        return running.signal;
      },
      // The context is the handler's to change, as any other.
      set signal(signal: AbortSignal) {
        Object.defineProperty(context, "signal", {
          value: signal,
          writable: true,
          configurable: true,
          enumerable: true,
        });
      },
    };
    if (parentRequestId !== undefined) context.parentRequestId = parentRequestId;
    if (identity !== undefined) context.identity = identity;
    if (metadata !== undefined) context.metadata = metadata;
    if (deadline !== undefined) context.deadline = deadline;
    return context;
  }
}
