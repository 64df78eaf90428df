// Events of the call protocol over the channels of a Redis.

import { keepAlive, letGo } from "../border/keep-alive.js";
import { jsonOf } from "../border/text.js";
import { payloadOf } from "../call/bus.js";
import { CALL_EVENT_TYPES } from "../call/events.js";
import { type LossyTarget, onLoss } from "../call/loss.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { logger } from "../logging.js";
import { native, runtime } from "../runtime.js";
import { CountingTarget } from "./listeners.js";

export interface RedisEventTargetOptions {
  /** `redis://user:password@host:6379`, `rediss://` for TLS, or `redis+unix:///path`. */
  url: string;
  /** Put before the type of an event to make the name of its channel. Nothing unless told. */
  prefix?: string;
  /** The largest message, sent or received, in bytes. 16 MiB unless told. */
  maxMessageBytes?: number;
  /** How long an event may wait for a connection, in milliseconds. 5,000 unless told. */
  publishTimeout?: number;
  /** Whether a call fails at once when nobody listens for calls. True unless told; not possible on a cluster, where
   * a server does not know the listeners of the others. */
  requireReceiver?: boolean;
  /** For `rediss://`: certificates in PEM form. Without `ca` those of the system are trusted. */
  tls?: { ca?: string; cert?: string; key?: string };
}

/** Messages that were no events. */
export interface DroppedMessages {
  /** No JSON, or no event of the call protocol on a channel of one. */
  malformed: number;
  /** Larger than `maxMessageBytes`. */
  tooLarge: number;
}

/** An `EventTarget` whose events travel through Redis: its own come back that way too. */
export interface RedisEventTarget extends EventTarget {
  /** What was dropped so far. */
  readonly dropped: DroppedMessages;
  /** Sends what waits, then ends the connections. Calls that wait for an answer are rejected. */
  close(): Promise<void>;
}

/**
 * Bridges the call protocol across a Redis: `new PendingRequestMap(createRedisEventTarget({ url }))` in each process.
 * Connects when there is something to do. Keeps the process alive while somebody listens or something waits to be
 * sent: a server stays up, a caller may end after its last answer.
 */
export function createRedisEventTarget(options: RedisEventTargetOptions): RedisEventTarget {
  return new RedisTarget(options);
}

/** What the native side hands out: messages, requests that were not sent, and losses, in their order. */
interface Taken {
  more: boolean;
  malformed: number;
  tooLarge: number;
  /** How many messages are not sent yet. */
  waiting: number;
  items: (
    | [kind: 0, type: string, detail: unknown]
    | [kind: 1, requestId: string, code: string, message: string, details: unknown]
    | [kind: 2, reason: string]
  )[];
}

const log = logger("redis");
const protocolTypes: ReadonlySet<string> = new Set(CALL_EVENT_TYPES);

class RedisTarget extends CountingTarget implements RedisEventTarget, LossyTarget {
  readonly #bus;
  readonly #lossListeners = new Set<(reason: CallError) => void>();
  /** No events of the call protocol, although they are JSON. */
  #strangers = 0;
  #native: DroppedMessages = { malformed: 0, tooLarge: 0 };
  #logged = 0;
  #isSending = false;
  #closing: Promise<void> | undefined;
  #isClosed = false;
  #isSent: (() => void) | undefined;

