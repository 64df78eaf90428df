// The spokes that are connected to the hub, and their operations in its registry.

import { randomUUID } from "node:crypto";
import { type DiscoveredOperation, readDescription } from "../call/described.js";
import {
  checkedImport,
  type ImportOptions,
  importedFrom,
  type Peer,
  type PeerOperation,
  peerWork,
} from "../call/imported.js";
import { Requests } from "../call/requests.js";
import type { RemoteCallMap } from "../call/transport.js";
import { CallError, failed, InfrastructureErrorCode } from "../errors.js";
import type { ImportedAccessControl } from "../imported-access.js";
import { Pace, Yielder } from "../interop/event-loop.js";
import { NamedListeners } from "../interop/listeners.js";
import { refusal } from "../interop/options.js";
import { PendingWork } from "../interop/pending-work.js";
import { messageOf, quoted } from "../interop/text.js";
import { logger } from "../logging.js";
import type { HubPeer, RegistryServer } from "../native-binding.js";
import type { NativeWork } from "../registry/native-handler.js";
import type { OperationRegistry } from "../registry/registry.js";
import { SyncedOperations } from "../registry/synced-operations.js";
import { ForeignSchemas } from "../schema/foreign-schemas.js";
import type { Identity } from "../types.js";

/**
 * A connection to the hub.
 *
 * @example
 * ```ts
 * const names = (served: Served) => served.hub?.spokes.list().map((spoke: Spoke) => spoke.name);
 * ```
 */
export interface Spoke {
  /** A unique id of the connection. */
  readonly id: string;
  /** Its name (`name` of `connectHub`, or `?name=` of a page). Empty if it has none. */
  readonly name: string;
  /** Its identity, from `identify` or `tokens`. */
  readonly identity?: Identity;
  /** Since when it is connected (Unix milliseconds). */
  readonly since: number;
  /** The operations that it offers. */
  readonly offered: readonly DiscoveredOperation[];
  /** The ids under which its operations are registered here. */
  readonly registered: readonly string[];
  /** Calls its operations, by their ids at the spoke. */
  readonly callMap: RemoteCallMap;
  /** Makes operations from what the spoke offers. You can register and call them like any other operation. */
  readonly import: (options?: ImportOptions) => Promise<PeerOperation[]>;
  /** Ends the connection. Calls in flight fail with `reason: "peer-lost"`. Whether it may return is up to `identify`. */
  readonly close: () => void;
}

/**
 * How the hub registers the operations of a spoke.
 *
 * @example
 * ```ts
 * const acceptance: SpokeAcceptance = { namespace: "laptop", exclude: ["shell.*"], accessControl: { requiredScopes: ["laptop"] } };
 * ```
 */
export interface SpokeAcceptance extends Omit<ImportOptions, "keepInStep"> {
  /** The namespace of the operations in the hub's registry (default: their own). */
  namespace?: string;
  /** Access rules at the hub, in addition to the rules of the spoke (default: no rules). */
  accessControl?: ImportedAccessControl;
}

/**
 * Returns the namespace under which the operations of a spoke are registered, or `false` to refuse them.
 *
 * @example
 * ```ts
 * const accept: AcceptSpoke = (spoke) =>
 *   spoke.identity?.scopes.includes("spoke") === true && { namespace: spoke.name };
 * ```
 */
export type AcceptSpoke = (spoke: Spoke) => SpokeAcceptance | false | Promise<SpokeAcceptance | false>;

/**
 * The spokes that are connected to the hub.
 *
 * @example
 * ```ts
 * const served = await serve(registry, { doors: { hub: { accept: (spoke) => ({ namespace: spoke.name }) } } });
 * const spokes: Spokes | undefined = served.hub?.spokes;
 * spokes?.on("joined", (spoke) => console.log(`${spoke.name} is here`));
 * ```
 */
