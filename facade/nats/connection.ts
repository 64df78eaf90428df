import { randomUUID } from "node:crypto";
import { clearInterval, setInterval } from "node:timers";
import type { AnswersOptions } from "../call/answers.js";
import { describedText } from "../call/described.js";
import { DISCOVER_FOR, discoverReliably, REDISCOVER_EVERY } from "../call/discovery.js";
import { checkedImport, type PeerOperation } from "../call/imported.js";
import { CONCURRENCY, NativeConnection } from "../call/native-connection.js";
import type { CallTransport, CloseOptions, RemoteCallMap } from "../call/transport.js";
import { type VerifyIdentity, verifiedAsker } from "../call/verify-identity.js";
import { wireText } from "../call/wire-value.js";
import { invalid } from "../errors.js";
import { keepAliveDuring } from "../interop/keep-alive.js";
import type { ConnectionEvent, ConnectionStatus } from "../interop/link.js";
import {
  aBoolean,
  aCount,
  aFunction,
  aSecret,
  aSize,
  aString,
  checkedOptions,
  type Fields,
  group,
  isListOf,
  isString,
  must,
  required,
} from "../interop/options.js";
import { PendingWork } from "../interop/pending-work.js";
import { aFileToRead, assertPermitted } from "../interop/permission.js";
import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import type { NatsConnection as Native } from "../native-binding.js";
import type { OperationRegistry } from "../registry/registry.js";
import { native, runtime } from "../runtime.js";
import type { Identity } from "../types.js";
import {
  checkedDiscover,
  type Introduction,
  type NatsDiscoverOptions,
  type NatsDiscovery,
  type NatsImportOptions,
  readDiscovery,
} from "./discovery.js";

/**
 * Credentials. They never appear in messages or log lines.
 *
 * @example
 * ```ts
 * const auth: NatsAuth = { credentialsFile: "/run/secrets/hub.creds" };
 * ```
 */
export interface NatsAuth {
  user?: string;
  password?: string;
  token?: string;
  /** The seed of an NKey (`SU...`). */
  nkey?: string;
  /** The text of a credentials file. */
  credentials?: string;
  credentialsFile?: string;
}

/**
 * TLS with more than the system's own certificates. `tls://` addresses need no such options.
 *
 * @example
 * ```ts
 * const tls: NatsTls = { caFile: "/etc/nats/ca.pem" };
 * ```
 */
export interface NatsTls {
  /** Certificates of authorities (PEM), instead of the system's. */
  caFile?: string;
  /** A certificate of our own, with its key (PEM). */
  certFile?: string;
  keyFile?: string;
  /** TLS before the server's greeting, for servers with `handshake_first`. */
  first?: boolean;
}

/**
 * Address and credentials of the broker, and options of this connection.
 *
 * @example
 * ```ts
 * const options: NatsOptions = { servers: ["nats://a:4222", "nats://b:4222"], name: "worker-1", prefix: "shop" };
 * ```
 */
export interface NatsOptions {
  /** `nats://host:port`, `tls://host:port` or `host:port`; several for a cluster. */
  servers: string | readonly string[];
  /** The name of this connection in `discover()` and in the server's own lists. */
  name: string;
  /** The beginning of all subjects (default `operations`). Callers and workers with the same prefix find each other. */
  prefix?: string;
  /** The queue group in which workers share the calls (default `workers`). */
  queueGroup?: string;
  /** @deprecated Use `queueGroup`. */
  queue?: string;
  /**
   * A name for the place where answers to this connection go: `<prefix>.peer.<inbox>.<id>`. With it, an account can be
   * limited to its own answers.
   */
  inbox?: string;
  tls?: boolean | NatsTls;
  auth?: NatsAuth;
  /** How many calls may wait for a worker or for the connection (default 100,000). Further calls are refused. */
  maxWaiting?: number;
  /** If no server can be reached: resolve immediately and keep trying, while calls wait (default: reject). */
  waitOnFirstConnect?: boolean;
}

/**
 * Options of `serve`.
 *
 * @example
 * ```ts
 * const options: NatsServeOptions = { concurrency: 16 };
 * ```
 */
export interface NatsServeOptions {
  /** How many calls and streams run at the same time (default 256). */
  concurrency?: number;
  /**
   * How many handlers may still run after their call was aborted or timed out, in addition to `concurrency` (default:
   * the value of `concurrency`, at least 16). Beyond that, a permit becomes free only when its handler ends.
   */
  overrun?: number;
  /**
   * Checks the identity that a request claims. Every call then goes through JavaScript, calls of imported operations
   * too. By default every claim is accepted.
   */
  verifyIdentity?: VerifyIdentity;
}

