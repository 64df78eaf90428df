// A port as a transport: both ends call and serve, and know what the other serves.

import { CallError, failed, InfrastructureErrorCode } from "../errors.js";
import {
  anObject,
  checkedOptions,
  type Fields,
  isObject,
  isRecord,
  isString,
  isWhole,
} from "../interop/options.js";
import type { OperationRegistry } from "../registry/registry.js";
import { buildCallHandler, type CallHandlerConfig, type CallHandlerStats } from "./call-handler.js";
import { type DiscoveredOperation, readDescriptions, shownTo } from "./described.js";
import { DiscoverRequests, errorIn, unanswered } from "./discover-requests.js";
import type { CallRequestedEvent } from "./events.js";
import { checkedImport, type ImportOptions, type PeerOperation } from "./imported.js";
import { closing, PacedAnswers, WINDOW } from "./pacing.js";
import { PendingRequestMap } from "./pending-request-map.js";
import { type MessagePortLike, mustBePort } from "./port.js";
import { PortTarget } from "./port-event-target.js";
import { knows, onLoss, paces } from "./remote.js";
import { RemoteConnection } from "./remote-connection.js";
import type { CallTransport, CloseOptions, DiscoverOptions, RemoteCallMap } from "./transport.js";
import { verifiedAsker } from "./verify-identity.js";

/**
 * How calls of the other end are served: limits, and the identity of callers.
 *
 * @example
 * ```ts
 * const options: PortServeOptions = { concurrency: 16, timeout: 30_000 };
 * ```
 */
export interface PortServeOptions extends Omit<CallHandlerConfig, "registry" | "callMap"> {}

/**
 * What `import` makes operations of, and on whose behalf.
 *
 * @example
 * ```ts
 * const options: PortImportOptions = { namespace: "thread", identity: { id: "ada", scopes: ["files:read"] } };
 * ```
 */
export interface PortImportOptions extends ImportOptions, DiscoverOptions {}

/**
 * What a port has counted.
 *
 * @example
 * ```ts
 * const { running, malformed }: PortStats = connectPort(worker).stats();
 * ```
 */
export interface PortStats extends CallHandlerStats {
  /** Events that were dropped because they follow no protocol of ours. */
  malformed: number;
}

/**
 * A connection to the other end of a port.
 *
 * @example
 * ```ts
 * const transport: PortTransport = connectPort(worker);
 * const { operations } = await transport.discover();
 * await transport.close();
 * ```
 */
export interface PortTransport extends CallTransport {
  /** Serves the operations of a registry to the other end, and follows what is registered later. With the same registry again,
   * nothing happens. */
  readonly serve: (registry: OperationRegistry, options?: PortServeOptions) => Promise<void>;
  /** What the other end serves and we may call. */
  readonly discover: (options?: DiscoverOptions) => Promise<{ operations: DiscoveredOperation[] }>;
  /** Makes operations of them that work here like any other. */
  readonly import: (options?: PortImportOptions) => Promise<PeerOperation[]>;
  readonly stats: () => PortStats;
  /** Takes nothing new, finishes what runs, then closes the port. A `Worker` is not ended. */
  readonly close: (options?: CloseOptions) => Promise<void>;
  /** `await using transport = connectPort(port)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}

const AS: Fields<DiscoverOptions> = { identity: anObject, metadata: anObject };

/**
 * Makes a transport of a `MessagePort` or a `Worker`. The thread at the other end does the same with its port: then either may
 * call and serve. The port belongs to the transport from then on.
 *
 * @example
 * ```ts
 * const transport = connectPort(worker); // and in the worker: connectPort(parentPort).serve(registry)
 * await transport.callMap.call("math.square", { n: 12 }, { deadline: Date.now() + 5_000 });
 * await transport.import({ keepInStep: registry });
 * ```
 */
export function connectPort(port: MessagePortLike): PortTransport {
  mustBePort(port, "connectPort: port");
  return new Transport(new PortTarget(port));
}

class Transport extends RemoteConnection implements PortTransport {
  readonly name = "the other end of the port";
  readonly callMap: RemoteCallMap;
  readonly #map: PendingRequestMap;
  readonly #wire: PortTarget;
  readonly #answers: PacedAnswers;
  readonly #requests = new DiscoverRequests();
  #options: PortServeOptions = {};
  #handle: ReturnType<typeof buildCallHandler> | undefined;