export interface Spokes {
  /** All spokes, in the order in which they connected. */
  readonly list: () => Spoke[];
  /**
   * Adds a listener for spokes that joined, registered operations (`"registered"`) or left. Returns a function that
   * removes it.
   */
  readonly on: (event: SpokeEvent, listener: (spoke: Spoke) => unknown) => () => void;
}

/**
 * The events of `spokes.on`.
 *
 * @example
 * ```ts
 * const events: SpokeEvent[] = ["joined", "registered", "left"];
 * ```
 */
export type SpokeEvent = "joined" | "registered" | "left";

/**
 * The hub of a server.
 *
 * @example
 * ```ts
 * const hub: ServedHub | undefined = served.hub;
 * const names = hub?.spokes.list().map(({ name }) => name);
 * ```
 */
export interface ServedHub {
  /** The spokes that are connected. */
  readonly spokes: Spokes;
}

/** What the native side reports about a spoke. */
export interface SpokeReport {
  id: string;
  name: string;
  since: number;
  identity: Identity | null;
  /** What it shows to be known again when it comes back. */
  instance: string | null;
}

const log = logger("hub");

export class Hub implements ServedHub {
  readonly #native: RegistryServer;
  readonly #registry: OperationRegistry;
  readonly #accept: AcceptSpoke | undefined;
  readonly #spokes = new Map<string, Connected>();
  readonly #listeners = new NamedListeners<SpokeEvent, Spoke>("joined", "registered", "left");
  /** Answers of all spokes arrive here. */
  readonly #pending = new PendingWork<string>(randomUUID);

  constructor(native: RegistryServer, registry: OperationRegistry, accept: AcceptSpoke | undefined) {
    this.#native = native;
    this.#registry = registry;
    this.#accept = accept;
  }

  readonly spokes: Spokes = {
    list: () => [...this.#spokes.values()],
    on: this.#listeners.on,
  };

  joined(news: SpokeReport): void {
    const peer = this.#native.spoke(news.id, this.#pending.mailbox);
    // It may have left in the meantime.
    if (peer === null) return;
    const close = () => this.#native.closeSpoke(news.id);
    const spoke = new Connected(news, peer, this.#pending, this.#registry, close);
    this.#spokes.set(news.id, spoke);
    this.#listeners.notify("joined", spoke);
  }

  left(id: string): void {
    const spoke = this.#spokes.get(id);
    if (spoke === undefined) return;
    this.#spokes.delete(id);
    this.#pending.drain();
    spoke.forget();
    this.#listeners.notify("left", spoke);
  }

  /** A spoke offers operations, each as JSON. Resolves to the answer, as JSON. */
  async offered(id: string, operations: readonly string[]): Promise<string> {
    const spoke = this.#spokes.get(id);
    if (spoke === undefined) throw gone();
    const offered = await spoke.pace.run((yielder) => readAll(operations, yielder));
    spoke.offered = offered;
    if (this.#accept === undefined) return acceptedOffer([]);
    const acceptance = await this.#acceptance(this.#accept, spoke).catch((error) => {
      // Nothing is kept of what was refused.
      if (spoke.offered === offered) spoke.offered = [];
      throw error;
    });
    const isNewest = () => this.#spokes.has(id) && spoke.offered === offered;
    const taken = await spoke.pace.run(async (yielder) =>
      isNewest() ? importedFrom(spoke, offered, acceptance, spoke.schemas, yielder) : [],
    );
    // It may have left, or offered something newer, while that was found out.
    if (!this.#spokes.has(id)) throw gone();
    if (spoke.offered !== offered) return acceptedOffer(spoke.registered);
    this.#makeRoomFor(spoke);
    spoke.take(taken);
    this.#listeners.notify("registered", spoke);
    return acceptedOffer(spoke.registered);
  }

  async #acceptance(accept: AcceptSpoke, spoke: Connected): Promise<SpokeAcceptance> {
    let acceptance: SpokeAcceptance | false;
    try {
      acceptance = await accept(spoke);
    } catch (error) {
      log.error(
        `accept() threw, so the operations of spoke ${spoke.name} are refused: ${messageOf(error)}`,
        {},
      );
      acceptance = false;
    }
    if (acceptance === false) {
      throw new CallError(
        InfrastructureErrorCode.ACCESS_DENIED,
        `The hub does not take the operations of spoke ${quoted(spoke.name)}: its accept function refuses them`,
        { reason: "not-accepted", delivery: "none" },
      );
    }
    try {
      return checkedImport(acceptance, "accept: ");
    } catch (error) {
      const message =
        `The hub could not take the operations of spoke ${quoted(spoke.name)}: its accept function returned ` +
        `${quoted(acceptance)}; expected false or an object such as { namespace: "laptop" } (${messageOf(error)})`;
      log.error(message, {});
      throw failed(message, { reason: "not-accepted", delivery: "none" });
    }
  }

  /** A spoke that has lost its connection may be back before the hub has noticed: then the new connection replaces the old one. */
  #makeRoomFor(spoke: Connected): void {
    if (spoke.name === "") return;
    for (const other of this.#spokes.values()) {
      if (other !== spoke && spoke.isBack(other)) other.forget();
    }
  }
}

