// Calls that the native side has for us: requests go to the call handler, its answers back to the native side.

import type { ResponseEnvelope } from "../envelope.js";
import { fromSystemTime } from "../interop/clock.js";
import { inThisContext, onNextTurn } from "../interop/host.js";
import { type Listener, Listeners } from "../interop/listeners.js";
import { isRecord } from "../interop/options.js";
import { TransientMap } from "../interop/transient-map.js";
import { logger } from "../logging.js";
import type { RegistryServer } from "../native-binding.js";
import type { Via } from "../registry/call.js";
import { runForOutside } from "../registry/origin.js";
import type { OperationRegistry } from "../registry/registry.js";
import { defaultOverrun } from "./abandoned-handlers.js";
import { Batch } from "./batch.js";
import { buildCallHandler } from "./call-handler.js";
import type { CallAbortedEvent, CallRequestedEvent } from "./events.js";
import {
  assertSendable,
  type ClientChannel,
  callerTokenOf,
  clientChannelOf,
  internalError,
  permitReleased,
  takesFiles,
  viaOf,
} from "./remote.js";
import type { VerifyIdentity } from "./verify-identity.js";
import { wireText } from "./wire-value.js";

const log = logger("call");

/** What has calls for us and takes the answers. Outputs and details are JSON. `answerAll` takes one line for each: an id, a tab
 * and the answer; two tabs, if the work is over with it; or an id alone, the work on which is over. */
export type NativeServer = Pick<RegistryServer, "begin" | "answerAll" | "sendEvent" | "fail" | "complete">;

type CallRequest = CallRequestedEvent & { from?: string; files?: boolean };

/** Names the request of `createHandler` that a call is for (`serve/request-contexts.ts`). No handler sees it. */
export const CONTEXT_HEADER = "operations-async-context";

/** Takes the header off. */
export function takeContextMark({ metadata }: CallRequestedEvent): string | undefined {
  const headers = metadata?.headers;
  if (!isRecord(headers) || !Object.hasOwn(headers, CONTEXT_HEADER)) return undefined;
  const mark = headers[CONTEXT_HEADER];
  delete headers[CONTEXT_HEADER];
  return typeof mark === "string" ? mark : undefined;
}

export interface AnswersOptions {
  readonly overrun?: number | undefined;
  readonly verifyIdentity?: VerifyIdentity | undefined;
  /** The permits that the native side has; `undefined` without a limit. */
  readonly concurrency?: number | undefined;
  /** Whether the native side hands out files. A request must say so too. */
  readonly handsOutFiles?: boolean | undefined;
  /** Called with what a handler threw, if callers must not see its message. */
  readonly onInternalError?: ((request: CallRequestedEvent, error: unknown) => void) | undefined;
}

/** What `buildCallHandler` needs of a call map. */
export class Answers {
  readonly #native: NativeServer;
  readonly #registry: OperationRegistry;
  readonly #batch: Batch;
  readonly #streams = new Set<string>();
  /** Streams that are about to begin. */
  readonly #beginning: (() => void)[] = [];
  /** Where requests are verified: the connections that say to have sent them. */
  readonly #senders = new TransientMap<string, string>();
  /** Where handlers may talk with their clients. */
  readonly #channels = new Map<string, ClientChannel>();
  /** Calls whose large results may be in files. */
  readonly #files = new TransientMap<string, true>();
  readonly #handsOutFiles: boolean;
  readonly #onInternalError: AnswersOptions["onInternalError"];
  /** Whose answer is the last line of the batch, and what it is: the work on most calls is over with that. */
  #answered: string | undefined;
  #answer = "";
  /** How the call came that is about to begin. */
  #via: Via | undefined;
  #callerToken: string | undefined;
  readonly #aborts = new Listeners<CallAbortedEvent>();
  /** Streams that may not send at the moment, and how to let them go on. */
  readonly #paused = new Map<string, () => void>();
  readonly #handle: ReturnType<typeof buildCallHandler>;

  readonly "call.aborted" = {
    subscribe: (listener: Listener<CallAbortedEvent>) => this.#aborts.add(listener),
  };

