// Events of the call protocol over the channels of a Redis.

import { CALL_EVENT_TYPES, type CallEvents, type CallEventType } from "../call/events.js";
import { answeredBy, readEvent } from "../call/incoming.js";
import {
  type ConnectedTarget,
  leavesProcess,
  onLoss,
  onMalformed,
  type Server,
  whileServing,
} from "../call/remote.js";
import type { CloseOptions } from "../call/transport.js";
import { restored, wireText } from "../call/wire-value.js";
import { type CallError, failed, InfrastructureErrorCode } from "../errors.js";
import { closedOnce } from "../interop/closing.js";
import { Inbox } from "../interop/inbox.js";
import { keepAlive, letGo } from "../interop/keep-alive.js";
import { Listeners } from "../interop/listeners.js";
import {
  aBoolean,
  aString,
  checkedOptions,
  type Fields,
  group,
  isString,
  isWhole,
  must,
  required,
} from "../interop/options.js";
import { assertPermitted } from "../interop/permission.js";
import { TLS_FIELDS, type TLSOptions, tlsTexts } from "../interop/tls.js";
import { logger } from "../logging.js";
import { native, runtime } from "../runtime.js";
import { Callers, newCaller } from "./callers.js";
import { CountingTarget } from "./counting-target.js";

/**
 * The address of Redis, and limits.
 *
 * @example
 * ```ts
 * const options: RedisEventTargetOptions = { url: "rediss://user:secret@redis.example:6380" };
 * ```
 */
export interface RedisEventTargetOptions {
  /** `redis://user:password@host:6379`, `rediss://` for TLS, or `redis+unix:///path`. */
  url: string;
  /** Put before the type of an event to form the name of its channel (default: empty). */
  prefix?: string;
  /** The largest message, sent or received, in bytes. 16 MiB by default. */
  maxMessageBytes?: number;
  /** How long an event may wait for a connection, in milliseconds. 5,000 by default. */
  publishTimeout?: number;
  /**
   * Whether a call fails at once if no process listens for calls. Default `true`. Not possible on a cluster, because a
   * server does not know the listeners of other servers.
   */
  requireReceiver?: boolean;
  /** For `rediss://`: certificates in PEM form. Without `ca` or `caFile` those of the system are trusted. */
  tls?: TLSOptions;
}

/** @deprecated Use `CloseOptions` of `@alkdev/operations`. */
export type RedisCloseOptions = CloseOptions;

/**
 * Messages that were dropped because they were not events.
 *
 * @example
 * ```ts
 * const show = ({ malformed, tooLarge }: DroppedMessages) => console.log(malformed + tooLarge);
 * ```
 */
export interface DroppedMessages {
  /** Not JSON, or not an event of the call protocol. */
  malformed: number;
  /** Larger than `maxMessageBytes`. */
  tooLarge: number;
}

/**
 * An `EventTarget` whose events travel through Redis. It receives its own events too.
 *
 * @example
 * ```ts
 * const target: RedisEventTarget = createRedisEventTarget({ url: "redis://localhost" });
 * const callMap = new PendingRequestMap(target);
 * await target.close();
 * ```
 */
