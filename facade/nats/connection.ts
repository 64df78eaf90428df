import type { CallRequestedEvent } from "../call/events.js";
import type { ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { logger } from "../logging.js";
import type { NatsConnection as Native } from "../native-binding.js";
import { lookAround } from "../registry/native-handler.js";
import { OperationRegistry } from "../registry/registry.js";
import { native, runtime } from "../runtime.js";
import { Answers } from "./answers.js";
import { type NatsCallMap, Requests, type WireError } from "./call-map.js";
import { KeepAlive } from "./keep-alive.js";

/** Credentials. They appear in no message and no log line. */
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

/** TLS with more than the system's own certificates. `tls://` addresses need no such options. */
export interface NatsTls {
  /** Certificates of authorities (PEM), instead of the system's. */
  caFile?: string;
  /** A certificate of our own, with its key (PEM). */
  certFile?: string;
  keyFile?: string;
  /** TLS before the server's greeting, for servers with `handshake_first`. */
  first?: boolean;
}

export interface NatsOptions {
  /** `nats://host:port`, `tls://host:port` or `host:port`; several for a cluster. */
  servers: string | readonly string[];
  /** What this connection is called in `discover()` and in the server's own lists. */
  name: string;
  /** The beginning of all subjects (`operations` unless told). Callers and workers of one prefix find each other. */
  prefix?: string;
  /** The queue group in which workers share the calls (`workers` unless told). */
  queue?: string;
  tls?: boolean | NatsTls;
  auth?: NatsAuth;
}

export interface NatsServeOptions {
  /** How many calls and streams are worked on at a time (256 unless told). */
  concurrency?: number;
}

export interface NatsDiscoverOptions {
  /** How long workers are listened to, in milliseconds (300 unless told). */
  timeout?: number;
}

export interface NatsCloseOptions {
  /** How long running work may take to finish, in milliseconds (10,000 unless told). */
  drain?: number;
}

export interface NatsWorkerInfo {
  id: string;
  name: string;
  concurrency: number;
  running: number;
  operations: string[];
}

export interface NatsOperationInfo {
  operationId: string;
  type: string;
  description?: string;
  /** The ids of the workers that serve it. */
  workers: string[];
}

export interface NatsDiscovery {
  operations: NatsOperationInfo[];
  workers: NatsWorkerInfo[];
}

export interface NatsStats {
  /** Messages that were dropped because they follow no protocol of ours. */
  malformed: number;
  malformedBy: Record<string, number>;
  /** Notices that were not sent because too many waited; they are repeated. */
  droppedNotices: number;
  reconnections: number;
}

/** A connection to NATS. */
export interface NatsTransport {
  /** The id under which workers and callers know this connection. */
  readonly id: string;
  /** Calls operations that are served on the same prefix. */
  readonly callMap: NatsCallMap;
  /** Serves the operations that the registry holds now. Called again, it adds those that were registered since. */
  readonly serve: (registry: OperationRegistry, options?: NatsServeOptions) => Promise<void>;
  /** Who is there, and what they serve. */
  readonly discover: (options?: NatsDiscoverOptions) => Promise<NatsDiscovery>;
  /** What was counted since it was made. */
  readonly stats: () => NatsStats;
  /** Takes nothing new, finishes what runs, then ends the connection. Calls without an answer reject. */
  readonly close: (options?: NatsCloseOptions) => Promise<void>;
}

/** What the native side hands over (`crates/operations-nats/src/delivery.rs`): an answer, an event of a stream, an
 * error and the end of a stream for those who call; a request, an abort and leave to go on for those who serve. */
type Item =
  | ["r", string, ResponseEnvelope]
  | ["v", string, ResponseEnvelope]
  | ["e", string, WireError]
  | ["d", string, undefined]
  | ["q", CallRequestedEvent, undefined]
  | ["a", string, undefined]
  | ["c", string, undefined];

const DISCOVER_FOR = 300;
const DRAIN_FOR = 10_000;
const log = logger("nats");

/** Connects to NATS. Nothing is started before this is called. */
export async function connectNats(options: NatsOptions): Promise<NatsTransport> {
  const { servers, tls } = options;
  const text = JSON.stringify({
    ...options,
    servers: typeof servers === "string" ? [servers] : servers,
    tls: tls === true ? {} : tls === false ? undefined : tls,
  });
  // The native side holds the function, and the function the connection: weakly, so that one that nobody
  // holds any more goes.
  let transport: WeakRef<Transport> | undefined;
  const connected = await native.connectNats(runtime, text, () => transport?.deref()?.look());
  const made = new Transport(connected);
  transport = new WeakRef(made);
  return made;
}

class Transport implements NatsTransport {
  readonly id: string;
  readonly callMap: Requests;
  readonly #native: Native;
  readonly #keepAlive = new KeepAlive(this);
  #served: { registry: OperationRegistry; answers: Answers } | undefined;
  #closing: Promise<void> | undefined;

  constructor(connected: Native) {
    this.#native = connected;
    this.id = connected.id;
    this.callMap = new Requests(connected, this.#keepAlive);
  }

  // Functions of the object and not of its class, so that they can be taken out of it:
  // `const { callMap, serve, close } = await connectNats(...)`.

  readonly serve = async (
    registry: OperationRegistry,
    { concurrency }: NatsServeOptions = {},
  ): Promise<void> => {
    if (!(registry instanceof OperationRegistry)) {
      throw new CallError(InfrastructureErrorCode.VALIDATION_ERROR, "serve: an OperationRegistry is needed");
    }
    if (this.#served !== undefined && this.#served.registry !== registry) {
      throw new CallError(
        InfrastructureErrorCode.VALIDATION_ERROR,
        "serve: this connection serves another registry already. Connect once more for this one",
      );
    }
    const isFirst = this.#served === undefined;
    this.#served ??= { registry, answers: new Answers(this.#native, registry) };
    // A server stays up until it is closed.
    if (isFirst) this.#keepAlive.acquire();
    try {
      await this.#native.serve(
        registry.nativeTwin().native,
        concurrency === undefined ? null : Number(concurrency),
      );
    } catch (error) {
      if (isFirst) {
        this.#served = undefined;
        this.#keepAlive.release();
      }
      throw error;
    }
  };

  readonly discover = async ({
    timeout = DISCOVER_FOR,
  }: NatsDiscoverOptions = {}): Promise<NatsDiscovery> => {
    this.#keepAlive.acquire();
    try {
      return JSON.parse(await this.#native.discover(Number(timeout)));
    } finally {
      this.#keepAlive.release();
    }
  };

  readonly stats = (): NatsStats => JSON.parse(this.#native.stats());

  readonly close = ({ drain = DRAIN_FOR }: NatsCloseOptions = {}): Promise<void> => {
    this.#closing ??= this.#close(drain);
    return this.#closing;
  };

  async #close(drain: number): Promise<void> {
    this.#keepAlive.acquire();
    this.callMap.flush();
    this.#served?.answers.flush();
    try {
      await this.#native.close(Number(drain));
      this.look();
    } finally {
      this.#keepAlive.end();
    }
  }

  /** Takes what has arrived. Called by the event loop itself, where an exception would be an uncaught one. */
  look(): void {
    lookAround();
    for (let batch = this.#native.take(); batch !== null; batch = this.#native.take()) {
      for (const item of JSON.parse(batch) as Item[]) {
        try {
          this.#receive(item);
        } catch (error) {
          log.error(`A message could not be handed on: ${String(error)}`);
        }
      }
    }
  }

  #receive(item: Item): void {
    const answers = this.#served?.answers;
    const [kind, first, second] = item;
    if (kind === "r") this.callMap.resolved(first, second);
    else if (kind === "v") this.callMap.event(first, second);
    else if (kind === "e") this.callMap.failed(first, second);
    else if (kind === "d") this.callMap.ended(first);
    else if (kind === "q") answers?.requested(first);
    else if (kind === "a") answers?.aborted(first);
    else answers?.mayGoOn(first);
  }
}
