import { closedOnce } from "../border/closing.js";
import { Inbox, type Receiver } from "../border/inbox.js";
import { keepAlive, keepAliveDuring, letGo } from "../border/keep-alive.js";
import { Answers, type AnswersOptions } from "../call/answers.js";
import { describeAll, describedText } from "../call/described.js";
import type { CallRequestedEvent } from "../call/events.js";
import { lineOf } from "../call/remote.js";
import { restored } from "../call/wire-value.js";
import { CallError, InfrastructureErrorCode, mapError } from "../errors.js";
import { logger } from "../logging.js";
import type { RegistryServer } from "../native-binding.js";
import { assertRegistry } from "../registry/assert-registry.js";
import { connectionStates } from "../registry/connection-state.js";
import { logFailure } from "../registry/failure-log.js";
import { lookAround } from "../registry/native-handler.js";
import type { NativeTwin } from "../registry/native-twin.js";
import { contextFromOutside, type Via } from "../registry/protocol-context.js";
import type { OperationRegistry } from "../registry/registry.js";
import { native, runtime } from "../runtime.js";
import type { OperationSpec } from "../types.js";
import { describeMcp } from "./describe.js";
import { describeHttp } from "./describe-http.js";
import { Hub, type ServedHub, type SpokeNews } from "./hub.js";
import { type AskedIdentity, failureOf, type Identify, identified } from "./identify.js";
import { type ClientAnswer, ClientLine, type Offers } from "./line.js";
import { checkedServe, nativeOptions, type ServeOptions } from "./options.js";
import { hostSpec, searchTools } from "./search-tools.js";

/**
 * Options of `close`.
 *
 * @example
 * ```ts
 * const options: ServeCloseOptions = { drain: 30_000 };
 * ```
 */
export interface ServeCloseOptions {
  /** How long running calls may take to finish, in milliseconds (default 10,000). */
  drain?: number;
}

/**
 * Counters of a server.
 *
 * @example
 * ```ts
 * const stats: ServeStats = served.stats();
 * ```
 */
export interface ServeStats {
  /** Connections that are open. */
  connections: number;
  /** Requests since the server was started. */
  requests: number;
  /** Requests that are being answered. */
  running: number;
  /** Calls that wait for a place (`concurrency`, `perOperation`, `perCaller`). */
  waiting: number;
  /** Requests that were answered with a status of 4XX. */
  refused: number;
  /** Requests that were answered with a status of 5XX. */
  failed: number;
}

/**
 * A registry that is served.
 *
 * @example
 * ```ts
 * const served: Served = await serve(registry, { doors: { http: true } });
 * console.log(`Listening at ${served.url}`);
 * await served.close();
 * ```
 */
