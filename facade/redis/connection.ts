// Calls over Redis as a transport. Each connection has two channels of its own, one for the calls that it serves and one for
// the answers to its own calls, and all have one in common, on which workers say what they serve. A call is published on
// the channel of one worker, so no other can run it. Redis knows how many listen to a channel: that is how one end
// learns that the other is gone.

import { randomUUID } from "node:crypto";
import { buildCallHandler } from "../call/call-handler.js";
import { readDescription, shownTo } from "../call/described.js";
import { DISCOVER_FOR, discoverReliably, REDISCOVER_EVERY } from "../call/discovery.js";
import type { CallEventType } from "../call/events.js";
import { checkedImport, type PeerOperation } from "../call/imported.js";
import { readEvent } from "../call/incoming.js";
import { CONCURRENCY } from "../call/native-connection.js";
import { closing, PacedAnswers } from "../call/pacing.js";
import { PendingRequestMap } from "../call/pending-request-map.js";
import { RemoteConnection } from "../call/remote-connection.js";
import type { RemoteCallMap } from "../call/transport.js";
import { verifiedAsker } from "../call/verify-identity.js";
import { restored, wireText } from "../call/wire-value.js";
import { type CallError, failed, InfrastructureErrorCode } from "../errors.js";
import { Inbox } from "../interop/inbox.js";
import { keepAlive, letGo } from "../interop/keep-alive.js";
import type { ConnectionEvent, ConnectionStatus } from "../interop/link.js";
import { NamedListeners } from "../interop/listeners.js";
import {
  anObject,
  aPatience,
  aString,
  checkedOptions,
  isRecord,
  isString,
  isWhole,
  required,
} from "../interop/options.js";
import { assertPermitted } from "../interop/permission.js";
import { callAt } from "../interop/timer.js";
import { tlsTexts } from "../interop/tls.js";
import { logger } from "../logging.js";
import type { OperationRegistry } from "../registry/registry.js";
import { native, runtime } from "../runtime.js";
import { Callers, isChannel } from "./callers.js";
import { Calls } from "./calls.js";
import type {
  RedisDiscoverOptions,
  RedisImportOptions,
  RedisOperationInfo,
  RedisOptions,
  RedisServeOptions,
  RedisStats,
  RedisTransport,
} from "./connection-types.js";
import { FIELDS } from "./redis-event-target.js";
import { ALL, type Frame, type Publisher, Wire } from "./wire.js";

const log = logger("redis");
/** The request that finds out whether messages of ours come back to us. */
const PROBE = "probe";
const PROBE_AGAIN_AFTER = 500;
/** How long calls may be on their way to a worker that has said that it closes, in milliseconds. */
const LAST_CALLS = 50;
/** How long a message to ourselves may take then. */
const LAST_PROBE = 5_000;
/** How many calls may wait at a worker by default. */
const QUEUE = 100_000;
/**
 * Connects to Redis. Nothing is started before this is called. Rejects if Redis cannot be reached.
 *
 * @example
 * ```ts
 * const redis = await connectRedis({ url: "redis://127.0.0.1:6379", name: "worker-1" });
 * await redis.serve(registry, { concurrency: 16 });
 * await redis.callMap.call("demo.greet", { name: "Ada" }, { deadline: Date.now() + 5_000 });
 * ```
 */
export async function connectRedis(options: RedisOptions): Promise<RedisTransport> {
  const prefix = "connectRedis: ";
  const checked = checkedOptions<RedisOptions>(options, { ...FIELDS, name: required(aString) }, { prefix });
  assertPermitted("net", "connectRedis");
  const { name, ...rest } = checked;
  const transport = new Transport(
    name,
    JSON.stringify({ ...rest, tls: tlsTexts(rest.tls, `${prefix}tls.`) }),
  );
  try {
    await transport.opened;
    return transport;
  } catch (error) {
    await transport.close({ drain: 0 });
    throw error;
  }
}

