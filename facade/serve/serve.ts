import { Answers, type AnswersOptions, CONTEXT_HEADER } from "../call/answers.js";
import { describeAll, describedText } from "../call/described.js";
import type { CallRequestedEvent } from "../call/events.js";
import { clientChannelOf } from "../call/remote.js";
import type { CloseOptions } from "../call/transport.js";
import { restored } from "../call/wire-value.js";
import { CallError, invalid, mapError } from "../errors.js";
import { closedOnce } from "../interop/closing.js";
import { Inbox, type Receiver } from "../interop/inbox.js";
import { keepAlive, keepAliveDuring, letGo } from "../interop/keep-alive.js";
import { assertPermitted } from "../interop/permission.js";
import { logger } from "../logging.js";
import type { RegistryServer } from "../native-binding.js";
import { assertRegistry } from "../registry/assert-registry.js";
import type { Via } from "../registry/call.js";
import { connectionStates } from "../registry/connection-state.js";
import { logFailure } from "../registry/failure-log.js";
import { refreshNativeState } from "../registry/native-handler.js";
import type { NativeMirror } from "../registry/native-mirror.js";
import { contextFromOutside } from "../registry/origin.js";
import type { OperationRegistry } from "../registry/registry.js";
import { native, runtime } from "../runtime.js";
import type { OperationSpec } from "../types.js";
import { type ApprovalsRequest, answerApprovals } from "./approvals.js";
import { type ClientAnswer, type Offers, ServedClientChannel } from "./client-channel.js";
import { describeHttp } from "./describe-http.js";
import { describeMcp } from "./describe-mcp.js";
import { DescriptionLog } from "./description-log.js";
import { Hub, type ServedHub, type SpokeReport } from "./hub.js";
import { failureOf, type Identify, type IdentityRequest, identified } from "./identify.js";
import { type ClaimsRequest, mapClaims } from "./jwt.js";
import { mcpDoors, viewsOf } from "./mcp-door.js";
import { checkedServe, nativeOptions, type ServeOptions } from "./options.js";
import { RequestContexts, type ServedCallRequest } from "./request-contexts.js";
import { type DoorTools, hostSpec, searchTools } from "./search-tools.js";

/** @deprecated Use `CloseOptions` of `@alkdev/operations`. */
export type ServeCloseOptions = CloseOptions;

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
  /** Calls that wait for a permit (`concurrency`, `perOperation`, `perCaller`). */
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
  readonly close: (options?: CloseOptions) => Promise<void>;
  /** `await using served = await serve(...)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}

const log = logger("serve");

type CallRequest = ServedCallRequest & { client?: Offers; via?: Via; callerToken?: string };

/** Its other requests and notifications. */
type OtherRequest =
  | { identify: IdentityRequest }
  | { mapClaims: ClaimsRequest }
  | { describe: true | "http" | "hub"; known?: number }
  | { authorize: ServedCallRequest }
  | { sources: true }
  | { approvals: ApprovalsRequest }
  | { joined: SpokeReport }
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
  assertPermitted("net", "serve");
  const service = new RegistryService(registry, checked);
  try {
    const url = await keepAliveDuring(service.native.listen(checked.host ?? "127.0.0.1", checked.port ?? 0));
    return new ListeningServer(service, url);
  } catch (error) {
    // Nothing else would close it.
    await service.close(0);
    throw await sharedPortHint(error);
  }
}