/** @deprecated Use `CloseOptions` of `@alkdev/operations`. */
export type NatsCloseOptions = CloseOptions;

/**
 * Counters of a connection.
 *
 * @example
 * ```ts
 * const stats: NatsStats = nats.stats();
 * ```
 */
export interface NatsStats {
  /** Messages that were dropped because they do not follow the protocol. */
  malformed: number;
  malformedBy: Record<string, number>;
  /** Notices that were not sent because too many waited; they are repeated. */
  droppedNotices: number;
  reconnections: number;
  /** Calls and streams that are running. */
  running: number;
  /** Handlers that still run although their call was aborted or timed out. */
  overrunning: number;
}

/** @deprecated Use `ConnectionStatus` of `@alkdev/operations`. */
export type NatsStatus = ConnectionStatus;

/** @deprecated Use `ConnectionEvent` of `@alkdev/operations`. */
export type NatsEvent = ConnectionEvent;

/** @deprecated Use `RemoteCallMap` of `@alkdev/operations`. */
export type NatsCallMap = RemoteCallMap;

/**
 * A connection to NATS.
 *
 * @example
 * ```ts
 * const hub: NatsTransport = await connectNats({ servers: "nats://localhost:4222", name: "hub" });
 * await hub.serve(registry);
 * await hub.close();
 * ```
 */
export interface NatsTransport extends CallTransport {
  /** The id under which workers and callers know this connection. */
  readonly id: string;
  /** Calls operations that are served on the same prefix. */
  readonly callMap: RemoteCallMap;
  /**
   * Serves the operations of a registry, including operations that are registered later. Call it again to wait until
   * these are served, or with another `concurrency`; options that you leave out stay the same.
   */
  readonly serve: (registry: OperationRegistry, options?: NatsServeOptions) => Promise<void>;
  /** The workers, and whole specs of the operations that they serve and the caller may call. */
  readonly discover: (options?: NatsDiscoverOptions) => Promise<NatsDiscovery>;
  /** Makes operations of them that work here like any other. */
  readonly import: (options?: NatsImportOptions) => Promise<PeerOperation[]>;
  /** Counters of the connection. */
  readonly stats: () => NatsStats;
  /** Whether there is a connection now. */
  readonly status: () => ConnectionStatus;
  /** Adds a listener for changes of the connection. Returns a function that removes it. */
  readonly on: (event: ConnectionEvent, listener: (status: ConnectionStatus) => unknown) => () => void;
  /** Refuses new calls, lets running calls finish, then closes the connection. Calls without an answer reject. */
  readonly close: (options?: CloseOptions) => Promise<void>;
  /** `await using nats = await connectNats(...)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}

const log = logger("nats");

/** The interval of heartbeats from our event loop to the native side, in milliseconds. */
const TURN_EVERY = 100;

/** What addresses and subjects must look like is checked natively. */
const FIELDS: Fields<NatsOptions> = {
  servers: required(
    must(
      "an address (nats://host:port) or a list of them",
      (value) => isString(value) || isListOf(value, isString),
      { secret: true },
    ),
  ),
  name: required(aString),
  prefix: aString,
  queueGroup: aString,
  queue: aString,
  inbox: aString,
  tls: (value, path) => (typeof value === "boolean" ? value : tlsFields(value, path)),
  auth: group<NatsAuth>({
    user: aSecret,
    password: aSecret,
    token: aSecret,
    nkey: aSecret,
    credentials: aSecret,
    credentialsFile: aFileToRead,
  }),
  maxWaiting: aSize,
  waitOnFirstConnect: aBoolean,
};
const SERVE_FIELDS: Fields<NatsServeOptions> = {
  concurrency: aSize,
  overrun: aCount,
  verifyIdentity: aFunction,
};
const tlsFields = group<NatsTls>({
  caFile: aFileToRead,
  certFile: aFileToRead,
  keyFile: aFileToRead,
  first: aBoolean,
});

/**
 * Connects to NATS. Nothing is started before this is called.
 *
 * @example
 * ```ts
 * const nats = await connectNats({ servers: "nats://127.0.0.1:4222", name: "worker-1" });
 * await nats.serve(registry, { concurrency: 16 });
 * await nats.callMap.call("demo.greet", { name: "Ada" }, { deadline: Date.now() + 5_000 });
 * ```
 */
export async function connectNats(options: NatsOptions): Promise<NatsTransport> {
  const checked = checkedOptions<NatsOptions>(options, FIELDS, { prefix: "connectNats: " });
  assertPermitted("net", "connectNats");
  const { servers, tls, queueGroup, queue, ...rest } = checked;
  const text = JSON.stringify({
    ...rest,
    queueGroup: queueGroup ?? queue,
    servers: typeof servers === "string" ? [servers] : servers,
    tls: tls === true ? {} : tls === false ? undefined : tls,
  });
  const pending = new PendingWork<string>(randomUUID);
  return new Transport(await native.connectNats(runtime, pending.mailbox, text), pending);
}

/** `concurrency` is known: it has a default. */
type Settings = AnswersOptions & { readonly concurrency: number };

/** The options of this call of `serve`, and of those before. */
function settingsOf(
  { concurrency, overrun, verifyIdentity }: NatsServeOptions,
  before: Settings | undefined,
): Settings {
  if (before === undefined) return { concurrency: concurrency ?? CONCURRENCY, overrun, verifyIdentity };
  for (const [name, value] of Object.entries({ overrun, verifyIdentity })) {
    if (value === undefined || value === before[name as "overrun" | "verifyIdentity"]) continue;
    throw invalid(`serve: ${name} cannot be changed once this connection serves`);
  }
  return { ...before, concurrency: concurrency ?? before.concurrency };
}

class Transport
  extends NativeConnection<Native, NatsStats, { introduce: Introduction }>
  implements NatsTransport
{
  readonly id: string;
  #settings: Settings | undefined;
  #turning: NodeJS.Timeout | undefined;
  #rediscovering: NodeJS.Timeout | undefined;

  constructor(connected: Native, pending: PendingWork<string>) {
    super("the workers", connected, connected, pending, "nats", { door: "nats" });
    this.id = connected.id;
  }

  readonly serve = async (registry: OperationRegistry, options: NatsServeOptions = {}): Promise<void> => {
    const checked = checkedOptions<NatsServeOptions>(options, SERVE_FIELDS, { prefix: "serve: " });
    const isServing = this.isServing(registry);
    const settings = settingsOf(checked, isServing ? this.#settings : undefined);
    this.#settings = settings;
    if (isServing) return this.#serve(registry, settings);
    return this.start(
      registry,
      settings,
      () => void this.#serveAgain(registry),
      () => this.#serve(registry, settings),
    );
  };

  /** Serves what was registered since, and describes what has changed. */
  async #serveAgain(registry: OperationRegistry): Promise<void> {
    try {
      await this.#serve(registry, this.#settings as Settings);
    } catch (error) {
      if (this.isClosing) return;
      log.error(`Operations that have changed are not served: ${messageOf(error)}`, {});
    }
  }

  async #serve(registry: OperationRegistry, { concurrency, verifyIdentity }: Settings): Promise<void> {
    // To serve what was imported over this very connection would be to call oneself.
    const { own, imported } = this.describe();
    await this.native.serve(
      registry.nativeMirror().native,
      concurrency,
      verifyIdentity !== undefined,
      describedText(own),
      imported.map(({ id }) => id),
    );
    if (this.isClosing) return;
    this.native.turned();
    this.#turning ??= setInterval(() => this.native.turned(), TURN_EVERY).unref();
  }