class Connected implements Spoke, Peer {
  readonly id: string;
  readonly name: string;
  readonly identity?: Identity;
  readonly since: number;
  readonly callMap: Requests;
  offered: DiscoveredOperation[] = [];
  readonly pace = new Pace();
  readonly schemas = new ForeignSchemas();
  readonly #peer: HubPeer;
  readonly #synced: SyncedOperations;
  readonly #instance: string | null;

  constructor(
    news: SpokeReport,
    peer: HubPeer,
    pending: PendingWork<string>,
    registry: OperationRegistry,
    readonly close: () => void,
  ) {
    this.id = news.id;
    this.name = news.name;
    this.since = news.since;
    this.#instance = news.instance;
    if (news.identity !== null) this.identity = news.identity;
    this.#peer = peer;
    this.callMap = new Requests(peer, pending, "websocket");
    this.#synced = new SyncedOperations(registry, `spoke ${quoted(news.name)}`);
  }

  /** Whether it is one that was here before. Of two that have no identity, any of them may have chosen the name. */
  isBack(before: Connected): boolean {
    if (before.name !== this.name || before.identity?.id !== this.identity?.id) return false;
    return this.identity !== undefined || (this.#instance !== null && this.#instance === before.#instance);
  }

  get registered(): string[] {
    return this.#synced.ids;
  }

  readonly import = async (options: ImportOptions = {}): Promise<PeerOperation[]> => {
    const { keepInStep, ...checked } = checkedImport(options);
    if (keepInStep !== undefined) {
      throw refusal("import: keepInStep", "is what accept does for a hub's own registry");
    }
    return importedFrom(this, this.offered, checked, new ForeignSchemas(), new Yielder());
  };

  nativeWork(operationId: string): NativeWork {
    return peerWork(this.#peer, operationId);
  }

  take(operations: readonly PeerOperation[]): void {
    this.#synced.update(operations);
  }

  forget(): void {
    this.#synced.clear();
  }
}

/** Reads what a spoke says about its operations. Invalid descriptions are left out. */
async function readAll(operations: readonly string[], yielder: Yielder): Promise<DiscoveredOperation[]> {
  const read: DiscoveredOperation[] = [];
  for (const text of operations) {
    const operation = readDescription(JSON.parse(text));
    if (operation !== undefined) read.push(operation);
    if (yielder.isDue) await yielder.yieldNow();
  }
  return read;
}

function acceptedOffer(operations: readonly string[]): string {
  return JSON.stringify({ operations });
}

function gone(): CallError {
  return failed("The spoke has left", { reason: "peer-lost", delivery: "none" });
}
