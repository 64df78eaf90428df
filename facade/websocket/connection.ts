import { randomUUID } from "node:crypto";
import { type DiscoveredOperation, readDescriptions } from "../call/described.js";
import { checkedImport, type ImportOptions, type PeerOperation, peerWork } from "../call/imported.js";
import { CONCURRENCY, NativeConnection } from "../call/native-connection.js";
import type { CallTransport, CloseOptions, RemoteCallMap } from "../call/transport.js";
import { mapError } from "../errors.js";
import { keepAliveDuring } from "../interop/keep-alive.js";
import type { ConnectionEvent, ConnectionStatus } from "../interop/link.js";
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
} from "../interop/options.js";
import { PendingWork } from "../interop/pending-work.js";
import { aFileToRead, assertPermitted } from "../interop/permission.js";
import { kindOf, messageOf } from "../interop/text.js";
import { AUTHORITIES, type Authorities } from "../interop/tls.js";
import { logger } from "../logging.js";
import type { HubPeer, HubConnection as Native } from "../native-binding.js";
import type { NativeWork } from "../registry/native-handler.js";
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
  tls?: Authorities;
  /** @deprecated Use `tls: { caFile }`. */
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
  /** How many calls may wait for a permit (default 1,024). Further calls are refused. */
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

/** @deprecated Use `ConnectionStatus` of `@alkdev/operations`. */
export type HubStatus = ConnectionStatus;

/** @deprecated Use `ConnectionEvent` of `@alkdev/operations`. */
export type HubEvent = ConnectionEvent;

/** @deprecated Use `CloseOptions` of `@alkdev/operations`. */
export type HubCloseOptions = CloseOptions;

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
  readonly status: () => ConnectionStatus;
  /** Adds a listener for changes of the connection. Returns a function that removes it. */
  readonly on: (event: ConnectionEvent, listener: (status: ConnectionStatus) => unknown) => () => void;
  readonly close: (options?: CloseOptions) => Promise<void>;
  /** `await using hub = await connectHub(...)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}

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
  tls: group<Authorities>(AUTHORITIES),
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
  assertPermitted("net", "connectHub");
  const { reconnect = true, headers, tls, caFile, ...rest } = checked;
  const authorities: Authorities | undefined = tls ?? (caFile === undefined ? undefined : { caFile });
  if (authorities?.ca !== undefined && authorities.caFile !== undefined) {
    throw refusal("connectHub: tls.caFile", "and ca exclude each other");
  }
  const text = JSON.stringify({
    ...rest,
    ...authorities,
    url,
    headers: Object.entries(headers ?? {}),
    reconnect: reconnect === false ? undefined : { ...RECONNECT, ...(reconnect === true ? {} : reconnect) },
  });
  const pending = new PendingWork<string>(randomUUID);
  return new Transport(await native.connectHub(runtime, pending.mailbox, text), pending);
}

class Transport extends NativeConnection<Native, HubStats, { changed: true }> implements HubTransport {
  readonly #peer: HubPeer;
  /** The first offer of what is served. */
  #served: Promise<HubOffer> | undefined;
  /** What the hub took last. */
  #accepted: readonly string[] = [];
  /** Why it did not take the last change, which is logged once. */
  #problem: string | undefined;

  constructor(connected: Native, pending: PendingWork<string>) {
    const peer = connected.peer(pending.mailbox);
    super("the hub", connected, peer, pending, "hub");
    this.#peer = peer;
  }

  protected override received(): void {
    this.imports.changed();
  }

  readonly serve = async (registry: OperationRegistry, options: HubServeOptions = {}): Promise<HubOffer> => {
    const checked = checkedOptions<HubServeOptions>(options, SERVE_FIELDS, { prefix: "serve: " });
    if (this.isServing(registry)) {
      await this.#served;
      return this.#offer();
    }
    const { concurrency = CONCURRENCY, queue, overrun } = checked;
    this.#served = this.start(
      registry,
      { concurrency, overrun },
      () => void this.#offerAgain(),
      async () => {
        this.native.serve(registry.nativeMirror().native, JSON.stringify({ concurrency, queue }));
        return this.#offer();
      },
    );
    return this.#served;
  };

  async #offer(leftOut: ReadonlySet<string> = new Set()): Promise<HubOffer> {
    const { own } = this.describe();
    const texts = own.map(({ text }) => text).filter((text) => !leftOut.has(idIn(text)));
    const answer = JSON.parse(await this.native.offer(texts));
    this.#accepted = texts;
    return { operations: Array.isArray(answer.operations) ? answer.operations : [] };
  }

  /** Offers what has changed. New operations whose names are taken at the hub are left out, so that the others follow. */
  async #offerAgain(leftOut = new Set<string>()): Promise<void> {
    try {
      await this.#offer(leftOut);
      if (leftOut.size === 0) this.#problem = undefined;
    } catch (error) {
      const problem = messageOf(error);
      if (leftOut.size > 0 || problem !== this.#problem) {
        log.error(`The hub did not accept operations that have changed: ${problem}`, {});
      }
      if (leftOut.size === 0) this.#problem = problem;
      const before = leftOut.size;
      const accepted = new Set(this.#accepted.map(idIn));
      for (const id of clashing(this.describe().own, error)) if (!accepted.has(id)) leftOut.add(id);
      if (leftOut.size > before) await this.#offerAgain(leftOut);
    }
  }

  readonly discover = async (): Promise<HubDiscovery> => {
    const text = await keepAliveDuring(this.#peer.discover());
    return { operations: readDescriptions(JSON.parse(text)) };
  };

  readonly import = async (options: ImportOptions = {}): Promise<PeerOperation[]> =>
    this.imports.import(checkedImport(options), this.discover);

  nativeWork(operationId: string): NativeWork {
    return peerWork(this.#peer, operationId);
  }
}

function idIn(description: string): string {
  const { namespace, name } = JSON.parse(description);
  return `${namespace}.${name}`;
}

/** The operations whose names the hub refuses. It may know them by another namespace. */
function clashing(own: ReadonlyArray<{ text: string }>, error: unknown): string[] {
  const { reason, operations } = Object(mapError(error).details);
  if (reason !== "collision" || !Array.isArray(operations)) return [];
  const names = new Set(operations.map((id) => String(id).replace(/^[^.]*\./, "")));
  return own.map(({ text }) => idIn(text)).filter((id) => names.has(id.replace(/^[^.]*\./, "")));
}
