// What was imported over a connection, whatever it travels on, and what of it is kept in step with what the other side serves.

import { failed } from "../errors.js";
import { Pace } from "../interop/event-loop.js";
import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import { SyncedOperations } from "../registry/synced-operations.js";
import { ForeignSchemas } from "../schema/foreign-schemas.js";
import type { DiscoveredOperation } from "./described.js";
import { type ImportOptions, importedFrom, type Peer, type PeerOperation } from "./imported.js";

/** Lists what the other side serves. */
export type Discover = () => Promise<{ readonly operations: readonly DiscoveredOperation[] }>;

interface Followed {
  readonly options: ImportOptions;
  readonly discover: Discover;
  readonly synced: SyncedOperations;
  readonly schemas: ForeignSchemas;
}

const log = logger("call");

/** The imports of one connection. */
export class Imports {
  readonly #peer: Peer;
  readonly #followed: Followed[] = [];
  readonly #pace = new Pace();
  /** How often the other side has changed what it serves. */
  #changes = 0;
  #updating: Promise<void> | undefined;
  #isOver = false;

  constructor(peer: Peer) {
    this.#peer = peer;
  }

  /** Whether a registry follows the other side. */
  get isFollowing(): boolean {
    return this.#followed.length > 0;
  }

  async import(options: ImportOptions, discover: Discover): Promise<PeerOperation[]> {
    const changes = this.#changes;
    const { operations } = await discover();
    const schemas = new ForeignSchemas();
    const imported = await this.#make(operations, options, schemas);
    if (options.keepInStep === undefined) return imported;
    if (this.#isOver) {
      throw failed("import: the connection was closed meanwhile", { reason: "closed", delivery: "none" });
    }
    const synced = new SyncedOperations(options.keepInStep, this.#peer.name);
    synced.import(imported);
    this.#followed.push({ options, discover, synced, schemas });
    // What has changed during the request may not be in the answer.
    if (changes !== this.#changes) this.#update();
    return imported;
  }

  #make(
    operations: readonly DiscoveredOperation[],
    options: ImportOptions,
    schemas: ForeignSchemas,
  ): Promise<PeerOperation[]> {
    return this.#pace.run((yielder) => importedFrom(this.#peer, operations, options, schemas, yielder));
  }

  /** The other side may serve something else now. */
  changed(): void {
    this.#changes += 1;
    if (this.isFollowing) this.#update();
  }

  /** One update after the other: a list that was requested earlier must not replace a newer one. */
  #update(): void {
    this.#updating ??= this.#updateAll().finally(() => {
      this.#updating = undefined;
    });
  }

  async #updateAll(): Promise<void> {
    for (let seen = -1; seen !== this.#changes && !this.#isOver; ) {
      seen = this.#changes;
      for (const each of [...this.#followed]) await this.#updateOne(each);
    }
  }

  async #updateOne({ options, discover, synced, schemas }: Followed): Promise<void> {
    try {
      const { operations } = await discover();
      const imported = await this.#make(operations, options, schemas);
      if (!this.#isOver) synced.refresh(imported);
    } catch (error) {
      if (this.#isOver) return;
      log.warn(`Failed to import the operations of ${this.#peer.name} again: ${messageOf(error)}`, {});
    }
  }

  /** Takes everything out again that was registered, for good. */
  end(): void {
    this.#isOver = true;
    for (const { synced } of this.#followed.splice(0)) synced.clear();
  }
}
