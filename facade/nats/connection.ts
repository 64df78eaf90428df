import { randomUUID } from "node:crypto";
import { clearInterval, setInterval } from "node:timers";
import { closedOnce } from "../border/closing.js";
import type { Receiver } from "../border/inbox.js";
import { keepAlive, keepAliveDuring, letGo } from "../border/keep-alive.js";
import { type LinkNews, statusOf, Watchers } from "../border/link.js";
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
} from "../border/options.js";
import { PendingWork } from "../border/pending-work.js";
import { aFileToRead } from "../border/permission.js";
import { coalesced } from "../border/turns.js";
import { Answers, type AnswersOptions } from "../call/answers.js";
import { type Described, describeAll, describedText } from "../call/described.js";
import type { CallRequestedEvent } from "../call/events.js";
import { checkedImport, type Peer, type PeerOperation } from "../call/imported.js";
import { Imports } from "../call/imports.js";
import { Requests } from "../call/requests.js";
import type { CallTransport } from "../call/transport.js";
import type { VerifyIdentity } from "../call/verify-identity.js";
import { restored, wireText } from "../call/wire-value.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import type { NatsConnection as Native } from "../native-binding.js";
import { assertRegistry } from "../registry/assert-registry.js";
import type { Connection } from "../registry/connection-state.js";
import { traitsOf } from "../registry/handler-traits.js";
import { lookAround } from "../registry/native-handler.js";
import type { Via } from "../registry/protocol-context.js";
import type { OperationRegistry } from "../registry/registry.js";
import { native, runtime } from "../runtime.js";
import type { Identity } from "../types.js";
import type { NatsCallMap } from "./call-map.js";
import {
  checkedDiscover,
  DISCOVER_FOR,
  type Introduction,
  type NatsDiscoverOptions,
  type NatsDiscovery,
  type NatsImportOptions,
  readDiscovery,
  surely,
  verifiedAsker,
} from "./discovery.js";
import type { NatsEvent, NatsStatus } from "./status.js";

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
   * the value of `concurrency`, at least 16). Beyond that, a place becomes free only when its handler ends.
   */
  overrun?: number;
  /**
   * Checks the identity that a request claims. Every call then goes through JavaScript, calls of imported operations
   * too. By default every claim is accepted.
   */
  verifyIdentity?: VerifyIdentity;
}

/**
 * Options of `close`.
 *
 * @example
 * ```ts
 * const options: NatsCloseOptions = { drain: 30_000 };
 * ```
 */
export interface NatsCloseOptions {
  /** How long running work may take to finish, in milliseconds (default 10,000). */
  drain?: number;
}

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
  readonly callMap: NatsCallMap;
  /**
   * Serves the operations that are in the registry now. Call it again to add operations that were registered later.
   * Options that you leave out stay the same.
   */
  readonly serve: (registry: OperationRegistry, options?: NatsServeOptions) => Promise<void>;
  /** The workers, and whole specs of the operations that they serve and the caller may call. */
  readonly discover: (options?: NatsDiscoverOptions) => Promise<NatsDiscovery>;
  /** Makes operations of them that work here like any other. */
  readonly import: (options?: NatsImportOptions) => Promise<PeerOperation[]>;
  /** Counters of the connection. */
  readonly stats: () => NatsStats;
  /** Whether there is a connection now. */
  readonly status: () => NatsStatus;
  /** Adds a listener for changes of the connection. Returns a function that removes it. */
  readonly on: (event: NatsEvent, listener: (status: NatsStatus) => unknown) => () => void;
  /** Refuses new calls, lets running calls finish, then closes the connection. Calls without an answer reject. */
  readonly close: (options?: NatsCloseOptions) => Promise<void>;
  /** `await using nats = await connectNats(...)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** How calls come here: for those who watch. */
const VIA: Via = { door: "nats" };
/** How often those who follow what is served look for workers that have disappeared. In milliseconds. */
const LOOK_EVERY = 10_000;
/** How often the native side hears that our event loop turns, and what is served is looked at for changes that nobody
 * tells of. In milliseconds. */