/** What `serve` would warn of at its start. */
export async function listenerWarnings(
  registry: OperationRegistry,
  options: ServeOptions,
): Promise<string[]> {
  const checked = checkedServe(options);
  const service = new RegistryService(registry, checked);
  const { host = "127.0.0.1", port = 0 } = checked;
  return keepAliveDuring(service.native.listenerWarnings(host, port)).finally(() => service.close(0));
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

/** A registry as native code serves it, and the requests of native code to JavaScript. */
export class RegistryService implements Receiver {
  readonly native: RegistryServer;
  readonly #registry: OperationRegistry;
  readonly #mirror: NativeMirror;
  readonly #answers: Answers;
  readonly #inbox = new Inbox(this);
  readonly #unwatch: () => void;
  readonly #identify: Identify | undefined;
  readonly #jwt: ServeOptions["jwt"];
  readonly #contexts: RequestContexts;
  /** `undefined` if the door is closed. */
  readonly hub: Hub | undefined;
  /** With `catalogue: "search"` or `code`: the tools of the MCP door. */
  readonly #tools: DoorTools | undefined;
  readonly #views: ReturnType<typeof viewsOf>;
  readonly #describedHttp = new DescriptionLog();
  readonly #describedMcp = new DescriptionLog();
  readonly #toolAnswers: Answers | undefined;

  constructor(registry: OperationRegistry, options: ServeOptions, contexts?: RequestContexts) {
    this.#contexts = contexts ?? new RequestContexts();
    this.#registry = registry;
    this.#identify = options.identify;
    this.#jwt = options.jwt;
    this.#mirror = registry.nativeMirror();
    this.native = new native.RegistryServer(
      runtime,
      this.#inbox.mailbox,
      this.#mirror.native,
      nativeOptions(options, contexts === undefined ? [] : [CONTEXT_HEADER]),
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
    this.#views = viewsOf(mcpDoors(options.doors.mcp));
    this.#tools = searchTools(registry, options, (id) => this.#isChosen(operations, id));
    if (this.#tools !== undefined) {
      this.native.addTools(this.#tools.registry.list().map(hostSpec));
      this.#toolAnswers = new Answers(this.native, this.#tools.registry, answersOptions);
    }
    this.#unwatch = operations === undefined ? () => {} : this.#choose(operations);
  }

  asked(id: string, request: CallRequest | OtherRequest, mayHoldBytes: boolean): void {
    if (!("operationId" in request)) {
      this.#requestedOther(id, request, mayHoldBytes);
      return;
    }
    refreshNativeState();
    const { client, operationId, via, callerToken } = request;
    // Nothing else of what is known of the request is a secret.
    if (callerToken !== undefined) delete request.callerToken;
    const isTool = this.#tools?.registry.entry(operationId) !== undefined;
    const answers = (isTool && this.#toolAnswers) || this.#answers;
    this.#contexts.run(request, () =>
      answers.requested(
        restored(request, mayHoldBytes),
        client === undefined ? undefined : new ServedClientChannel(this.native, id, client),
        via,
        callerToken,
      ),
    );
  }

  #requestedOther(id: string, request: OtherRequest, mayHoldBytes: boolean): void {
    if ("identify" in request) {
      this.#contexts.run(
        request.identify,
        () => void this.#answer(id, this.#identified(id, request.identify), failureOf),
      );
    } else if ("mapClaims" in request) {
      void this.#answer(id, mapClaims(this.#jwt, request.mapClaims), (error) => failureOf(error, "claims"));
    } else if ("describe" in request) {
      this.native.sendEvent(id, this.#describe(request.describe, request.known));
    } else if ("authorize" in request) {
      this.#contexts.run(request.authorize, () => {
        void this.#answer(id, this.#authorize(restored(request.authorize, mayHoldBytes)), mapError);
      });
    } else if ("sources" in request) {
      this.native.sendEvent(id, JSON.stringify(connectionStates(this.#registry)));
    } else if ("approvals" in request) {
      void this.#answer(id, answerApprovals(this.#registry.approvals, request.approvals), mapError);
    } else if ("joined" in request) {
      this.hub?.joined(request.joined);
    } else if ("left" in request) {
      this.hub?.left(request.left.id);
    } else if ("offer" in request) {
      const { spoke, operations } = request.offer;
      const work = (this.hub as Hub).offered(spoke, operations);
      void this.#answer(id, work, mapError);
    }
  }

  /** Calls `identify`. What it enters is for the calls of the request, too. */
  async #identified(id: string, request: IdentityRequest): Promise<string> {
    this.#contexts.begin(id);
    try {
      const text = await identified(this.#identify as Identify, request);
      this.#contexts.replace(id);
      return text;
    } catch (error) {
      this.#contexts.end(id);
      throw error;
    }
  }

  /** Access is decided before a call is stored for later. */
  async #authorize(request: CallRequestedEvent): Promise<string> {
    const { operationId, input, requestId, identity, metadata } = request;
    // A `customAuth` function may make calls with it.
    const context = contextFromOutside(requestId);
    if (identity !== undefined) context.identity = identity;
    if (metadata !== undefined) context.metadata = metadata;
    const isTool = this.#tools?.registry.entry(operationId) !== undefined;
    await ((isTool && this.#tools?.registry) || this.#registry).authorize(operationId, input, context);
    return "true";
  }

  #describe(what: true | "http" | "hub", known: number | undefined): string {
    if (what === "http") return this.#describedHttp.answer(known, describeHttp(this.#registry));
    if (what === "hub") return describedText(describeAll(this.#registry));
    this.#tools?.update();
    const all = describeMcp(this.#registry, this.#tools?.registry, this.#views);
    return this.#describedMcp.answer(known, all);
  }

  /** A client answers a question of a handler. */
  event(id: string, answer: ClientAnswer): void {
    const channel = this.#answers[clientChannelOf](id) ?? this.#toolAnswers?.[clientChannelOf](id);
    if (channel instanceof ServedClientChannel) channel.answered(answer);
  }

  async #answer(
    id: string,
    work: Promise<string>,
    toCallError: (error: unknown) => CallError,
  ): Promise<void> {
    try {
      this.native.sendEvent(id, await work);
    } catch (error) {
      const { code, message, details } = toCallError(error);
      this.native.fail(id, code, message, details === undefined ? null : JSON.stringify(details), false);
    }
  }

  aborted(requestId: string): void {
    this.#contexts.end(requestId);
    this.#answers.aborted(requestId);
    this.#toolAnswers?.aborted(requestId);
  }

  goOn(requestId: string): void {
    this.#answers.mayGoOn(requestId);
    this.#toolAnswers?.mayGoOn(requestId);
  }

  /** The resource at this address has changed. */
  resourceUpdated(uri: string): void {
    if (typeof uri !== "string") throw invalid("resourceUpdated: an address is needed");
    this.native.resourceUpdated(uri);
  }

  /** Ends it, after the calls that are running, but after `drain` milliseconds at the latest. */
  async close(drain: number): Promise<void> {
    this.#flush();
    try {
      await keepAliveDuring(this.native.close(drain));
      // Calls that were aborted are reported too.
      this.#flush();
    } finally {
      this.#unwatch();
      await this.#tools?.close();
    }
  }

  /** Sends and takes what waits. */
  #flush(): void {
    this.#answers.flush();
    this.#toolAnswers?.flush();
    this.#inbox.drain();
    this.#mirror.flush();
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

  /** Serves what the user's own function chooses. What is registered later is checked before it can be called. */
  #choose(operations: NonNullable<ServeOptions["operations"]>): () => void {
    const isShown = (id: string) => this.#isChosen(operations, id);
    this.native.showOnly(Array.from(this.#registry.entries(), ({ id }) => id).filter(isShown));
    return this.#mirror.watch((id, entry) => {
      if (entry !== undefined && isShown(id)) return () => this.native.show(id, true);
      this.native.show(id, false);
      return undefined;
    });
  }
}

/** A server that is up until it is closed. */
export class ListeningServer implements Served {
  readonly url: string;
  readonly hub?: ServedHub;
  readonly #service: RegistryService;

  constructor(service: RegistryService, url: string) {
    this.url = url;
    this.#service = service;
    if (service.hub !== undefined) this.hub = service.hub;
    // A server stays up until it is closed.
    keepAlive(this);
  }

  // Functions of the object and not of its class, so that they can be taken out of it.

  readonly stats = (): ServeStats => JSON.parse(this.#service.native.stats());

  readonly resourceUpdated = (uri: string): void => this.#service.resourceUpdated(uri);

  readonly close = closedOnce((drain) => this.#close(drain));

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(drain: number): Promise<void> {
    try {
      await this.#service.close(drain);
    } finally {
      letGo(this);
    }
  }
}
