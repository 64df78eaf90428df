import { randomUUID } from "node:crypto";
import { closedOnce } from "../border/closing.js";
import type { Receiver } from "../border/inbox.js";
import { keepAlive, keepAliveDuring, letGo } from "../border/keep-alive.js";
import { type LinkEvent, type LinkNews, type LinkStatus, statusOf, Watchers } from "../border/link.js";
import {
  aBoolean,
  aCount,
  aDuration,
  aName,
  anObject,
  aSecret,
  aSize,
  type Check,
  checkedOptions,
  type Fields,
  group,
  isString,
  refusal,
  required,
} from "../border/options.js";
import { PendingWork } from "../border/pending-work.js";
import { aFileToRead } from "../border/permission.js";
import { kindOf, messageOf } from "../border/text.js";
import { coalesced } from "../border/turns.js";
import { Answers } from "../call/answers.js";
import { type DiscoveredOperation, describeAll, readDescriptions } from "../call/described.js";
import type { CallRequestedEvent } from "../call/events.js";
import { checkedImport, type ImportOptions, type Peer, type PeerOperation } from "../call/imported.js";
import { Imports } from "../call/imports.js";
import { Requests } from "../call/requests.js";
import type { CallTransport, RemoteCallMap } from "../call/transport.js";
import { restored } from "../call/wire-value.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { logger } from "../logging.js";
import type { HubPeer, HubConnection as Native } from "../native-binding.js";
import { assertRegistry } from "../registry/assert-registry.js";
import type { Connection } from "../registry/connection-state.js";
import { traitsOf } from "../registry/handler-traits.js";
import { lookAround, type NativeWork } from "../registry/native-handler.js";
import type { OperationRegistry } from "../registry/registry.js";
import { native, runtime } from "../runtime.js";

/**
 * How to reconnect: after a random part of a pause that doubles from `minDelay` to `maxDelay`.
 *
 * @example
 * ```ts
 * const reconnect: HubReconnect = { minDelay: 500, maxDelay: 30_000 };
 * ```
 */
export interface HubReconnect {
  /** In milliseconds (default 200). */
  minDelay?: number;
  /** In milliseconds (default 10,000). */
  maxDelay?: number;
}

/**
 * Options of `connectHub`.
 *
 * @example
 * ```ts
 * const options: HubOptions = { name: "laptop", token: process.env["HUB_TOKEN"] ?? "" };
 * ```
 */
export interface HubOptions {
  /** The name of this connection at the hub. */
  name: string;
  /** Sent as `Authorization: Bearer <token>`. It never appears in messages or log lines. */
  token?: string;
  /** Headers of the connection request. */
  headers?: Readonly<Record<string, string>>;
  /** Whether to reconnect after the connection is lost (default: yes). */
  reconnect?: boolean | HubReconnect;
  /** If the hub cannot be reached: resolve immediately and keep trying, while calls wait (default: reject). */
  waitOnFirstConnect?: boolean;
  /** How many calls may wait for the connection (default 100,000). Further calls are refused. */
  maxWaiting?: number;
  /** The largest frame that is accepted (default 4 MiB). */
  maxFrameBytes?: number;
  /**
   * How often the hub must send a sign of life, in milliseconds (default 15,000). After twice this time without one,
   * the connection is lost.
   */
  heartbeat?: number;
  /** Certificates of authorities (PEM), instead of the system's. */
  caFile?: string;
}

/**
 * Options of `serve`.
 *
 * @example
 * ```ts
 * const options: HubServeOptions = { concurrency: 16 };
 * ```
 */
export interface HubServeOptions {
  /** How many calls run at the same time, and apart from them how many streams (default 256). Streams do not wait: further
   * ones are refused. */
  concurrency?: number;
  /** How many calls may wait for a place (default 1,024). Further calls are refused. */
  queue?: number;
  /**
   * How many handlers may still run after their call was aborted or timed out, in addition to `concurrency` (default:
   * the value of `concurrency`).
   */
  overrun?: number;
}

/**
 * The hub's answer to an offer.
 *
 * @example
 * ```ts
 * const offer: HubOffer = await hub.serve(registry);
 * console.log(`The hub calls them ${offer.operations.join(", ")}`);
 * ```
 */
export interface HubOffer {
  /** The ids under which the hub has registered the operations. Empty if the hub registers nothing. */
  operations: string[];
}

/**
 * The operations that a hub serves to this connection.
 *
 * @example
 * ```ts
 * const { operations }: HubDiscovery = await hub.discover();
 * ```
 */
export interface HubDiscovery {
  operations: DiscoveredOperation[];
}

/**
 * Counters of a connection.
 *
 * @example
 * ```ts
 * const stats: HubStats = hub.stats();
 * ```
 */
export interface HubStats {
  /** Frames that were dropped because they do not follow the protocol. */
  malformed: number;
  malformedBy: Record<string, number>;
  reconnections: number;
  /** Calls and streams of the hub that are running. */
  running: number;
  /** Handlers that still run although their call was aborted or timed out. */
  overrunning: number;
}

