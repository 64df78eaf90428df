// The side of a NATS connection that serves: requests go to the call handler, its answers to the native side.

import { buildCallHandler, type CallHandler } from "../call/call-handler.js";
import type { CallAbortedEvent, CallRequestedEvent } from "../call/events.js";
import { wireText } from "../call/wire-value.js";
import type { ResponseEnvelope } from "../envelope.js";
import { logger } from "../logging.js";
import type { NatsConnection as Native } from "../native-binding.js";
import type { OperationRegistry } from "../registry/registry.js";
import { Batch } from "./batch.js";

const log = logger("nats");

type AbortListener = (event: CallAbortedEvent) => unknown;

/** What `buildCallHandler` needs of a call map. */
export class Answers {
  readonly #native: Native;
  readonly #registry: OperationRegistry;
  readonly #batch: Batch;
  readonly #streams = new Set<string>();
  readonly #listeners = new Set<AbortListener>();
  /** Streams that may not send at the moment, and how to let them go on. */
  readonly #paused = new Map<string, () => void>();
  readonly #handle: CallHandler;

  readonly "call.aborted" = {
    subscribe: (listener: AbortListener) => {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    },
  };

  constructor(native: Native, registry: OperationRegistry) {
    this.#native = native;
    this.#registry = registry;
    this.#batch = new Batch((outcomes) => {
      // Called by the event loop itself, where an exception would be an uncaught one.
      try {
        native.answerAll(outcomes);
      } catch (error) {
        log.error(`Answers could not be sent: ${String(error)}`);
      }
    });
    this.#handle = buildCallHandler({ registry, callMap: this });
  }

  /** Serves a request. The handler never rejects. */
  requested(request: CallRequestedEvent): void {
    const { requestId } = request;
    // It may have waited here for long: nobody begins with what was aborted, or is too late.
    if (!this.#native.begin(requestId)) return;
    if (this.#registry.isSubscription(request.operationId)) this.#streams.add(requestId);
    void this.#handle(request).finally(() => {
      if (this.#streams.delete(requestId)) this.#paused.delete(requestId);
      this.#batch.add(requestId);
    });
  }

  aborted(requestId: string): void {
    for (const listener of this.#listeners) listener({ requestId });
    this.mayGoOn(requestId);
    // A handler that does not look at its signal may never end: its place is free from now on.
    this.#batch.add(requestId);
  }

  mayGoOn(requestId: string): void {
    const goOn = this.#paused.get(requestId);
    this.#paused.delete(requestId);
    goOn?.();
  }

  /** Sends what waits to be sent. */
  flush(): void {
    this.#batch.flush();
  }

  /** For a stream whose consumer has not asked for more: a promise of the moment when it has. */
  respond(requestId: string, output: ResponseEnvelope): Promise<void> | undefined {
    const text = wireText(output, "The answer cannot be sent") as string;
    if (!this.#streams.has(requestId)) {
      this.#batch.add(`${requestId}\t${text}`);
      return undefined;
    }
    if (this.#native.sendEvent(requestId, text)) return undefined;
    return new Promise((resolve) => this.#paused.set(requestId, resolve));
  }

  emitError(requestId: string, code: string, message: string, details?: unknown): void {
    this.#batch.flush();
    const text = wireText(details, "The details of an error cannot be sent") ?? null;
    this.#native.fail(requestId, code, message, text);
  }

  complete(requestId: string): void {
    this.#native.complete(requestId);
  }
}
