// Calls that the native side has for us: requests go to the call handler, its answers back to the native side.

import { BriefMap } from "../border/brief-map.js";
import type { ResponseEnvelope } from "../envelope.js";
import { logger } from "../logging.js";
import type { Via } from "../registry/protocol-context.js";
import type { OperationRegistry } from "../registry/registry.js";
import { Batch } from "./batch.js";
import { buildCallHandler } from "./call-handler.js";
import type { CallAbortedEvent, CallRequestedEvent } from "./events.js";
import { usualOverrun } from "./overrun.js";
import {
  assertSendable,
  internalError,
  type Line,
  lineOf,
  placeIsFree,
  takesFiles,
  viaOf,
} from "./remote.js";
import type { VerifyIdentity } from "./verify-identity.js";
import { wireText } from "./wire-value.js";

const log = logger("call");

/** What has calls for us and takes the answers. Outputs and details are JSON. */
interface Native {
  /** Whether a call that is about to begin is still wanted. */
  begin(id: string): boolean;
  /** One line for each: an id, a tab and the answer as JSON; two tabs, if the work is over with it; or an id alone, the work
   * on which is over. */
  answerAll(outcomes: string): void;
  /** Whether a stream may go on at once. */
  sendEvent(id: string, output: string): boolean;
  fail(id: string, code: string, message: string, details: string | null, isInternal: boolean): void;
  complete(id: string): void;
}

type AbortListener = (event: CallAbortedEvent) => unknown;

export interface AnswersOptions {
  readonly overrun?: number | undefined;
  readonly verifyIdentity?: VerifyIdentity | undefined;
  /** The places that the native side has; nothing where there is no limit. */
  readonly concurrency?: number | undefined;
  /** Whether the native side hands out files. A request must say so too. */
  readonly handsOutFiles?: boolean | undefined;
  /** Called with what a handler threw, if callers must not see its message. */
  readonly onInternalError?: ((request: CallRequestedEvent, error: unknown) => void) | undefined;
}

/** What `buildCallHandler` needs of a call map. */
export class Answers {
  readonly #native: Native;
  readonly #registry: OperationRegistry;
  readonly #batch: Batch;
  readonly #streams = new Set<string>();
  /** Where requests are verified: the connections that say to have sent them. */
  readonly #senders = new BriefMap<string, string>();
  /** Where handlers may talk with their clients. */
  readonly #lines = new Map<string, Line>();
  /** Calls whose large results may be in files. */
  readonly #files = new BriefMap<string, true>();
  readonly #handsOutFiles: boolean;
  readonly #onInternalError: AnswersOptions["onInternalError"];
  /** Whose answer is the last line of the batch, and what it is: the work on most calls is over with that. */
  #answered: string | undefined;
  #answer = "";
  /** How the call came that is about to begin. */
  #via: Via | undefined;
  readonly #listeners = new Set<AbortListener>();
  /** Streams that may not send at the moment, and how to let them go on. */
  readonly #paused = new Map<string, () => void>();
  readonly #handle: ReturnType<typeof buildCallHandler>;

  readonly "call.aborted" = {
    subscribe: (listener: AbortListener) => {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    },
  };

  constructor(native: Native, registry: OperationRegistry, options: AnswersOptions) {
    this.#native = native;
    this.#registry = registry;
    this.#handsOutFiles = options.handsOutFiles === true;
    this.#onInternalError = options.onInternalError;
    this.#batch = new Batch((outcomes) => {
      // Called by the event loop itself, where an exception would be an uncaught one.
      try {
        native.answerAll(outcomes);
      } catch (error) {
        log.error(`Answers could not be sent: ${String(error)}`);
      }
    });
    // How many calls run is the native side's business: it tells callers where there is a place.
    const { concurrency, overrun = concurrency && usualOverrun(concurrency), verifyIdentity } = options;
    this.#handle = buildCallHandler({
      registry,
      callMap: this,
      ...(overrun !== undefined && { overrun }),
      // What waits for it has a place, and there are so many.
      queue: Number.MAX_SAFE_INTEGER,
      ...(verifyIdentity && {
        verifyIdentity: (identity, message) =>
          verifyIdentity(identity, { ...message, from: this.#senders.get(message.requestId) as string }),
      }),
    });
  }

  /** Serves a request. The handler never rejects. */
  requested(request: CallRequestedEvent & { from?: string; files?: boolean }, line?: Line, via?: Via): void {
    const { requestId, from, files } = request;
    // It may have waited here for long: nobody begins with what was aborted, or is too late.
    if (!this.#native.begin(requestId)) return;
    if (this.#registry.isSubscription(request.operationId)) this.#streams.add(requestId);
    if (from !== undefined) this.#senders.set(requestId, from);
    if (line !== undefined) this.#lines.set(requestId, line);
    if (files === true && this.#handsOutFiles) this.#files.set(requestId, true);
    this.#via = via;
    void this.#handle(request);
    this.#via = undefined;
  }

  /** Asked while `requested` hands a call over. */
  [viaOf](): Via | undefined {
    return this.#via;
  }

  [lineOf](requestId: string): Line | undefined {
    return this.#lines.get(requestId);
  }

  [assertSendable](output: ResponseEnvelope): void {
    outputText(output);
  }

  [takesFiles](requestId: string): boolean {
    return this.#files.has(requestId);
  }

  [internalError](request: CallRequestedEvent, error: unknown): void {
    this.#onInternalError?.(request, error);
  }

  [placeIsFree](requestId: string): void {
    this.#files.delete(requestId);
    this.#hangUp(requestId);
    if (this.#streams.delete(requestId)) this.#paused.delete(requestId);
    this.#senders.delete(requestId);
    const isLast = this.#answered === requestId;
    this.#answered = undefined;
    if (isLast && this.#batch.replaceLast(`${requestId}\t\t${this.#answer}`)) return;
    this.#batch.add(requestId);
  }

  /** Handlers that run on although their call has ended. */
  get overrunning(): number {
    return this.#handle.stats().overrunning;
  }

  #hangUp(requestId: string): void {
    const line = this.#lines.get(requestId);
    if (line === undefined) return;
    this.#lines.delete(requestId);
    line.close();
  }

  aborted(requestId: string): void {
    for (const listener of this.#listeners) listener({ requestId });
    this.#hangUp(requestId);
    this.mayGoOn(requestId);
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
    const text = outputText(output);
    if (!this.#streams.has(requestId)) {
      this.#batch.add(`${requestId}\t${text}`);
      this.#answered = requestId;
      this.#answer = text;
      return undefined;
    }
    if (this.#native.sendEvent(requestId, text)) return undefined;
    return new Promise((resolve) => this.#paused.set(requestId, resolve));
  }

  emitError(requestId: string, code: string, message: string, details?: unknown, isInternal = false): void {
    this.#batch.flush();
    const text = wireText(details, "The details of an error cannot be sent") ?? null;
    this.#native.fail(requestId, code, message, text, isInternal);
  }

  complete(requestId: string): void {
    this.#native.complete(requestId);
  }
}

/** As JSON. The native side knows the refusal by its first words (`crates/operations-core/src/call/wire.rs`). */
function outputText(output: ResponseEnvelope): string {
  return wireText(output, "The answer cannot be sent") as string;
}