/**
 * Whether there is a connection to the hub, and since when (Unix milliseconds).
 *
 * @example
 * ```ts
 * const { state, problem }: HubStatus = hub.status();
 * if (state === "disconnected") console.warn(`No hub: ${problem}`);
 * ```
 */
export interface HubStatus extends LinkStatus {}

/**
 * Events of a connection. `"connected"` is the first connection, `"reconnected"` every later one.
 *
 * @example
 * ```ts
 * const events: HubEvent[] = ["disconnected", "reconnected"];
 * for (const event of events) hub.on(event, () => console.log(event));
 * ```
 */
export type HubEvent = LinkEvent;

/**
 * Options of `close`.
 *
 * @example
 * ```ts
 * const options: HubCloseOptions = { drain: 30_000 };
 * ```
 */
export interface HubCloseOptions {
  /** How long running work may take to finish, in milliseconds (default 10,000). */
  drain?: number;
}

/**
 * A spoke: a connection to a hub.
 *
 * @example
 * ```ts
 * const hub: HubTransport = await connectHub("ws://127.0.0.1:8080/hub", { name: "laptop" });
 * await hub.serve(registry);
 * await hub.close();
 * ```
 */
export interface HubTransport extends CallTransport {
  /** Calls operations of the hub. */
  readonly callMap: RemoteCallMap;
  /**
   * Offers the operations of a registry to the hub, including operations that are registered later. Rejects if the hub
   * does not accept them. After a reconnection they are offered again. Calling it again with the same registry offers
   * what it holds now; the options stay those of the first call.
   */
  readonly serve: (registry: OperationRegistry, options?: HubServeOptions) => Promise<HubOffer>;
  /** The operations of the hub that this connection may call. */
  readonly discover: () => Promise<HubDiscovery>;
  /** Makes operations from the discovered specs. You can register and call them like any other operation. */
  readonly import: (options?: ImportOptions) => Promise<PeerOperation[]>;
  readonly stats: () => HubStats;
  /** Whether there is a connection now. */
  readonly status: () => HubStatus;
  /** Adds a listener for changes of the connection. Returns a function that removes it. */
  readonly on: (event: HubEvent, listener: (status: HubStatus) => unknown) => () => void;
  readonly close: (options?: HubCloseOptions) => Promise<void>;
  /** `await using hub = await connectHub(...)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}

const CONCURRENCY = 256;
const RECONNECT = { minDelay: 200, maxDelay: 10_000 };

const log = logger("hub");

const reconnectFields = group<HubReconnect>({ minDelay: aDuration, maxDelay: aDuration });
const someHeaders: Check = (value, path) => {
  for (const [name, each] of Object.entries(anObject(value, path) as object)) {
    if (!isString(each)) throw refusal(`${path}.${name}`, "must be a string");
  }
  return value;
};

/** What an address must look like is checked natively. */
const FIELDS: Fields<HubOptions> = {
  name: required(aName),
  token: aSecret,
  headers: someHeaders,
  reconnect: (value, path) => (typeof value === "boolean" ? value : reconnectFields(value, path)),
  waitOnFirstConnect: aBoolean,
  maxWaiting: aSize,
  maxFrameBytes: aSize,
  heartbeat: aDuration,
  caFile: aFileToRead,
};
const SERVE_FIELDS: Fields<HubServeOptions> = { concurrency: aSize, queue: aCount, overrun: aCount };

/**
 * Connects to a hub: the `hub` door of `serve`. Nothing is started before this is called.
 *
 * @example
 * ```ts
 * const hub = await connectHub("ws://127.0.0.1:8080/hub", { name: "laptop", token: "secret" });
 * await hub.callMap.call("demo.greet", { name: "Ada" }, { deadline: Date.now() + 5_000 });
 * await hub.serve(registry);
 * ```
 */
export async function connectHub(url: string, options: HubOptions): Promise<HubTransport> {
  if (!isString(url)) throw refusal("connectHub: url", `must be a string, not ${kindOf(url)}`);
  const checked = checkedOptions<HubOptions>(options, FIELDS, { prefix: "connectHub: " });
  const { reconnect = true, headers } = checked;
  const text = JSON.stringify({
    ...checked,
    url,
    headers: Object.entries(headers ?? {}),
    reconnect: reconnect === false ? undefined : { ...RECONNECT, ...(reconnect === true ? {} : reconnect) },
  });
  const news = new News();
  const pending = new PendingWork<string>(randomUUID, news);
  return new Transport(await native.connectHub(runtime, pending.mailbox, text), pending, news);
}

/** What the native side tells that is for no call in particular. */
class News implements Receiver {
  answers: Answers | undefined;
  changedThere: () => void = () => {};
  readonly watchers = new Watchers();

  changed(_: string, news: LinkNews): void {
    this.watchers.changed(news);
  }