export interface Served {
  /** The address on this machine: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Counters of the server. */
  readonly stats: () => ServeStats;
  /** The hub. `undefined` if its door is closed. */
  readonly hub?: ServedHub;
  /** Notifies MCP clients that watch this resource (`resources/subscribe`) that it has changed. */
  readonly resourceUpdated: (uri: string) => void;
  /** Refuses new requests, ends streams, lets running calls finish, and aborts the rest after `drain`. */
  readonly close: (options?: ServeCloseOptions) => Promise<void>;
  /** `await using served = await serve(...)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}

const log = logger("serve");

/** A call, as the native side hands it over. */
type AskedCall = CallRequestedEvent & { client?: Offers; via?: Via };

/** What it wants to know, or tells, beside calls. */
type AskedOther =
  | { identify: AskedIdentity }
  | { describe: true | "http" | "hub" }
  | { authorize: CallRequestedEvent }
  | { sources: true }
  | { joined: SpokeNews }
  | { left: { id: string } }
  | { changed: string }
  | { offer: { spoke: string; operations: string[] } };

/**
 * Serves the operations of a registry. Access rules apply to every caller. Internal operations are not served.
 *
 * @example
 * ```ts
 * const served = await serve(registry, { port: 8080, doors: { http: true } });
 * await fetch(`${served.url}/api/demo/greet`, {
 *   method: "POST",
 *   headers: { "content-type": "application/json" },
 *   body: JSON.stringify({ name: "Ada" }),
 * });
 * await served.close();
 * ```
 */
export async function serve(registry: OperationRegistry, options: ServeOptions): Promise<Served> {
  const checked = checkedServe(options);
  assertRegistry(registry, "serve");
  const offered = new Offered(registry, checked);
  try {
    const url = await keepAliveDuring(offered.native.listen(checked.host ?? "127.0.0.1", checked.port ?? 0));
    return new Listening(offered, url);
  } catch (error) {
    // Nobody looks after it any more.
    await offered.close(0);
    throw await sharedPortHint(error);
  }
}

/** Workers of `node:cluster` cannot share a port of native code: Node shares those that its own servers open. */
async function sharedPortHint(error: unknown): Promise<unknown> {
  if (!(error instanceof CallError) || Object(error.details).reason !== "address-in-use") return error;
  const { default: cluster } = await import("node:cluster");
  if (!cluster.isWorker) return error;
  const hint =
    "Workers of node:cluster share a port through node:http: createServer(toNodeListener(createHandler(registry, options))).listen(port)";
  return new CallError(error.code, `${error.message}. ${hint}`, error.details);
}

/** A registry on the native side, and what it asks of us. */
export class Offered implements Receiver {
  readonly native: RegistryServer;
  readonly #registry: OperationRegistry;
  readonly #twin: NativeTwin;
  readonly #answers: Answers;
  readonly #inbox = new Inbox(this);
  readonly #unwatch: () => void;
  readonly #identify: Identify | undefined;
  /** Nothing where the door is closed. */
  readonly hub: Hub | undefined;
  /** With `catalogue: "search"`: the tools of the MCP door. */
  readonly #tools: OperationRegistry | undefined;
  readonly #toolAnswers: Answers | undefined;