const TURN_EVERY = 100;
const CONCURRENCY = 256;

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
  const { servers, tls } = checked;
  const text = JSON.stringify({
    ...checked,
    servers: typeof servers === "string" ? [servers] : servers,
    tls: tls === true ? {} : tls === false ? undefined : tls,
  });
  const served = new Served();
  const pending = new PendingWork<string>(randomUUID, served);
  return new Transport(await native.connectNats(runtime, pending.mailbox, text), pending, served);
}

/** `concurrency` is known: it has a usual value. */
type Settings = AnswersOptions & { readonly concurrency: number };

/** What `serve` was told now and before. */
function settingsOf(
  { concurrency, overrun, verifyIdentity }: NatsServeOptions,
  before: Settings | undefined,
): Settings {
  if (before === undefined) return { concurrency: concurrency ?? CONCURRENCY, overrun, verifyIdentity };
  for (const [name, value] of Object.entries({ overrun, verifyIdentity })) {
    if (value === undefined || value === before[name as "overrun" | "verifyIdentity"]) continue;
    throw new CallError(
      InfrastructureErrorCode.VALIDATION_ERROR,
      `serve: ${name} cannot be changed once this connection serves`,
    );
  }
  return { ...before, concurrency: concurrency ?? before.concurrency };
}

/** What is served, if anything is. */
class Served implements Receiver {
  registry: OperationRegistry | undefined;
  answers: Answers | undefined;
  settings: Settings | undefined;
  readonly watchers = new Watchers();

  /** What workers serve may have changed. */
  workersChanged: () => void = () => {};
  /** Somebody whom we have to verify asks what is served. */
  introduce: (asked: Introduction) => void = () => {};

  changed(what: string, news: LinkNews): void {
    if (what === "workers") this.workersChanged();
    else this.watchers.changed(news);
  }

  asked(_: string, request: CallRequestedEvent | { introduce: Introduction }, mayHoldBytes: boolean): void {
    if ("introduce" in request) {
      this.introduce(request.introduce);
      return;
    }
    lookAround();
    this.answers?.requested(restored(request, mayHoldBytes), undefined, VIA);
  }

  aborted(requestId: string): void {
    this.answers?.aborted(requestId);
  }

  goOn(requestId: string): void {
    this.answers?.mayGoOn(requestId);
  }
}

class Transport implements NatsTransport, Peer {
  readonly id: string;
  readonly name = "the workers";
  readonly callMap: Requests;
  readonly #native: Native;
  readonly #pending: PendingWork<string>;
  readonly #served: Served;
  readonly connection: Connection = { kind: "nats", name: this.name, state: () => this.status().state };
  readonly #imports = new Imports(this);
  #isClosing = false;
  #turning: NodeJS.Timeout | undefined;
  #looking: NodeJS.Timeout | undefined;
  /** Ends following what is registered. */
  #following: (() => void) | undefined;