export interface RedisEventTarget extends EventTarget {
  /** What was dropped so far. */
  readonly dropped: DroppedMessages;
  /**
   * Refuses new calls, lets the calls that are served here finish, sends waiting events, then closes the connections.
   * Calls that wait for an answer are rejected.
   */
  close(options?: CloseOptions): Promise<void>;
  /** `await using target = createRedisEventTarget(...)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Carries the call protocol over Redis: `new PendingRequestMap(createRedisEventTarget({ url }))` in each process.
 * Connects when it is first used. Keeps the process alive while it has listeners or something waits to be sent.
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
export const FIELDS: Fields<RedisEventTargetOptions> = {
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
  tls: group<TLSOptions>(TLS_FIELDS),
};
const protocolTypes: ReadonlySet<string> = new Set(CALL_EVENT_TYPES);

class RedisTarget extends CountingTarget implements RedisEventTarget, ConnectedTarget {
  readonly [leavesProcess] = true;
  readonly #inbox = new Inbox({
    event: (type: string, detail: unknown) => this.#deliver(type, restored(detail)),
    failed: (requestId: string, error: CallError) => this.#fail(requestId, error),
    lost: (_, reason: string) => this.#lose(reason, "connection-lost"),
    changed: (_, counts: Counts) => this.#counted(counts),
  });
  readonly #bus;
  readonly #losses = new Listeners<CallError>();
  readonly #malformed = new Listeners<string>();
  readonly #servers = new Set<Server>();
  /** The name of this caller for servers. */
  readonly #me = newCaller();
  readonly #callers = new Callers({
    ask: (caller) => this.#publish(caller, "", caller),
    serves: (requestId) => [...this.#servers].some((server) => server.serves(requestId)),
    abort: (requestId) => this.#say("call.aborted", { requestId }),
  });
  /** No events of the call protocol, although they are JSON. */
  #strangers = 0;
  #native: DroppedMessages = { malformed: 0, tooLarge: 0 };
  #logged = 0;
  #published = 0;
  #finished = 0;
  #isDraining = false;
  /** Nothing more is taken in. */
  #isOver = false;
  #isClosed = false;
  #isSent: (() => void) | undefined;
  #isDrained: (() => void) | undefined;

  constructor(options: RedisEventTargetOptions) {
    super();
    const checked = checkedOptions<RedisEventTargetOptions>(options, FIELDS, {
      prefix: "createRedisEventTarget: ",
    });
    assertPermitted("net", "createRedisEventTarget");
    this.#bus = new native.RedisBus(
      runtime,
      this.#inbox.mailbox,
      JSON.stringify({ ...checked, tls: tlsTexts(checked.tls, "createRedisEventTarget: tls.") }),
    );
  }

  get dropped(): DroppedMessages {
    const { malformed, tooLarge } = this.#native;
    return { malformed: malformed + this.#strangers, tooLarge };
  }

  /** Sends an event to all who listen to its channel, here and elsewhere. */
  override dispatchEvent(event: Event): boolean {
    if (this.#isOver) {
      throw failed("The Redis event target is closed: nothing can be sent", {
        reason: "closed",
        delivery: "none",
      });
    }
    const { type } = event;
    const detail: unknown = (event as CustomEvent<unknown>).detail;
    // A caller learns when its request could not be sent.
    const requestId = type === "call.requested" ? readEvent(type, detail)?.requestId : undefined;
    const isOurs = requestId !== undefined && this.isListenedTo("call.responded");
    const sent = isOurs && hasPayload(detail) ? { ...detail, from: this.#me } : detail;
    this.#publish(type, wireText(sent, `The event ${type} cannot be sent`) ?? "", requestId);
    return true;
  }

  #publish(type: string, text: string, requestId: string | undefined): void {
    this.#bus.publish(type, text, requestId);
    this.#published += 1;
    this.#keepAliveIfBusy();
  }

  [onLoss](listener: (reason: CallError) => void): () => void {
    return this.#losses.add(listener);
  }

  [onMalformed](listener: (requestId: string) => void): () => void {
    return this.#malformed.add(listener);
  }

  [whileServing](server: Server): () => void {
    this.#servers.add(server);
    return () => {
      this.#servers.delete(server);
      if (this.#servers.size === 0) this.#isDrained?.();
    };
  }

  readonly close = closedOnce((drain) => this.#close(drain));

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(drain: number): Promise<void> {
    this.#isDraining = true;
    if (this.#servers.size > 0) await this.#drain(drain);
    this.#callers.stop();
    const reason = "The process that was serving the call was closed before it had finished";
    for (const server of [...this.#servers]) server.giveUp(failure(reason, "worker-closed"));
    this.#lose("The Redis event target was closed while an answer was awaited", "closed");
    this.#isOver = true;
    // What listeners have sent about it goes out too.
    if (this.#isSending) {
      await new Promise<void>((resolve) => {
        this.#isSent = resolve;
      });
    }
    this.#bus.close();
    this.#isClosed = true;
    this.#keepAliveIfBusy();
  }

  /** Waits until everything that is served is finished, for so many milliseconds at most. */
  async #drain(milliseconds: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#isDrained = resolve;
      timer = setTimeout(resolve, milliseconds);
    });
    clearTimeout(timer);
  }

  protected override listened(type: string): void {
    for (const each of this.#with(type)) this.#bus.listen(each);
    this.#keepAliveIfBusy();
  }

  protected override unlistened(type: string): void {
    for (const each of this.#with(type)) {
      const isAbortOfServer = each === "call.aborted" && this.isListenedTo("call.requested");
      if (!this.isListenedTo(each) && !isAbortOfServer) this.#bus.unlisten(each);
    }
    this.#keepAliveIfBusy();
  }

  /** Who serves calls is subscribed to aborts from the beginning: one that came right after the first call could otherwise
   * be missed. Who waits for answers listens to its own channel, too. */
  #with(type: string): string[] {
    if (type === "call.requested") return [type, "call.aborted"];
    return type === "call.responded" ? [type, this.#me] : [type];
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
    // A server checks whether this caller is there.
    if (type === this.#me) return;
    if (!protocolTypes.has(type)) {
      super.dispatchEvent(new CustomEvent(type, { detail }));
      return;
    }
    const payload = readEvent(type as CallEventType, detail);
    if (payload === undefined) {
      this.#strangers += 1;
      this.#reportDropped();
      const requestId = answeredBy(type as CallEventType, detail);
      if (requestId !== undefined) this.#malformed.notify(requestId);
    } else if (type === "call.requested" && this.#isDraining) {
      this.#turnAway(payload.requestId);
    } else {
      if (type === "call.requested") this.#callers.requested(payload.requestId, detail);
      super.dispatchEvent(new CustomEvent(type, { detail }));
    }
  }

  /** A call that came while this is being closed. */
  #turnAway(requestId: string): void {
    if (this.#isOver) return;
    const type = "call.error";
    const payload: CallEvents[typeof type] = {
      requestId,
      code: InfrastructureErrorCode.EXECUTION_ERROR,
      message: "The call was not taken: the process that serves it is being closed",
      details: { reason: "worker-closed", delivery: "none" },
    };
    this.dispatchEvent(new CustomEvent(type, { detail: { type, id: "", payload } }));
  }

  #counted({ malformed, tooLarge, finished }: Counts): void {
    this.#native = { malformed, tooLarge };
    this.#reportDropped();
    this.#finished = finished;
    if (this.#isSending) return;
    this.#keepAliveIfBusy();
    this.#isSent?.();
  }

  /** The request could not be sent: the call fails with that. */
  #fail(requestId: string, { code, message, details }: CallError): void {
    if (!this.#callers.isCaller(requestId)) {
      this.#say("call.error", { requestId, code, message, details });
    } else if (code === InfrastructureErrorCode.OPERATION_NOT_FOUND) {
      const count = this.#callers.gone(requestId);
      log.warn(`A caller has disappeared (calls aborted here: ${count})`, {});
    }
  }

  /** To listeners in this process only. */
  #say<T extends CallEventType>(type: T, payload: CallEvents[T]): void {
    super.dispatchEvent(new CustomEvent(type, { detail: { type, id: "", payload } }));
  }

  #lose(message: string, reason: string): void {
    const error = failure(message, reason);
    this.#losses.notify(error);
    for (const server of [...this.#servers]) server.lost(error);
  }

  /** Once for each doubling: a flood of bad messages must not become a flood of log lines. */
  #reportDropped(): void {
    const { malformed, tooLarge } = this.dropped;
    const count = malformed + tooLarge;
    if (count < Math.max(1, this.#logged * 2)) return;
    this.#logged = count;
    log.warn(`Dropped ${count} messages that are too large or not events`, { malformed, tooLarge });
  }
}

function failure(message: string, reason: string): CallError {
  return failed(message, { reason, delivery: "unknown" });
}

function hasPayload(detail: unknown): detail is object {
  return typeof detail === "object" && detail !== null && "payload" in detail;
}