  protected override async received({ introduce }: { introduce: Introduction }): Promise<void> {
    const { from, question } = introduce;
    const verify = this.#settings?.verifyIdentity;
    let shownTo: Identity | undefined;
    try {
      shownTo =
        verify &&
        (await verifiedAsker(
          (claimed, message) => verify(claimed, { ...message, from }),
          question,
          introduce,
        ));
    } catch {
      // An identity that is refused counts as none: operations that need no identity are shown.
    }
    this.native.introduce(from, question, shownTo === undefined ? null : JSON.stringify(shownTo));
  }

  readonly discover = async (options: NatsDiscoverOptions = {}): Promise<NatsDiscovery> => {
    const { timeout = DISCOVER_FOR, ...request } = checkedDiscover(options, "discover: ");
    const text = wireText(request, "The question cannot be sent") as string;
    return readDiscovery(await keepAliveDuring(this.native.discover(timeout, text)));
  };

  readonly import = async (options: NatsImportOptions = {}): Promise<PeerOperation[]> => {
    const { identity, metadata, timeout, ...rest } = options;
    const request = checkedDiscover({ identity, metadata, timeout } as NatsDiscoverOptions, "import: ");
    const imported = await this.imports.import(checkedImport(rest), discoverReliably(this, request));
    if (this.imports.isFollowing && !this.isClosing) {
      this.#rediscovering ??= setInterval(() => this.imports.changed(), REDISCOVER_EVERY).unref();
    }
    return imported;
  };

  protected override async closeConnection(drain: number): Promise<void> {
    try {
      await super.closeConnection(drain);
    } finally {
      clearInterval(this.#turning);
      clearInterval(this.#rediscovering);
    }
  }
}
