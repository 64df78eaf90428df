// The side of a NATS connection that calls. What becomes of a request is decided natively
// (`crates/operations-core/src/call`); here are the promises and iterators that wait for it.

import { randomUUID } from "node:crypto";
import { onAbort } from "../border/abort.js";
import { PushedEvents } from "../border/pushed-events.js";
import { jsonOf } from "../border/text.js";
import {
  type CallOptions,
  requestPayload,
  type SubscribeOptions,
  wasAborted,
  withData,
} from "../call/pending-request-map.js";
import type { ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import type { NatsConnection as Native } from "../native-binding.js";
import type { OperationsIn, TypedCallMap } from "../operation-types.js";
import type { CallMap } from "../registry/env.js";
import { Batch } from "./batch.js";
import type { KeepAlive } from "./keep-alive.js";

/** Calls and subscriptions over NATS: what a caller needs of a `PendingRequestMap`. */
export interface NatsCallMap extends CallMap {
  /** Calls an operation. Resolves with its envelope, or rejects. */
  call(operationId: string, input: unknown, options?: CallOptions): Promise<ResponseEnvelope>;
  /** Subscribes to an operation. Nothing is sent before the first `next()`; a slow consumer slows the worker. */
  subscribe(
    operationId: string,
    input: unknown,
    options?: SubscribeOptions,
  ): AsyncIterableIterator<ResponseEnvelope, undefined>;
  /** The same map, to the type checker one that knows the operations: `callMap.typed<typeof registry>()`. */
  typed<T>(): TypedCallMap<OperationsIn<T>>;
  /** Ends a request. */
  abort(requestId: string): void;
  /** How many requests have no final answer yet. */
  getPendingCount(): number;
}

/** How many events are read before the worker is told that it may send more. Half of what it may send ahead. */
const REPORT_EVERY = 64;

/** An error as it comes from the native side. */
export interface WireError {
  code: string;
  message: string;
  details: unknown;
}

interface Waiting {
  resolved(output: ResponseEnvelope): void;
  event(output: ResponseEnvelope): void;
  failed(error: CallError): void;
  ended(): void;
}

export class Requests implements NatsCallMap {
  readonly #native: Native;
  readonly #keepAlive: KeepAlive;
  readonly #waiting = new Map<string, Waiting>();
  /** Calls that are yet to go over. Whatever is done to a request of ours comes after them. */
  readonly #batch: Batch;

  constructor(native: Native, keepAlive: KeepAlive) {
    this.#native = native;
    this.#keepAlive = keepAlive;
    this.#batch = new Batch((calls) => this.#send(calls));
  }

  call(operationId: string, input: unknown, options: CallOptions = {}): Promise<ResponseEnvelope> {
    const { deadline, signal } = options;
    return new Promise((resolve, reject) => {
      check(operationId, options);
      if (signal?.aborted === true) throw wasAborted(operationId);
      const requestId = randomUUID();
      const payload = payloadText(requestId, operationId, input, options, {});
      const release = this.#onAbort(requestId, signal);
      const finish = () => {
        release();
        this.#remove(requestId);
      };
      this.#add(requestId, {
        resolved: (output) => {
          finish();
          resolve(output);
        },
        failed: (error) => {
          finish();
          reject(error);
        },
        // A call has no events and no end of its own.
        event: () => {},
        ended: () => {},
      });
      this.#batch.add(`${requestId}\t${JSON.stringify(operationId)}\t${deadline ?? ""}\t${payload}`);
      // The only one: there is nothing to wait for, whatever the caller does next.
      if (this.#waiting.size === 1) this.#batch.flush();
    });
  }

  /** Sends calls. Those that cannot be sent fail one by one, natively; an exception is about all of them. */
  #send(calls: string): void {
    try {
      this.#native.callAll(calls);
    } catch (error) {
      for (const line of calls.split("\n")) {
        this.#waiting.get(line.slice(0, line.indexOf("\t")))?.failed(error as CallError);
      }
    }
  }

  /** Sends what waits to be sent. */
  flush(): void {
    this.#batch.flush();
  }

  typed<T>(): TypedCallMap<OperationsIn<T>> {
    return this as unknown as TypedCallMap<OperationsIn<T>>;
  }

  subscribe(
    operationId: string,
    input: unknown,
    options: SubscribeOptions = {},
  ): AsyncIterableIterator<ResponseEnvelope, undefined> {
    // The worker sends no more than it was asked for: the bound is there, not here.
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
        if (requestId === undefined || !this.#waiting.has(requestId)) return;
        this.#native.leave(requestId);
        this.#waiting.get(requestId)?.ended();
      },
      read: () => {
        unreported += 1;
        if (unreported >= REPORT_EVERY) report();
      },
      // Only now does the worker's silence count.
      caughtUp: report,
    });
    return events;
  }

  #open(
    operationId: string,
    input: unknown,
    options: SubscribeOptions,
    events: PushedEvents<ResponseEnvelope>,
  ): string | undefined {
    const { idleTimeout, signal } = options;
    const requestId = randomUUID();
    try {
      check(operationId, options);
      if (signal?.aborted === true) throw wasAborted(operationId);
      const payload = payloadText(requestId, operationId, input, options, { idleTimeout });
      this.#batch.flush();
      this.#native.subscribe(requestId, operationId, payload, idleTimeout ?? null);
    } catch (error) {
      events.end({ error });
      return undefined;
    }
    const release = this.#onAbort(requestId, signal);
    const finish = () => {
      release();
      this.#remove(requestId);
    };
    this.#add(requestId, {
      event: (output) => void events.push(output),
      failed: (error) => {
        finish();
        events.end({ error });
      },
      ended: () => {
        finish();
        events.end();
      },
      resolved: () => {},
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

  resolved(requestId: string, output: ResponseEnvelope): void {
    this.#waiting.get(requestId)?.resolved(withData(output));
  }

  event(requestId: string, output: ResponseEnvelope): void {
    this.#waiting.get(requestId)?.event(withData(output));
  }

  failed(requestId: string, { code, message, details }: WireError): void {
    this.#waiting.get(requestId)?.failed(new CallError(code, message, details ?? undefined));
  }

  ended(requestId: string): void {
    this.#waiting.get(requestId)?.ended();
  }

  #add(requestId: string, waiting: Waiting): void {
    this.#waiting.set(requestId, waiting);
    this.#keepAlive.acquire();
  }

  #remove(requestId: string): void {
    if (this.#waiting.delete(requestId)) this.#keepAlive.release();
  }

  #onAbort(requestId: string, signal: AbortSignal | undefined): () => void {
    if (signal === undefined) return () => {};
    return onAbort(signal, () => {
      this.#batch.flush();
      this.#native.cancel(requestId);
    });
  }
}