  constructor(native: NativeServer, registry: OperationRegistry, options: AnswersOptions) {
    this.#native = native;
    this.#registry = registry;
    this.#handsOutFiles = options.handsOutFiles === true;
    this.#onInternalError = options.onInternalError;
    this.#batch = new Batch((outcomes) => {
      // Called by the event loop itself, where an exception would be an uncaught one.
      try {
        native.answerAll(outcomes);
      } catch (error) {
        log.error(`Failed to send answers: ${String(error)}`);
      }
    });
    // The native side limits how many calls run: it reports free permits to callers.
    const { concurrency, overrun = concurrency && defaultOverrun(concurrency), verifyIdentity } = options;
    this.#handle = buildCallHandler({
      registry,
      callMap: this,
      ...(overrun !== undefined && { overrun }),
      // What waits for it holds a permit, and their number is limited.
      queue: Number.MAX_SAFE_INTEGER,
      ...(verifyIdentity && {
        verifyIdentity: (identity, message) =>
          verifyIdentity(identity, { ...message, from: this.#senders.get(message.requestId) as string }),
      }),
    });
  }

  /** Serves a request. The handler never rejects. */
  requested(request: CallRequest, channel?: ClientChannel, via?: Via, callerToken?: string): void {
    const begin = (isStream: boolean) => this.#begin(request, isStream, channel, via, callerToken);
    if (!this.#registry.isSubscription(request.operationId)) begin(false);
    else if (this.#beginning.push(inThisContext(() => begin(true))) === 1) onNextTurn(this.#beginNext);
  }

  /** Each in a turn of its own: the first events of many, and what was refused of them, are not in memory at the same time. */
  readonly #beginNext = (): void => {
    const begin = this.#beginning.shift();
    if (this.#beginning.length > 0) onNextTurn(this.#beginNext);
    begin?.();
  };

  #begin(
    request: CallRequest,
    isStream: boolean,
    channel: ClientChannel | undefined,
    via: Via | undefined,
    callerToken: string | undefined,
  ): void {
    const { requestId, from, files } = request;
    // It may have waited here for long: what was aborted, or is too late, does not begin.
    if (!this.#native.begin(requestId)) return;
    if (isStream) this.#streams.add(requestId);
    if (from !== undefined) this.#senders.set(requestId, from);
    if (channel !== undefined) this.#channels.set(requestId, channel);
    if (files === true && this.#handsOutFiles) this.#files.set(requestId, true);
    this.#via = via;
    this.#callerToken = callerToken;
    // A peer whose native code has passed the call on does not take it off.
    takeContextMark(request);
    if (request.deadline !== undefined) request.deadline = fromSystemTime(request.deadline);
    void this.#handle(request);
    this.#via = undefined;
    this.#callerToken = undefined;
  }

  /** Read while `requested` hands a call over. */
  [viaOf](): Via | undefined {
    return this.#via;
  }

  [callerTokenOf](): string | undefined {
    return this.#callerToken;
  }

  [clientChannelOf](requestId: string): ClientChannel | undefined {
    return this.#channels.get(requestId);
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

  [permitReleased](requestId: string): void {
    this.#files.delete(requestId);
    this.#closeChannel(requestId);
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

  #closeChannel(requestId: string): void {
    const channel = this.#channels.get(requestId);
    if (channel === undefined) return;
    this.#channels.delete(requestId);
    channel.close();
  }

  aborted(requestId: string): void {
    this.#aborts.notify({ requestId });
    this.#closeChannel(requestId);
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

  /** For a stream whose consumer is behind: a promise that resolves when it requests more. */
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
    const text = runForOutside(() => wireText(details, "The details of an error cannot be sent")) ?? null;
    this.#native.fail(requestId, code, message, text, isInternal);
  }

  complete(requestId: string): void {
    this.#native.complete(requestId);
  }
}

/** As JSON. The native side knows the refusal by its first words (`crates/operations-core/src/call/wire.rs`). */
function outputText(output: ResponseEnvelope): string {
  // Getters and `toJSON` of a result run on behalf of the caller.
  return runForOutside(() => wireText(output, "The answer cannot be sent")) as string;
}