  constructor(options: RedisEventTargetOptions) {
    super();
    // Weak, so that a target that nobody uses is collected, and its connections end.
    const target = new WeakRef(this);
    this.#bus = new native.RedisBus(runtime, JSON.stringify(options) ?? "null", () => {
      const living = target.deref();
      if (living !== undefined) living.#receive();
    });
  }

  get dropped(): DroppedMessages {
    const { malformed, tooLarge } = this.#native;
    return { malformed: malformed + this.#strangers, tooLarge };
  }

  /** Sends an event to all who listen to its channel, here and elsewhere. */
  override dispatchEvent(event: Event): boolean {
    if (this.#closing !== undefined) {
      throw new CallError(
        InfrastructureErrorCode.EXECUTION_ERROR,
        "The Redis event target is closed: nothing can be sent",
      );
    }
    const { type } = event;
    const detail: unknown = (event as CustomEvent<unknown>).detail;
    // Who asks is told when the question could not be sent.
    const requestId = type === "call.requested" ? payloadOf(detail)?.requestId : undefined;
    this.#bus.publish(type, messageText(type, detail), requestId);
    this.#isSending = true;
    this.#keepAliveIfBusy();
    return true;
  }

  [onLoss](listener: (reason: CallError) => void): () => void {
    this.#lossListeners.add(listener);
    return () => this.#lossListeners.delete(listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#lose("The Redis event target was closed while an answer was awaited");
    // What those who were waiting have said about it is sent too.
    if (this.#isSending) {
      await new Promise<void>((resolve) => {
        this.#isSent = resolve;
      });
    }
    this.#bus.close();
    this.#isClosed = true;
    this.#keepAliveIfBusy();
  }

  protected override listened(type: string): void {
    this.#bus.listen(type);
    if (type === "call.requested") this.#bus.listen("call.aborted");
    this.#keepAliveIfBusy();
  }

  protected override unlistened(type: string): void {
    for (const each of type === "call.requested" ? [type, "call.aborted"] : [type]) {
      if (!this.#isNeeded(each)) this.#bus.unlisten(each);
    }
    this.#keepAliveIfBusy();
  }

  /** Who serves calls is subscribed to aborts from the beginning: one that came right after the first call could
   * otherwise be missed. */
  #isNeeded(type: string): boolean {
    return this.isListenedTo(type) || (type === "call.aborted" && this.isListenedTo("call.requested"));
  }

  #keepAliveIfBusy(): void {
    const isBusy = this.#isSending || (this.hasListeners && !this.#isClosed);
    if (isBusy) keepAlive(this);
    else letGo(this);
  }

  /** Called by the event loop, so it must not throw. */
  #receive(): void {
    const taken: Taken = JSON.parse(this.#bus.take());
    if (taken.more) setImmediate(() => this.#receive());
    for (const item of taken.items) {
      if (item[0] === 0) this.#deliver(item[1], item[2]);
      else if (item[0] === 1) this.#fail(item[1], item[2], item[3], item[4]);
      else this.#lose(item[1]);
    }
    this.#native = { malformed: taken.malformed, tooLarge: taken.tooLarge };
    this.#reportDropped();
    if (taken.waiting > 0) return;
    this.#isSending = false;
    this.#keepAliveIfBusy();
    this.#isSent?.();
  }

  #deliver(type: string, detail: unknown): void {
    if (protocolTypes.has(type) && payloadOf(detail) === undefined) this.#strangers += 1;
    else super.dispatchEvent(new CustomEvent(type, { detail }));
  }

  /** The question could not be sent: that is the answer to it. */
  #fail(requestId: string, code: string, message: string, details: unknown): void {
    const type = "call.error";
    const payload = { requestId, code, message, details };
    super.dispatchEvent(new CustomEvent(type, { detail: { type, id: "", payload } }));
  }

  #lose(reason: string): void {
    const error = new CallError(InfrastructureErrorCode.EXECUTION_ERROR, reason);
    for (const listener of [...this.#lossListeners]) listener(error);
  }

  /** Once for each doubling: a flood of bad messages is no flood of log lines. */
  #reportDropped(): void {
    const { malformed, tooLarge } = this.dropped;
    const count = malformed + tooLarge;
    if (count < Math.max(1, this.#logged * 2)) return;
    this.#logged = count;
    log.warn(`Dropped ${count} messages that are no events or too large`, { malformed, tooLarge });
  }
}

/** What is sent: the JSON of the detail, nothing for none. */
function messageText(type: string, detail: unknown): string {
  const refuse = (reason: string) =>
    new CallError(
      InfrastructureErrorCode.VALIDATION_ERROR,
      `The event ${type} cannot be sent, because it cannot be written as JSON: ${reason}`,
    );
  return jsonOf(detail, refuse) ?? "";
}