/** What the native side takes for granted: a wrong type there would be an error of the binding's. */
function check(operationId: string, options: CallOptions & SubscribeOptions): void {
  const { parentRequestId, deadline, idleTimeout } = options;
  const wrong =
    typeof operationId !== "string"
      ? "operationId must be a string"
      : parentRequestId !== undefined && typeof parentRequestId !== "string"
        ? "parentRequestId must be a string"
        : deadline !== undefined && typeof deadline !== "number"
          ? "deadline must be a number (milliseconds since the epoch)"
          : idleTimeout !== undefined && typeof idleTimeout !== "number"
            ? "idleTimeout must be a number (milliseconds)"
            : undefined;
  if (wrong === undefined) return;
  throw new CallError(
    InfrastructureErrorCode.VALIDATION_ERROR,
    `The call of ${String(operationId)} cannot be sent: ${wrong}`,
  );
}

/** The payload of a request as JSON. A deadline is not part of it: it travels as the time that is left. */
function payloadText(
  requestId: string,
  operationId: string,
  input: unknown,
  options: CallOptions | SubscribeOptions,
  times: { idleTimeout?: number | undefined },
): string {
  const refuse = (reason: string) =>
    new CallError(
      InfrastructureErrorCode.VALIDATION_ERROR,
      `The call of ${operationId} cannot be sent: its input, identity or metadata cannot be written as JSON (${reason})`,
      { operationId },
    );
  return jsonOf(requestPayload(requestId, operationId, input, options, times), refuse) as string;
}