  constructor(wire: PortTarget) {
    super();
    this.#wire = wire;
    this.#map = new PendingRequestMap(wire);
    this.callMap = this.#map;
    this.#answers = new PacedAnswers(this.#map);
    wire[paces] = (requestId, read) => this.#send("hub.credit", "", { requestId, upTo: read + WINDOW });
    this.#map["call.requested"].subscribe((event) => this.#requested(event));
    this.#map["call.aborted"].subscribe(({ requestId }) => this.#answers.aborted(requestId));
    // `call` of a subscription takes its first event only; the sender must stop.
    this.#map["call.responded"].subscribe(({ requestId }) => {
      if (!this.#map[knows](requestId)) this.#send("call.aborted", "", { requestId });
    });
    wire[onLoss](() => this.#lost());
    for (const [type, take] of Object.entries(this.#frames)) {
      wire.addEventListener(type, (event) => take(...frameOf((event as CustomEvent<unknown>).detail)));
    }
    this.#send("hub.hello", "", { protocol: 1 });
  }

  /** What the other end may say beside the events of the call protocol (`crates/operations-websocket/src/frame.rs`). */
  readonly #frames: Record<string, (id: string, payload: Record<string, unknown>) => void> = {
    "hub.hello": () => {
      this.#answers.isPaced = true;
    },
    "hub.credit": (_, { requestId, upTo }) => {
      if (isString(requestId) && isWhole(upTo, 0)) this.#answers.credit(requestId, upTo);
    },
    "hub.ping": (id) => this.#send("hub.pong", id, {}),
    "hub.discover": (id, payload) => void this.#list(id, payload),
    "hub.operations": (id, payload) => this.#requests.listed(id, payload),
    "hub.error": (id, payload) => this.#requests.failed(id, errorIn(payload)),
    "hub.changed": () => this.imports.changed(),
    "hub.bye": () => this.#wire.close(),
  };

  #send(type: string, id: string, payload: object): void {
    this.#wire.dispatchEvent(new CustomEvent(type, { detail: { type, id, payload } }));
  }

  readonly serve = async (registry: OperationRegistry, options: PortServeOptions = {}): Promise<void> => {
    if (this.isServing(registry)) return;
    this.#handle = buildCallHandler({ ...options, registry, callMap: this.#answers });
    this.#options = options;
    const announce = () => this.#send("hub.changed", "", {});
    this.begin(registry, announce);
    announce();
  };

  #requested(event: CallRequestedEvent): void {
    const { requestId, operationId } = event;
    const refuse = ({ code, message, details }: CallError) =>
      this.#map.emitError(requestId, code, message, details);
    if (this.isClosing) refuse(closing(operationId));
    else if (this.registry === undefined) refuse(servesNothing(operationId));
    else {
      if (this.registry.isSubscription(operationId)) this.#answers.begin(requestId);
      void this.#handle?.(event);
    }
  }

  /** Sends the other end a list of what it may call. */
  async #list(id: string, claim: Record<string, unknown>): Promise<void> {
    try {
      const { verifyIdentity } = this.#options;
      const shown = this.isClosing
        ? []
        : shownTo(await verifiedAsker(verifyIdentity, id, claim), this.describe().own);
      this.#send("hub.operations", id, { operations: shown.map(({ text }) => JSON.parse(text)) });
    } catch (error) {
      const { code, message, details } =
        error instanceof CallError
          ? error
          : failed("The operations that are served here cannot be listed", {});
      this.#send("hub.error", id, { code, message, ...(details !== undefined && { details }) });
    }
  }

  readonly discover = async (
    options: DiscoverOptions = {},
  ): Promise<{ operations: DiscoveredOperation[] }> => {
    const as = checkedOptions<DiscoverOptions>(options, AS, { prefix: "discover: " });
    if (this.#wire.isOver) throw unanswered("the port is closed");
    const found = await this.#requests.request((id) => this.#send("hub.discover", id, as));
    return { operations: readDescriptions(found) };
  };

  readonly import = async (options: PortImportOptions = {}): Promise<PeerOperation[]> => {
    const { identity, metadata, ...rest } = options;
    return this.imports.import(checkedImport(rest), () => this.discover({ identity, metadata }));
  };

  readonly stats = (): PortStats => ({
    ...(this.#handle?.stats() ?? { running: 0, waiting: 0, overrunning: 0 }),
    malformed: this.#map.stats().dropped,
  });

  protected override async closeConnection(drain: number): Promise<void> {
    await this.#answers.finish(drain, () => {
      const { running, waiting } = this.stats();
      return running + waiting === 0;
    });
    this.#send("hub.bye", "", {});
    this.#wire.shut(
      failed("The call has no answer: the connection to the other end of the port was closed", {
        reason: "closed",
        delivery: "unknown",
      }),
    );
    this.#lost();
  }

  #lost(): void {
    this.unfollow();
    this.#requests.end("the port is closed");
    this.imports.end();
  }
}

function frameOf(detail: unknown): [id: string, payload: Record<string, unknown>] {
  const { id, payload } = isObject(detail) ? detail : {};
  return [isString(id) ? id : "", isRecord(payload) ? payload : {}];
}

function servesNothing(operationId: string): CallError {
  return new CallError(
    InfrastructureErrorCode.OPERATION_NOT_FOUND,
    `Operation not found: ${operationId} (this side serves nothing)`,
    { operationId, reason: "no-worker", delivery: "none" },
  );
}
