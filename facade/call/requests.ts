// The side of a native connection that calls. The state of a request is kept natively
// (`crates/operations-core/src/call`); here are the promises and iterators that wait for it.

import type { ResponseEnvelope } from "../envelope.js";
import type { CallError } from "../errors.js";
import { toSystemTime } from "../interop/clock.js";
import type { PendingWork, Waiter } from "../interop/pending-work.js";
import { PushedEvents } from "../interop/pushed-events.js";
import { tracedCall, tracedStream } from "../interop/trace.js";
import type { HubPeer } from "../native-binding.js";
import type { OperationsIn, TypedCallMap, WithOperations } from "../operation-types.js";
import { malformedAnswer, wasAborted, withDelivery } from "../outcomes.js";
import { refreshNativeState } from "../registry/native-handler.js";
import { Batch } from "./batch.js";
import { isDeclaredEnvelope, withData } from "./incoming.js";
import {
  type CallOptions,
  checkedCall,
  checkedSubscribe,
  declaredIdentity,
  requestPayload,
  type SubscribeOptions,
} from "./options.js";
import type { RemoteCallMap } from "./transport.js";
import { typedCallMap } from "./typed-call-map.js";
import { restored, wireText } from "./wire-value.js";

/** Sends requests to others, and reports their outcomes through a mailbox. */
export type NativeCaller = Omit<HubPeer, "discover">;

/** How many events are read before the worker may send more. Half of what it may send ahead. */
const REPORT_EVERY = 64;

/** Calls and subscriptions over a transport whose state machine is native. */
export class Requests implements RemoteCallMap {
  readonly #native: NativeCaller;
  readonly #pending: PendingWork<string>;
  /** Calls that are yet to go over. Whatever is done to a request of ours comes after them. */
  readonly #batch: Batch;

  /** What requests travel over, for traces. */
  readonly #protocol: string | undefined;

  constructor(native: NativeCaller, pending: PendingWork<string>, protocol?: string) {
    this.#protocol = protocol;
    this.#native = native;
    this.#pending = pending;
    this.#batch = new Batch((calls) => this.#send(calls));
  }

  call(operationId: string, input: unknown, given?: CallOptions): Promise<ResponseEnvelope> {
    return tracedCall(operationId, this.#protocol, () => this.#call(operationId, input, given));
  }

  #call(operationId: string, input: unknown, given?: CallOptions): Promise<ResponseEnvelope> {
    // The callee may be served by this very process.
    refreshNativeState();
    return new Promise((resolve, reject) => {
      const options = checkedCall(operationId, given);
      const { signal } = options;
      const deadline = options.deadline && toSystemTime(options.deadline);
      if (signal?.aborted === true) throw withDelivery(wasAborted(operationId), "none");
      const requestId = this.#pending.newId();
      const payload = payloadText(requestId, operationId, input, options, {});
      this.#wait(requestId, signal, {
        owner: this,
        done: (output, mayHoldBytes) => {
          const envelope = withData(restored(output, mayHoldBytes));
          if (isDeclaredEnvelope(envelope)) resolve(envelope);
          else reject(malformed(requestId));
        },
        failed: reject,
      });
      this.#batch.add(`${requestId}\t${JSON.stringify(operationId)}\t${deadline ?? ""}\t${payload}`);
      // The only one: there is nothing to wait for, whatever the caller does next.
      if (this.#pending.size === 1) this.#batch.flush();
    });
  }

  #wait(requestId: string, signal: AbortSignal | undefined, waiter: Waiter): void {
    this.#pending.wait(requestId, waiter);
    if (signal === undefined) return;
    this.#pending.watch(requestId, signal, () => {
      this.#batch.flush();
      this.#native.cancel(requestId);
    });
  }

  /** Sends calls. Those that cannot be sent fail one by one, natively; an exception is about all of them. */
  #send(calls: string): void {
    try {
      this.#native.callAll(calls);
    } catch (error) {
      for (const line of calls.split("\n")) {
        this.#pending.failed(line.slice(0, line.indexOf("\t")), error as CallError);
      }
    }
  }

  /** Sends what waits to be sent. */
  flush(): void {
    this.#batch.flush();
  }

  typed<T extends WithOperations>(): TypedCallMap<OperationsIn<T>>;
  typed<T>(): TypedCallMap<OperationsIn<T>>;
  typed<T>(): TypedCallMap<OperationsIn<T>> {
    return typedCallMap(this) as TypedCallMap<OperationsIn<T>>;
  }

  subscribe(
    operationId: string,
    input: unknown,
    options?: SubscribeOptions,
  ): AsyncGenerator<ResponseEnvelope, undefined, unknown> {
    // The worker sends no more than was requested: the bound is there, not here.
    let requestId: string | undefined;
    let unreported = 0;
    const report = () => {
      if (requestId === undefined || unreported === 0) return;
      this.#native.consumed(requestId, unreported);
      unreported = 0;
    };
    const events = new PushedEvents<ResponseEnvelope>({
      open: () => {
        requestId = this.#open(operationId, input, options, events);
      },
      close: () => {
        // It is out already when it has come to its end.
        if (requestId === undefined || this.#pending.forget(requestId) === undefined) return;
        this.#native.leave(requestId);
      },
      read: () => {
        unreported += 1;
        if (unreported >= REPORT_EVERY) report();
      },
      // Only now does the worker's silence count.
      caughtUp: report,
    });
    return tracedStream(operationId, this.#protocol, events);
  }

  #open(
    operationId: string,
    input: unknown,
    given: SubscribeOptions | undefined,
    events: PushedEvents<ResponseEnvelope>,
  ): string | undefined {
    const requestId = this.#pending.newId();
    let signal: AbortSignal | undefined;
    try {
      const options = checkedSubscribe(operationId, given);
      const { idleTimeout } = options;
      signal = options.signal;
      if (signal?.aborted === true) throw withDelivery(wasAborted(operationId), "none");
      const payload = payloadText(requestId, operationId, input, options, { idleTimeout });
      this.#batch.flush();
      this.#native.subscribe(requestId, operationId, payload, idleTimeout ?? null);
    } catch (error) {
      events.end({ error });
      return undefined;
    }
    this.#wait(requestId, signal, {
      owner: this,
      event: (output, mayHoldBytes) => {
        const envelope = withData(restored(output, mayHoldBytes));
        if (isDeclaredEnvelope(envelope)) return void events.push(envelope);
        this.#pending.failed(requestId, malformed(requestId));
        this.#native.leave(requestId);
      },
      failed: (error) => events.end({ error }),
      ended: () => events.end(),
    });
    return requestId;
  }

  abort(requestId: string): void {
    this.#batch.flush();
    this.#native.abort(requestId);
  }

  getPendingCount(): number {
    this.#batch.flush();
    return this.#native.pendingCount();
  }
}

function malformed(requestId: string): CallError {
  return withDelivery(malformedAnswer(requestId), "unknown");
}

/** The payload of a request as JSON. A deadline is not part of it: it travels as the time that is left. */
function payloadText(
  requestId: string,
  operationId: string,
  input: unknown,
  options: CallOptions | SubscribeOptions,
  times: { idleTimeout?: number | undefined },
): string {
  const what = `The call of ${operationId} cannot be sent`;
  const payload = requestPayload(requestId, operationId, input, options, times);
  if (payload.identity !== undefined) payload.identity = declaredIdentity(payload.identity);
  return wireText(payload, what) as string;
}