class Transport extends RemoteConnection implements RedisTransport {
  readonly id = randomUUID();
  readonly name = "the workers on Redis";
  readonly callMap: RemoteCallMap;
  /** Where answers to our calls arrive, and where calls arrive. */
  readonly #mine = `call.caller.${this.id}`;
  readonly #served = `call.worker.${this.id}`;
  readonly opened: Promise<void>;
  #settle: { resolve: () => void; reject: (error: CallError) => void } | undefined;
  #status: ConnectionStatus = { state: "connecting", since: Date.now() };
  readonly #listeners = new NamedListeners<ConnectionEvent, ConnectionStatus>(
    ...(["connected", "disconnected", "reconnected", "closed"] as const),
  );
  readonly on = this.#listeners.on;
  readonly #inbox = new Inbox({
    event: (channel: string, detail: unknown) => this.#received(channel, restored(detail)),
    failed: (id: string, error: CallError) => this.#failed(id, error),
    lost: (_, problem: string) => this.#lost(problem),
    changed: (_, { finished }: { finished: number }) => {
      this.#unfinished = this.#published - finished;
      if (this.#unfinished === 0) this.#sent?.();
    },
  });
  readonly #bus;
  #published = 0;
  #unfinished = 0;
  #sent: (() => void) | undefined;
  #probing: NodeJS.Timeout | undefined;
  #probed: (() => void) | undefined;
  #rediscovering: NodeJS.Timeout | undefined;

  readonly #calls: Calls;
  readonly #discovering = new Map<string, (from: string, operations: unknown) => void>();
  readonly #replies = new Wire((type, frame) => this.#reply(type, frame));
  readonly #server = new PendingRequestMap(this.#replies);
  readonly #answers = new PacedAnswers(this.#server);
  readonly #callerOf = new Map<string, { from: string; isStream: boolean }>();
  #options: RedisServeOptions = {};
  #handle: ReturnType<typeof buildCallHandler> | undefined;
  #malformed = 0;
  /** The callers of what is served here. */
  readonly #watchedCallers = new Callers({
    ask: (caller) => this.#publish(caller, "", caller),
    serves: (requestId) => this.#answers.server?.serves(requestId) === true,
    abort: (requestId) => this.#answers.server?.abort(requestId),
  });

  constructor(
    readonly label: string,
    options: string,
  ) {
    super();
    const link: Publisher = {
      mine: this.#mine,
      publish: (channel, text, requestId) => this.#publish(channel, text, requestId),
      say: (channel, type, id, payload) => this.#say(channel, type, id, payload),
      changed: () => this.#rest(),
    };
    this.#calls = new Calls(link, () => this.#status.state === "connected");
    this.callMap = this.#calls.map;
    this.#answers.isPaced = true;
    this.#server["call.requested"].subscribe((event) => this.#handle?.(event));
    this.#server["call.aborted"].subscribe(({ requestId }) => this.#answers.aborted(requestId));
    this.#bus = new native.RedisBus(runtime, this.#inbox.mailbox, options);
    for (const channel of [this.#mine, this.#served, ALL]) this.#bus.listen(channel);
    this.opened = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    keepAlive(this);
    this.#probe();
  }

  #publish(channel: string, text: string, requestId?: string): void {
    if (this.#status.state === "closed") return;
    this.#published += 1;
    this.#unfinished += 1;
    this.#bus.publish(channel, text, requestId);
  }

  #say(channel: string, type: string, id: string, payload: object, from = this.#mine): void {
    this.#publish(channel, JSON.stringify({ type, id, payload, from }));
  }

  /** Sends a message to ourselves. When it arrives, both connections to Redis work. */
  #probe(): void {
    const text = JSON.stringify({ type: PROBE, id: "", payload: {} });
    this.#publish(this.#mine, text, PROBE);
  }

  #become(state: ConnectionStatus["state"], event: ConnectionEvent, problem?: string): void {
    this.#status = { state, since: Date.now(), ...(problem !== undefined && { problem }) };
    this.#listeners.notify(event, this.#status);
  }

  #connected(): void {
    this.#probed?.();
    if (this.#status.state === "connecting") {
      this.#become("connected", "connected");
      this.#settle?.resolve();
    } else if (this.#status.state === "disconnected") {
      this.#become("connected", "reconnected");
      this.#announce();
      this.imports.changed();
    } else return;
    this.#calls.ask();
    this.#rest();
  }

  #lost(problem: string): void {
    if (this.#status.state !== "connected") return;
    this.#become("disconnected", "disconnected", problem);
    const reason = failed(problem, { reason: "connection-lost", delivery: "unknown" });
    this.#calls.lost(reason);
    this.#replies.lost(reason);
    this.#probe();
    this.#rest();
  }

  /** Stays alive while it serves, and while calls have no answer. */
  #rest(): void {
    const isBusy =
      this.#status.state === "connecting" ||
      this.registry !== undefined ||
      this.callMap.getPendingCount() > 0;
    if (isBusy && this.#status.state !== "closed") keepAlive(this);
    else letGo(this);
  }

  #received(channel: string, detail: unknown): void {
    // The other end checks whether we are there.
    if (!isRecord(detail)) return;
    const { type, id, payload, from } = detail;
    const frame = {
      type,
      id: isString(id) ? id : "",
      payload: isRecord(payload) ? payload : {},
      from,
    } as Frame;
    if (channel === this.#served) this.#receivedCall(frame);
    else if (channel === this.#mine) this.#receivedAnswer(frame);
    else this.#receivedNews(frame);
    this.#rest();
  }

  #receivedNews({ type, id, payload, from }: Frame): void {
    if (!isString(from)) return;
    if (type === "hub.who") this.#announce(from);
    else if (type === "hub.discover" && from !== this.#mine) void this.#list(from, id, payload);
    else if (type === "hub.serves") {
      this.#calls.learned(from, payload);
      if (from !== this.#served) this.imports.changed();
    }
  }

  #receivedAnswer(frame: Frame): void {
    const { type, id, payload, from } = frame;
    if (type === PROBE) this.#connected();
    else if (type === "hub.serves" && isString(from)) this.#calls.learned(from, payload);
    else if (type === "hub.operations" && isString(from))
      this.#discovering.get(id)?.(from, payload.operations);
    else if (ANSWERS.has(type)) this.#calls.received(type as CallEventType, frame);
  }

  /** What could not be published, or has no receiver. */
  #failed(id: string, error: CallError): void {
    if (id === PROBE) {
      if (this.#status.state === "connecting") this.#settle?.reject(error);
      else this.#probing = setTimeout(() => this.#probe(), PROBE_AGAIN_AFTER).unref();
      return;
    }
    this.#calls.notSent(id, error);
    if (error.code === InfrastructureErrorCode.OPERATION_NOT_FOUND) {
      const count = this.#watchedCallers.gone(id) + this.#calls.gone(id);
      const name = this.label;
      if (count > 0) log.warn(`The other end of ${count} calls over Redis has disappeared`, { name });
    }
    this.#rest();
  }

  readonly serve = async (registry: OperationRegistry, options: RedisServeOptions = {}): Promise<void> => {
    if (this.isServing(registry)) return;
    const limits = { concurrency: CONCURRENCY, queue: QUEUE };
    this.#handle = buildCallHandler({ ...limits, ...options, registry, callMap: this.#answers });
    this.#options = options;
    this.begin(registry, () => this.#announce());
    this.#announce();
    this.#rest();
  };

  /** Says what is served here. */
  #announce(to: string = ALL): void {
    if (this.registry === undefined) return;
    const operations = this.isClosing ? [] : this.describe().own.map(({ id }) => id);
    this.#say(to, "hub.serves", "", { operations }, this.#served);
  }

  #receivedCall(frame: Frame): void {
    const { type, id, payload, from } = frame;
    const { requestId } = payload;
    if (!isString(requestId)) return;
    if (type === "hub.credit") {
      if (isWhole(payload.upTo, 0)) this.#answers.credit(requestId, payload.upTo);
    } else if (type === "call.aborted") {
      this.#callerOf.delete(requestId);
      this.#replies.deliver(type, frame);
    } else if (type === "call.requested" && isChannel(from)) {
      const request = readEvent(type, frame);
      if (request === undefined || this.#callerOf.has(requestId)) {
        this.#malformed += 1;
        return;
      }
      const { operationId } = request;
      if (this.isClosing || this.registry === undefined) {
        const { code, message, details } = closing(operationId);
        this.#say(from, "call.error", id, { requestId, code, message, details });
        return;
      }
      const isStream = this.registry.isSubscription(operationId);
      this.#callerOf.set(requestId, { from, isStream });
      this.#watchedCallers.requested(requestId, frame);
      if (isStream) this.#answers.begin(requestId);
      this.#replies.deliver(type, frame);
    }
  }

  #reply(type: CallEventType, frame: Frame): void {
    const requestId = String(frame.payload.requestId);
    const caller = this.#callerOf.get(requestId);
    if (caller === undefined) return;
    const text = wireText(frame, `The event ${type} cannot be sent`) ?? "";
    if (type !== "call.responded" || !caller.isStream) this.#callerOf.delete(requestId);
    this.#publish(caller.from, text);
  }

  /** Tells who asked what it may call. */
  async #list(to: string, id: string, claim: Record<string, unknown>): Promise<void> {
    if (this.registry === undefined || this.isClosing) return;
    let identity: Awaited<ReturnType<typeof verifiedAsker>>;
    try {
      identity = await verifiedAsker(this.#options.verifyIdentity, id, claim);
    } catch {
      // An identity that is refused counts as none: operations that need no identity are shown.
    }
    const operations = shownTo(identity, this.describe().own).map(({ text }) => JSON.parse(text));
    this.#say(to, "hub.operations", id, { operations }, this.id);
  }

  readonly discover = async (
    options: RedisDiscoverOptions = {},
  ): Promise<{ operations: RedisOperationInfo[] }> => {
    const { timeout = DISCOVER_FOR, ...as } = checkedDiscover(options, "discover: ");
    if (this.#calls.isOver) throw closed();
    const found = new Map<string, RedisOperationInfo>();
    const id = randomUUID();
    this.#discovering.set(id, (worker, operations) => {
      for (const each of Array.isArray(operations) ? operations : []) {
        const operation = readDescription(each);
        if (operation === undefined) continue;
        const operationId = `${operation.namespace}.${operation.name}`;
        const known = found.get(operationId);
        if (known === undefined) found.set(operationId, { ...operation, operationId, workers: [worker] });
        else known.workers.push(worker);
      }
    });
    try {
      this.#publish(
        ALL,
        wireText(
          { type: "hub.discover", id, payload: as, from: this.#mine },
          "The question cannot be sent",
        ) ?? "",
      );
      await new Promise<void>((resolve) => callAt(Date.now() + timeout, resolve, true));
    } finally {
      this.#discovering.delete(id);
    }
    return { operations: [...found.values()] };
  };

  readonly import = async (options: RedisImportOptions = {}): Promise<PeerOperation[]> => {
    const { identity, metadata, timeout, ...rest } = options;
    const request = checkedDiscover({ identity, metadata, timeout } as RedisDiscoverOptions, "import: ");
    const imported = await this.imports.import(checkedImport(rest), discoverReliably(this, request));
    if (this.imports.isFollowing && !this.isClosing) {
      this.#rediscovering ??= setInterval(() => this.imports.changed(), REDISCOVER_EVERY).unref();
    }
    return imported;
  };

  readonly stats = (): RedisStats => ({
    ...(this.#handle?.stats() ?? { running: 0, waiting: 0, overrunning: 0 }),
    malformed: this.#malformed + this.#calls.map.stats().dropped + this.#server.stats().dropped,
  });

  readonly status = (): ConnectionStatus => this.#status;

  /** Calls that are on their way to us are refused, and another worker runs them: when a message of ours comes back, all before it
   * were read. */
  async #refuseLateCalls(): Promise<void> {
    for (let round = 0; round < 2 && this.#status.state === "connected"; round += 1) {
      await new Promise((resolve) => setTimeout(resolve, LAST_CALLS));
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, LAST_PROBE);
        this.#probed = () => {
          clearTimeout(timer);
          resolve();
        };
        this.#probe();
      });
    }
  }

  protected override async closeConnection(drain: number): Promise<void> {
    clearInterval(this.#rediscovering);
    clearTimeout(this.#probing);
    this.#announce();
    if (this.registry !== undefined) await this.#refuseLateCalls();
    await this.#answers.finish(drain, () => {
      const { running, waiting } = this.stats();
      return running + waiting === 0;
    });
    if (this.registry !== undefined) await this.#refuseLateCalls();
    this.#calls.shut(closed());
    this.#replies.shut(closed());
    this.#watchedCallers.stop();
    // What was said about it goes out too.
    if (this.#unfinished > 0) {
      await new Promise<void>((resolve) => {
        this.#sent = resolve;
      });
    }
    this.#bus.close();
    this.unfollow();
    this.imports.end();
    this.#become("closed", "closed");
    this.#rest();
  }
}

const ANSWERS: ReadonlySet<string> = new Set([
  "call.responded",
  "call.completed",
  "call.error",
  "call.aborted",
] satisfies CallEventType[]);

function checkedDiscover(options: RedisDiscoverOptions, prefix: string): RedisDiscoverOptions {
  const fields = { timeout: aPatience, identity: anObject, metadata: anObject };
  return checkedOptions<RedisDiscoverOptions>(options, fields, { prefix });
}

function closed(): CallError {
  return failed("The call has no answer: the connection to Redis was closed", {
    reason: "closed",
    delivery: "unknown",
  });
}
