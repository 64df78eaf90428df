// Events of the call protocol over the channels of a Redis.

import { Inbox } from "../border/inbox.js";
import { keepAlive, letGo } from "../border/keep-alive.js";
import {
  aBoolean,
  aSecret,
  aString,
  checkedOptions,
  type Fields,
  group,
  isString,
  isWhole,
  must,
  required,
} from "../border/options.js";
import { CALL_EVENT_TYPES, type CallEventType } from "../call/events.js";
import { readEvent } from "../call/incoming.js";
import { type LossyTarget, onLoss } from "../call/loss.js";
import { restored, wireText } from "../call/wire-value.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { logger } from "../logging.js";
import { native, runtime } from "../runtime.js";
import { CountingTarget } from "./listeners.js";

/**
 * Where Redis is, and what bounds hold.
 *
 * @example
 * ```ts
 * const options: RedisEventTargetOptions = { url: "rediss://user:secret@redis.example:6380" };
 * ```
 */
export interface RedisEventTargetOptions {
  /** `redis://user:password@host:6379`, `rediss://` for TLS, or `redis+unix:///path`. */
  url: string;
  /** Put before the type of an event to make the name of its channel. Nothing by default. */
  prefix?: string;
  /** The largest message, sent or received, in bytes. 16 MiB by default. */
  maxMessageBytes?: number;
  /** How long an event may wait for a connection, in milliseconds. 5,000 by default. */
  publishTimeout?: number;
  /** Whether a call fails at once when nobody listens for calls. True by default; not possible on a cluster, where
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
  /** `await using target = createRedisEventTarget(...)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Bridges the call protocol across a Redis: `new PendingRequestMap(createRedisEventTarget({ url }))` in each process.
 * Connects when there is something to do. Keeps the process alive while somebody listens or something waits to be
 * sent: a server stays up, a caller may end after its last answer.
 *
 * @example
 * ```ts
 * const target = createRedisEventTarget({ url: "redis://127.0.0.1:6379" });
 * const callMap = new PendingRequestMap(target);
 * callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
 * ```
 */
export function createRedisEventTarget(options: RedisEventTargetOptions): RedisEventTarget {
  return new RedisTarget(options);
}

/** What the native side counts. */
interface Counts extends DroppedMessages {
  /** Messages that were sent, or given up. */
  finished: number;
}

const log = logger("redis");
/** What fits together, and what a URL must look like, is checked natively. */
const FIELDS: Fields<RedisEventTargetOptions> = {
  url: required(must("a URL such as redis://user:password@host:6379", isString, { secret: true })),
  prefix: aString,
  maxMessageBytes: must(
    "a whole number of bytes from 1 to 512 MiB",
    (value) => isWhole(value, 1) && value <= 512 * 1024 * 1024,
  ),
  publishTimeout: must(
    "a whole number of milliseconds above 0",
    (value) => isWhole(value, 1) && value <= 0xffffffff,
  ),
  requireReceiver: aBoolean,
  tls: group<NonNullable<RedisEventTargetOptions["tls"]>>({ ca: aSecret, cert: aSecret, key: aSecret }),
};
const protocolTypes: ReadonlySet<string> = new Set(CALL_EVENT_TYPES);

class RedisTarget extends CountingTarget implements RedisEventTarget, LossyTarget {
  readonly #inbox = new Inbox({
    event: (type: string, detail: unknown) => this.#deliver(type, restored(detail)),
    failed: (requestId: string, error: CallError) => this.#fail(requestId, error),
    lost: (_, reason: string) => this.#lose(reason),
    changed: (_, counts: Counts) => this.#counted(counts),
  });
  readonly #bus;
  readonly #lossListeners = new Set<(reason: CallError) => void>();
  /** No events of the call protocol, although they are JSON. */
  #strangers = 0;
  #native: DroppedMessages = { malformed: 0, tooLarge: 0 };
  #logged = 0;
  #published = 0;
  #finished = 0;
  #closing: Promise<void> | undefined;
  #isClosed = false;
  #isSent: (() => void) | undefined;

  constructor(options: RedisEventTargetOptions) {
    super();
    const checked = checkedOptions<RedisEventTargetOptions>(options, FIELDS, {
      prefix: "createRedisEventTarget: ",
    });
    this.#bus = new native.RedisBus(runtime, this.#inbox.mailbox, JSON.stringify(checked));
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
    const requestId = type === "call.requested" ? readEvent(type, detail)?.requestId : undefined;
    this.#bus.publish(type, wireText(detail, `The event ${type} cannot be sent`) ?? "", requestId);
    this.#published += 1;
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

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
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

  get #isSending(): boolean {
    return this.#finished < this.#published;
  }

  #deliver(type: string, detail: unknown): void {
    if (!protocolTypes.has(type) || readEvent(type as CallEventType, detail) !== undefined) {
      super.dispatchEvent(new CustomEvent(type, { detail }));
      return;
    }
    this.#strangers += 1;
    this.#reportDropped();
  }

  #counted({ malformed, tooLarge, finished }: Counts): void {
    this.#native = { malformed, tooLarge };
    this.#reportDropped();
    this.#finished = finished;
    if (this.#isSending) return;
    this.#keepAliveIfBusy();
    this.#isSent?.();
  }

  /** The question could not be sent: that is the answer to it. */
  #fail(requestId: string, { code, message, details }: CallError): void {
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
    log.warn(`Dropped ${count} messages that are too large or not events`, { malformed, tooLarge });
  }
}