  constructor(connected: Native, pending: PendingWork<string>, served: Served) {
    this.#native = connected;
    this.#pending = pending;
    this.#served = served;
    this.id = connected.id;
    this.callMap = new Requests(connected, pending, "nats");
    served.watchers.begin(JSON.parse(connected.status()));
    served.workersChanged = () => this.#imports.changed();
    served.watchers.add("reconnected", () => this.#imports.changed());
    served.introduce = (asked) => void this.#introduce(asked);
  }

  // Functions of the object and not of its class, so that they can be taken out of it:
  // `const { callMap, serve, close } = await connectNats(...)`.

  readonly serve = async (registry: OperationRegistry, options: NatsServeOptions = {}): Promise<void> => {
    const checked = checkedOptions<NatsServeOptions>(options, SERVE_FIELDS, { prefix: "serve: " });
    assertRegistry(registry, "serve");
    const served = this.#served;
    const isFirst = served.registry === undefined;
    if (!isFirst && served.registry !== registry) {
      throw new CallError(
        InfrastructureErrorCode.VALIDATION_ERROR,
        "serve: this connection already serves another registry. Open a second connection for this one",
      );
    }
    const settings = settingsOf(checked, served.settings);
    served.registry = registry;
    served.settings = settings;
    served.answers ??= new Answers(this.#native, registry, settings);
    // A server stays up until it is closed.
    keepAlive(this);
    this.#following ??= registry.onChange(coalesced(() => this.#tellOperations(registry)));
    try {
      const twin = registry.nativeTwin();
      const [own, imported] = this.#described(registry);
      await this.#native.serve(
        twin.native,
        settings.concurrency,
        settings.verifyIdentity !== undefined,
        describedText(own),
        imported.map(({ id }) => id),
      );
      if (!this.#isClosing) {
        this.#native.turned();
        this.#turning ??= setInterval(() => this.#native.turned(), TURN_EVERY).unref();
      }
    } catch (error) {
      if (isFirst) {
        this.#following();
        this.#following = undefined;
        served.registry = undefined;
        served.answers = undefined;
        served.settings = undefined;
        letGo(this);
      }
      throw error;
    }
  };

  /** What is served, and what was imported over this very connection: to serve that would be to call oneself. */
  #described(registry: OperationRegistry): [own: Described[], imported: Described[]] {
    const all = describeAll(registry);
    const isImported = ({ handler }: Described) => traitsOf(handler).peer === this;
    return [all.filter((each) => !isImported(each)), all.filter(isImported)];
  }

  #tellOperations(registry: OperationRegistry): void {
    if (!this.#isClosing) this.#native.list(describedText(this.#described(registry)[0]));
  }

  async #introduce({ from, question, identity, metadata }: Introduction): Promise<void> {
    const verify = this.#served.settings?.verifyIdentity;
    let shownTo: Identity | undefined;
    try {
      shownTo = verify && (await verifiedAsker(verify, { from, question, identity, metadata }));
    } catch {
      // Whoever is not believed is nobody: they are told what needs no identity.
    }
    this.#native.introduce(from, question, shownTo === undefined ? null : JSON.stringify(shownTo));
  }

  readonly discover = async (options: NatsDiscoverOptions = {}): Promise<NatsDiscovery> => {
    const { timeout = DISCOVER_FOR, ...asking } = checkedDiscover(options, "discover: ");
    const text = wireText(asking, "The question cannot be sent") as string;
    return readDiscovery(await keepAliveDuring(this.#native.discover(timeout, text)));
  };

  readonly import = async (options: NatsImportOptions = {}): Promise<PeerOperation[]> => {
    const { identity, metadata, timeout, ...rest } = options;
    const asking = checkedDiscover({ identity, metadata, timeout } as NatsDiscoverOptions, "import: ");
    const imported = await this.#imports.import(checkedImport(rest), surely(this, asking));
    if (this.#imports.isFollowing && !this.#isClosing) {
      this.#looking ??= setInterval(() => this.#imports.changed(), LOOK_EVERY).unref();
    }
    return imported;
  };

  readonly stats = (): NatsStats => ({
    ...JSON.parse(this.#native.stats()),
    overrunning: this.#served.answers?.overrunning ?? 0,
  });

  readonly status = (): NatsStatus => statusOf(JSON.parse(this.#native.status()));

  readonly on = (event: NatsEvent, listener: (status: NatsStatus) => unknown): (() => void) =>
    this.#served.watchers.add(event, listener);

  readonly close = closedOnce((drain) => this.#close(drain));

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(drain: number): Promise<void> {
    this.#isClosing = true;
    this.callMap.flush();
    this.#served.answers?.flush();
    try {
      await keepAliveDuring(this.#native.close(drain));
      this.#pending.drain();
      this.#imports.end();
      this.#served.watchers.tell("closed", this.status());
    } finally {
      clearInterval(this.#turning);
      this.#following?.();
      clearInterval(this.#looking);
      this.#served.registry?.nativeTwin().flush();
      letGo(this);
    }
  }
}
