// Operations of one source (a peer, an MCP server) in a registry, in step with what the source offers.

import { CallError, InfrastructureErrorCode } from "../errors.js";
import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import type { OperationSpec } from "../types.js";
import type { AnyHandler, Entry } from "./entry.js";
import type { OperationRegistry } from "./registry.js";

type SourceOperation = OperationSpec & { handler: AnyHandler };

/** What the program decides about an imported operation: a source must not be able to undo it. */
const DECIDED = ["accessControl", "visibility", "limits", "approval"] as const;
type Decisions = Partial<Pick<OperationSpec, (typeof DECIDED)[number]>>;

/** By registry and id, so that they also hold for a source that left and returned, under whatever name. */
const decisions = new WeakMap<OperationRegistry, Map<string, Decisions>>();

/** Operations of sources whose handler the program replaced, or which it unregistered. The same holds for them. */
type Withheld = Map<string, "replaced" | "unregistered">;
const withheld = new WeakMap<OperationRegistry, Withheld>();

interface Registered {
  readonly operation: SourceOperation;
  /** The fields of `DECIDED` as they were registered, as JSON: the program may register the operation again, with others. */
  readonly fields: ReadonlyArray<string | undefined>;
}

const log = logger("registry");

export class SyncedOperations {
  readonly #registry: OperationRegistry;
  readonly #source: string;
  readonly #registered = new Map<string, Registered>();
  /** Ids that belong to the program, and of which the log says so already. */
  readonly #reported = new Set<string>();

  /** `source` names it in messages. */
  constructor(registry: OperationRegistry, source: string) {
    this.#registry = registry;
    this.#source = source;
  }

  /** The ids that are registered. */
  get ids(): string[] {
    return [...this.#registered.keys()];
  }

  /** The same as `update`, on behalf of the program: what it has unregistered by hand is registered again. */
  import(operations: readonly SourceOperation[]): void {
    this.#noteUnregistered();
    for (const id of operations.map(idOf)) if (this.#isUnregistered(id)) this.#withheld.delete(id);
    this.update(operations);
  }

  /**
   * Takes over a new list. Throws, and changes nothing, where a new operation has the id of one that is neither of this source nor was
   * taken over from a source by the program. Where the registry refuses one, nothing of the source stays registered: half a list would
   * look like a whole one.
   */
  update(operations: readonly SourceOperation[]): void {
    const taken = operations
      .filter((operation) => this.#isTaken(operation))
      .map(idOf)
      .filter((id) => !this.#registered.has(id) && this.#withheld.get(id) !== "replaced");
    if (taken.length > 0) throw collision(taken);
    try {
      this.#takeOver(operations);
    } catch (error) {
      this.clear();
      throw error;
    }
  }

  /** The same, but leaves out what cannot be registered, and says so in the log: no caller could catch an error. */
  refresh(operations: readonly SourceOperation[]): void {
    this.#takeOver(operations, (id, error) => {
      log.warn(`${id} of ${this.#source} is left out: ${messageOf(error)}`, { operationId: id });
    });
  }

  #takeOver(operations: readonly SourceOperation[], leaveOut?: (id: string, error: unknown) => void): void {
    this.#noteUnregistered();
    const ids = new Set(operations.map(idOf));
    for (const id of this.ids) if (!ids.has(id)) this.#remove(id);
    for (const operation of operations) {
      const id = idOf(operation);
      if (this.#registered.get(id)?.operation === operation) continue;
      if (this.#isTaken(operation)) {
        this.#report(id, "collision", "the program has an operation of this id, which stays as it is");
        continue;
      }
      if (this.#isUnregistered(id)) {
        this.#report(id, "unregistered", "the program has unregistered it, and not imported it again");
        continue;
      }
      this.#reported.delete(id);
      try {
        this.#register(id, operation);
      } catch (error) {
        if (leaveOut === undefined) throw error;
        leaveOut(id, error);
      }
    }
  }

  #register(id: string, operation: SourceOperation): void {
    const entry = this.#registry.entry(id);
    const before = this.#registered.get(id);
    // The program may have registered the very same operation, with rules of its own, before this source was followed.
    if (entry !== undefined) this.#remember(entry, before?.fields ?? asJson(operation));
    const decided = { ...operation, ...decisions.get(this.#registry)?.get(id) };
    for (const field of DECIDED) if (decided[field] === undefined) delete decided[field];
    this.#registry.register(decided);
    this.#registered.set(id, { operation, fields: asJson(decided) });
    this.#withheld.delete(id);
  }

  /** Whether the id belongs to an operation that was not registered here, or whose handler the program has replaced. */
  #isTaken(operation: SourceOperation): boolean {
    const id = idOf(operation);
    const entry = this.#registry.entry(id);
    if (entry === undefined || entry.handler === operation.handler) return false;
    return entry.handler !== this.#registered.get(id)?.operation.handler;
  }

  get #withheld(): Withheld {
    const byId: Withheld = withheld.get(this.#registry) ?? new Map();
    withheld.set(this.#registry, byId);
    return byId;
  }

  /** Whether the program has unregistered the operation, and not registered one of this id since. */
  #isUnregistered(id: string): boolean {
    return this.#registry.entry(id) === undefined && this.#withheld.get(id) === "unregistered";
  }

  /** What was registered here and is not in the registry any more was unregistered by the program. */
  #noteUnregistered(): void {
    for (const id of this.ids) if (this.#registry.entry(id) === undefined) this.#remove(id);
  }

  #report(id: string, reason: string, why: string): void {
    if (this.#reported.has(id)) return;
    this.#reported.add(id);
    log.warn(`${id} of ${this.#source} is not registered: ${why}`, { operationId: id, reason });
  }

  /** Remembers what the program has decided since the operation was registered, for good: a source may come to agree with a decision,
   * and disagree later. */
  #remember({ id, spec }: Entry, registered: Registered["fields"]): void {
    const now = asJson(spec);
    const changed = DECIDED.filter((_, index) => now[index] !== registered[index]);
    if (changed.length === 0) return;
    const byId = decisions.get(this.#registry) ?? new Map<string, Decisions>();
    decisions.set(this.#registry, byId);
    byId.set(id, { ...byId.get(id), ...Object.fromEntries(changed.map((field) => [field, spec[field]])) });
  }

  /** Takes everything out again. */
  clear(): void {
    for (const id of this.ids) this.#remove(id);
  }

  #remove(id: string): void {
    const registered = this.#registered.get(id);
    const entry = this.#registry.entry(id);
    this.#registered.delete(id);
    this.#reported.delete(id);
    if (registered === undefined) return;
    if (entry?.handler !== registered.operation.handler) {
      this.#withheld.set(id, entry === undefined ? "unregistered" : "replaced");
      return;
    }
    this.#remember(entry, registered.fields);
    this.#registry.unregister(id);
  }
}

function idOf({ namespace, name }: OperationSpec): string {
  return `${namespace}.${name}`;
}

function asJson(spec: OperationSpec): Array<string | undefined> {
  return DECIDED.map((field) => JSON.stringify(spec[field]));
}

function collision(taken: readonly string[]): CallError {
  return new CallError(
    InfrastructureErrorCode.VALIDATION_ERROR,
    `${taken.join(", ")} cannot be registered: there ${taken.length === 1 ? "is an operation" : "are operations"} of ` +
      "this name already. Use another namespace",
    { reason: "collision", operations: taken },
  );
}