  constructor(registry: OperationRegistry, options: ServeOptions) {
    this.#registry = registry;
    this.#identify = options.identify;
    this.#twin = registry.nativeTwin();
    this.native = new native.RegistryServer(
      runtime,
      this.#inbox.mailbox,
      this.#twin.native,
      nativeOptions(options),
    );
    const answersOptions: AnswersOptions = {
      overrun: options.overrun,
      concurrency: options.concurrency,
      handsOutFiles: true,
      onInternalError: (request, error) => logFailure("serve", request, error),
    };
    this.#answers = new Answers(this.native, registry, answersOptions);
    const { hub } = options.doors;
    if (hub !== undefined && hub !== false) {
      this.hub = new Hub(this.native, registry, hub === true ? undefined : hub.accept);
    }
    const { operations } = options;
    this.#tools = searchTools(registry, options, (id) => this.#isChosen(operations, id));
    if (this.#tools !== undefined) {
      this.native.addTools(this.#tools.list().map(hostSpec));
      this.#toolAnswers = new Answers(this.native, this.#tools, answersOptions);
    }
    this.#unwatch = operations === undefined ? () => {} : this.#choose(operations);
  }

  asked(id: string, asked: AskedCall | AskedOther, mayHoldBytes: boolean): void {
    if (!("operationId" in asked)) {
      this.#askedOther(id, asked, mayHoldBytes);
      return;
    }
    lookAround();
    const { client, operationId, via } = asked;
    const isTool = this.#tools?.entry(operationId) !== undefined;
    const answers = (isTool && this.#toolAnswers) || this.#answers;
    answers.requested(
      restored(asked, mayHoldBytes),
      client === undefined ? undefined : new ClientLine(this.native, id, client),
      via,
    );
  }

  #askedOther(id: string, asked: AskedOther, mayHoldBytes: boolean): void {
    if ("identify" in asked) {
      const work = identified(this.#identify as Identify, asked.identify);
      void this.#answer(id, work, failureOf);
    } else if ("describe" in asked) {
      this.native.sendEvent(id, this.#describe(asked.describe));
    } else if ("authorize" in asked) {
      void this.#answer(id, this.#authorize(restored(asked.authorize, mayHoldBytes)), mapError);
    } else if ("sources" in asked) {
      this.native.sendEvent(id, JSON.stringify(connectionStates(this.#registry)));
    } else if ("joined" in asked) {
      this.hub?.joined(asked.joined);
    } else if ("left" in asked) {
      this.hub?.left(asked.left.id);
    } else if ("offer" in asked) {
      const { spoke, operations } = asked.offer;
      const work = (this.hub as Hub).offered(spoke, operations);
      void this.#answer(id, work, mapError);
    }
  }

  /** Access is decided before a call is stored for later. */
  async #authorize(request: CallRequestedEvent): Promise<string> {
    const { operationId, input, requestId, identity, metadata } = request;
    // A `customAuth` function may make calls with it.
    const context = contextFromOutside(requestId);
    if (identity !== undefined) context.identity = identity;
    if (metadata !== undefined) context.metadata = metadata;
    const isTool = this.#tools?.entry(operationId) !== undefined;
    await ((isTool && this.#tools) || this.#registry).authorize(operationId, input, context);
    return "true";
  }

  #describe(what: true | "http" | "hub"): string {
    if (what === "http") return describeHttp(this.#registry);
    if (what === "hub") return describedText(describeAll(this.#registry));
    return describeMcp(this.#registry, this.#tools);
  }

  /** A client answers a question of a handler. */
  event(id: string, answer: ClientAnswer): void {
    const line = this.#answers[lineOf](id) ?? this.#toolAnswers?.[lineOf](id);
    if (line instanceof ClientLine) line.answered(answer);
  }

  async #answer(id: string, work: Promise<string>, told: (error: unknown) => CallError): Promise<void> {
    try {
      this.native.sendEvent(id, await work);
    } catch (error) {
      const { code, message, details } = told(error);
      this.native.fail(id, code, message, details === undefined ? null : JSON.stringify(details), false);
    }
  }

  aborted(requestId: string): void {
    this.#answers.aborted(requestId);
    this.#toolAnswers?.aborted(requestId);
  }

  goOn(requestId: string): void {
    this.#answers.mayGoOn(requestId);
    this.#toolAnswers?.mayGoOn(requestId);
  }

  /** What is at an address is another. */
  resourceUpdated(uri: string): void {
    if (typeof uri !== "string") {
      throw new CallError(InfrastructureErrorCode.VALIDATION_ERROR, "resourceUpdated: an address is needed");
    }
    this.native.resourceUpdated(uri);
  }

  /** Ends it, after what is under way, but not after more than so many milliseconds. */
  async close(drain: number): Promise<void> {
    this.#flush();
    try {
      await keepAliveDuring(this.native.close(drain));
      // Calls that were ended are told so.
      this.#flush();
    } finally {
      this.#unwatch();
    }
  }

  /** Sends and takes what waits. */
  #flush(): void {
    this.#answers.flush();
    this.#toolAnswers?.flush();
    this.#inbox.drain();
    this.#twin.flush();
  }

  #isChosen(operations: ServeOptions["operations"], id: string): boolean {
    if (operations === undefined) return true;
    try {
      return operations(this.#registry.getSpec(id) as OperationSpec) === true;
    } catch (error) {
      log.error(`${id} is not served: operations() threw ${String(error)}`);
      return false;
    }
  }

  /** Serves what the user's own function chooses. What is registered later is looked at before it can be called. */
  #choose(operations: NonNullable<ServeOptions["operations"]>): () => void {
    const isShown = (id: string) => this.#isChosen(operations, id);
    this.native.showOnly(Array.from(this.#registry.entries(), ({ id }) => id).filter(isShown));
    return this.#twin.watch((id, entry) => {
      if (entry !== undefined && isShown(id)) return () => this.native.show(id, true);
      this.native.show(id, false);
      return undefined;
    });
  }
}

/** One that is up until it is closed. */
export class Listening implements Served {
  readonly url: string;
  readonly hub?: ServedHub;
  readonly #offered: Offered;

  constructor(offered: Offered, url: string) {
    this.url = url;
    this.#offered = offered;
    if (offered.hub !== undefined) this.hub = offered.hub;
    // A server stays up until it is closed.
    keepAlive(this);
  }

  // Functions of the object and not of its class, so that they can be taken out of it.

  readonly stats = (): ServeStats => JSON.parse(this.#offered.native.stats());

  readonly resourceUpdated = (uri: string): void => this.#offered.resourceUpdated(uri);

  readonly close = closedOnce((drain) => this.#close(drain));

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(drain: number): Promise<void> {
    try {
      await this.#offered.close(drain);
    } finally {
      letGo(this);
    }
  }
}