  asked(_: string, request: CallRequestedEvent | { changed: true }, mayHoldBytes: boolean): void {
    if ("changed" in request) {
      this.changedThere();
      return;
    }
    lookAround();
    this.answers?.requested(restored(request, mayHoldBytes));
  }

  aborted(requestId: string): void {
    this.answers?.aborted(requestId);
  }

  goOn(requestId: string): void {
    this.answers?.mayGoOn(requestId);
  }
}

class Transport implements HubTransport, Peer {
  readonly name = "the hub";
  readonly callMap: Requests;
  readonly #native: Native;
  readonly #peer: HubPeer;
  readonly #pending: PendingWork<string>;
  readonly #news: News;
  #registry: OperationRegistry | undefined;
  /** The first offer of it. */
  #served: Promise<HubOffer> | undefined;
  /** Ends following what is registered. */
  #following: (() => void) | undefined;
  readonly connection: Connection = { kind: "hub", name: this.name, state: () => this.status().state };
  readonly #imports = new Imports(this);

  constructor(connected: Native, pending: PendingWork<string>, news: News) {
    this.#native = connected;
    this.#peer = connected.peer(pending.mailbox);
    this.#pending = pending;
    this.#news = news;
    this.callMap = new Requests(this.#peer, pending, "websocket");
    news.watchers.begin(JSON.parse(connected.status()));
    news.changedThere = () => this.#imports.changed();
    news.watchers.add("reconnected", () => this.#imports.changed());
  }

  // Functions of the object and not of its class, so that they can be taken out of it.

  readonly serve = async (registry: OperationRegistry, options: HubServeOptions = {}): Promise<HubOffer> => {
    const checked = checkedOptions<HubServeOptions>(options, SERVE_FIELDS, { prefix: "serve: " });
    assertRegistry(registry, "serve");
    if (this.#registry === registry) {
      await this.#served;
      return this.#offer();
    }
    if (this.#registry !== undefined) {
      throw invalidServe(
        "this connection already serves another registry. Open a second connection for this one",
      );
    }
    this.#registry = registry;
    this.#served = this.#serve(registry, checked);
    return this.#served;
  };

  async #serve(registry: OperationRegistry, options: HubServeOptions): Promise<HubOffer> {
    const { concurrency = CONCURRENCY, queue, overrun } = options;
    const twin = registry.nativeTwin();
    this.#news.answers ??= new Answers(this.#native, registry, { concurrency, overrun });
    this.#native.serve(twin.native, JSON.stringify({ concurrency, queue }));
    // A server stays up until it is closed.
    keepAlive(this);
    this.#following = registry.onChange(coalesced(() => this.#offerAgain()));
    try {
      return await this.#offer();
    } catch (error) {
      this.#following();
      this.#registry = undefined;
      letGo(this);
      throw error;
    }
  }

  async #offer(): Promise<HubOffer> {
    const registry = this.#registry as OperationRegistry;
    // What was imported from the hub is not offered back to it.
    const own = describeAll(registry).filter(({ handler }) => traitsOf(handler).peer !== this);
    const answer = JSON.parse(await this.#native.offer(own.map(({ text }) => text)));
    return { operations: Array.isArray(answer.operations) ? answer.operations : [] };
  }

  #offerAgain(): void {
    if (this.#registry === undefined) return;
    this.#offer().catch((error) => {
      log.error(`The hub did not take the operations that have changed: ${messageOf(error)}`, {});
    });
  }

  readonly discover = async (): Promise<HubDiscovery> => {
    const text = await keepAliveDuring(this.#peer.discover());
    return { operations: readDescriptions(JSON.parse(text)) };
  };

  readonly import = async (options: ImportOptions = {}): Promise<PeerOperation[]> =>
    this.#imports.import(checkedImport(options), this.discover);

  nativeWork(operationId: string): NativeWork {
    return {
      isPossible: () => true,
      ownsSchema: () => false,
      register: (registry, spec, { input, output }) =>
        registry.setPeer(spec, input, output, this.#peer, operationId),
    };
  }

  readonly stats = (): HubStats => ({
    ...JSON.parse(this.#native.stats()),
    overrunning: this.#news.answers?.overrunning ?? 0,
  });

  readonly status = (): LinkStatus => statusOf(JSON.parse(this.#native.status()));

  readonly on = (event: LinkEvent, listener: (status: LinkStatus) => unknown): (() => void) =>
    this.#news.watchers.add(event, listener);

  readonly close = closedOnce((drain) => this.#close(drain));

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(drain: number): Promise<void> {
    this.callMap.flush();
    this.#news.answers?.flush();
    try {
      await keepAliveDuring(this.#native.close(drain));
      this.#pending.drain();
      this.#imports.end();
      this.#news.watchers.tell("closed", this.status());
    } finally {
      this.#following?.();
      this.#registry?.nativeTwin().flush();
      letGo(this);
    }
  }
}

function invalidServe(sentence: string): CallError {
  return new CallError(InfrastructureErrorCode.VALIDATION_ERROR, `serve: ${sentence}`);
}
