// Requests for approvals, their decisions and their one use.

import { CallError, failed, InfrastructureErrorCode, invalid } from "../errors.js";
import { onAbort } from "../interop/abort.js";
import { later, newId } from "../interop/host.js";
import { type Listener, NamedListeners } from "../interop/listeners.js";
import {
  aBoolean,
  aDuration,
  aFunction,
  aName,
  anObject,
  type Fields,
  group,
  isFunction,
  refusal,
} from "../interop/options.js";
import { messageOf, nameOf } from "../interop/text.js";
import { logger } from "../logging.js";
import type { Identity } from "../types.js";
import { FolderApprovals } from "./approval-folder.js";
import { aRedis, RedisApprovals } from "./approval-redis.js";
import type {
  Approval,
  ApprovalDecision,
  ApprovalEvent,
  ApprovalFilter,
  ApprovalOptions,
  ApprovalStore,
  StoredApproval,
} from "./approval-types.js";
import { canonicalJson } from "./canonical-json.js";

const log = logger("registry");

/** In ms. */
const DAY = 24 * 60 * 60 * 1000;
/** Requests that a store of ours holds. Together with the size of each, that is what callers can make it store. A caller may
 * ask while it has no more requests than are left, so one alone gets half, and something is left for others. */
const MAX_REQUESTS = 1_000;
const MAX_INPUT = 256 * 1024;
const LONGEST_TIMER = 2 ** 31 - 1;
/** How long a request is stored after it has expired, in ms. */
const KEEP = 60 * 60 * 1000;

/** How often a decision of another process is looked for while a call waits for it, in ms. */
const LOOK_EVERY = 500;

export const APPROVAL_REQUIRED = "APPROVAL_REQUIRED";

export type StoredApprovals = Pick<ApprovalOptions, "store" | "expires">;

const STORED: Fields<StoredApprovals> = {
  store: (value, path) => {
    if (value === "memory") return value;
    const store = anObject(value, path) as Partial<ApprovalStore> & { folder?: unknown; redis?: unknown };
    if (store.folder !== undefined) aName(store.folder, `${path}.folder`);
    else if (store.redis !== undefined) return { redis: aRedis(store.redis, `${path}.redis`) };
    else if (!STEPS.every((step) => isFunction(store[step]))) {
      throw refusal(path, `must be "memory", { folder }, { redis } or an object with ${STEPS.join(", ")}`);
    }
    return value;
  },
  expires: aDuration,
};

/** What a configuration file may say. */
export const storedApprovals = group<StoredApprovals>(STORED);

export const approvalOptions = group<ApprovalOptions>({ ...STORED, decide: aFunction, may: aFunction });

const STEPS = ["add", "decide", "use", "read", "ids"] as const;

/** The call that an approval is for, and nothing else. */
export interface Binding {
  readonly operationId: string;
  readonly identity: Identity | undefined;
  /** The canonical text of its input. */
  readonly input: string;
}

interface Request {
  readonly operationId: string;
  readonly input: string;
  readonly identity?: Identity | undefined;
  readonly requestedAt: number;
  readonly expires: number;
}

interface Decided {
  readonly approve: boolean;
  readonly by?: Identity;
  readonly reason?: string;
  readonly at: number;
}

/**
 * The approvals of a registry: `registry.approvals`.
 *
 * @example
 * ```ts
 * for (const { id, operationId, input } of await registry.approvals.list({ status: "pending" })) {
 *   console.log(operationId, input);
 *   await registry.approvals.decide(id, { approve: true, by: { id: "ada", scopes: [] } });
 * }
 * ```
 */
export type Approvals = Omit<ApprovalRequests, "request" | "named" | "use" | "mayAnswer" | "whenDecided">;

export class ApprovalRequests {
  readonly #store: ApprovalStore;
  /** Whether the store is one of ours. */
  readonly #isBounded: boolean;
  readonly #expires: number;
  readonly #may: ApprovalOptions["may"];
  readonly #listeners = new NamedListeners<ApprovalEvent, Approval>("requested", "decided", "expired");
  /** The request that waits for a call: asking again makes no other. */
  readonly #pending = new Map<string, string>();
  /** Who has made the requests of this process that are stored and were not used, by their ids. */
  readonly #callers = new Map<string, { caller: string; keepUntil: number }>();
  readonly #onDecided: (approval: Approval) => void;

  /** @internal */
  constructor(
    { store = "memory", expires = DAY, may }: ApprovalOptions,
    onDecided: (approval: Approval) => void,
  ) {
    if (store === "memory") this.#store = new MemoryApprovals(MAX_REQUESTS);
    else if ("folder" in store) this.#store = new FolderApprovals(store.folder, MAX_REQUESTS);
    else if ("redis" in store) this.#store = new RedisApprovals(store.redis, MAX_REQUESTS);
    else this.#store = store;
    this.#isBounded = this.#store !== store;
    this.#expires = expires;
    this.#may = may;
    this.#onDecided = onDecided;
  }

  /** Adds a listener for requests and decisions of this process, and for requests of it that expire. Returns a function
   * that removes it. */
  on(event: ApprovalEvent, listener: Listener<Approval>): () => void {
    return this.#listeners.on(event, listener);
  }

  /** The approvals that a filter allows, oldest first. */
  async list(filter: ApprovalFilter = {}): Promise<Approval[]> {
    const all = await Promise.all([...(await this.#store.ids())].map((id) => this.get(id)));
    const found = all.filter((each) => each !== undefined && matches(each, filter)) as Approval[];
    return found.sort((a, b) => a.requestedAt - b.requestedAt);
  }

  async get(id: string): Promise<Approval | undefined> {
    if (typeof id !== "string") return undefined;
    const stored = await this.#store.read(id);
    return stored && approvalOf(id, stored);
  }

  /** Approves or denies a request, once. Code that calls this has the authority to; `may` is for doors. */
  async decide(id: string, decision: ApprovalDecision): Promise<Approval> {
    const { approve, by, reason } = anObject(decision, "decide: decision") as unknown as ApprovalDecision;
    aBoolean(approve, "decide: decision.approve");
    if (reason !== undefined) aName(reason, "decide: decision.reason");
    const before = await this.get(id);
    if (before === undefined) throw unknownApproval(id);
    const decided = { approve, by, reason, at: Date.now() };
    if (before.status !== "pending" || !(await this.#store.decide(id, JSON.stringify(decided)))) {
      const { status } = (await this.get(id)) ?? before;
      throw invalid(`Approval ${id} cannot be decided: it is ${status}`, { reason: "decided", status });
    }
    const approval = (await this.get(id)) ?? before;
    this.#onDecided(approval);
    this.#listeners.notify("decided", approval);
    return approval;
  }

  /** Whether someone may decide about a request through a door. */
  async mayDecide(identity: Identity | undefined, approval: Approval): Promise<boolean> {
    if (this.#may !== undefined) {
      try {
        return (await this.#may(identity, approval)) === true;
      } catch (error) {
        log.error(`approvals.may failed for approval ${approval.id}: ${messageOf(error)}`);
        return false;
      }
    }
    const isOwn = approval.identity?.id === identity?.id;
    return !isOwn && identity?.scopes.includes("approvals:decide") === true;
  }

  /** Whether the client of a call may decide about its own request when it is asked directly: unless `may` says otherwise.
   * @internal */
  async mayAnswer(identity: Identity | undefined, approval: Approval): Promise<boolean> {
    return this.#may === undefined || this.mayDecide(identity, approval);
  }

  /** Resolves when a request is decided, in whatever process; when the signal is aborted; or at a time. @internal */
  whenDecided(
    id: string,
    signal: AbortSignal | undefined,
    until: number,
  ): { decided: Promise<void>; stop(): void } {
    const ends: (() => void)[] = [];
    let isOver = false;
    const decided = new Promise<void>((resolve) => {
      const look = () =>
        later(async () => {
          if (isOver) return;
          const approval = await this.get(id).catch(() => undefined);
          if (approval?.status !== "pending" || Date.now() >= until) resolve();
          else look();
        }, LOOK_EVERY);
      look();
      ends.push(
        onAbort(signal, resolve),
        this.on("decided", (approval) => void (approval.id === id && resolve())),
      );
    });
    const stop = () => {
      isOver = true;
      for (const end of ends) end();
    };
    return { decided, stop };
  }

  /** The request for a call: the one that waits, or a new one. @internal */
  async request(binding: Binding): Promise<Approval> {
    const { operationId, identity, input } = binding;
    if (input.length > MAX_INPUT) {
      const message = `The input of operation ${operationId} is too large for an approval: ${input.length} characters, ${MAX_INPUT} at most`;
      throw invalid(message, { operationId });
    }
    const key = keyOf(binding);
    const known = await this.get(this.#pending.get(key) ?? "");
    if (known?.status === "pending") return known;
    const requestedAt = Date.now();
    const expires = requestedAt + this.#expires;
    const id = newId();
    const request: Request = { operationId, input, identity, requestedAt, expires };
    const caller = JSON.stringify(identity?.id ?? null);
    const text = JSON.stringify(request);
    if (!this.#mayAsk(caller) || !(await this.#add(id, text, caller, expires + KEEP))) {
      throw failed(
        `Operation ${operationId} needs an approval, and too many requests for approvals wait already`,
        { operationId, reason: "overloaded", delivery: "none" },
      );
    }
    this.#pending.set(key, id);
    this.#expire(id, key, expires);
    const approval = approvalOf(id, { request: text, isUsed: false });
    this.#listeners.notify("requested", approval);
    return approval;
  }

  #mayAsk(caller: string): boolean {
    if (!this.#isBounded) return true;
    let own = 0;
    for (const [id, each] of this.#callers) {
      if (each.keepUntil < Date.now()) this.#callers.delete(id);
      else if (each.caller === caller) own += 1;
    }
    return own < MAX_REQUESTS - this.#callers.size;
  }

  async #add(id: string, text: string, caller: string, keepUntil: number): Promise<boolean> {
    let isAdded = false;
    if (this.#isBounded) this.#callers.set(id, { caller, keepUntil });
    try {
      isAdded = await this.#store.add(id, text, keepUntil);
    } finally {
      if (!isAdded) this.#callers.delete(id);
    }
    return isAdded;
  }

  #expire(id: string, key: string, expires: number): void {
    later(
      async () => {
        if (Date.now() < expires) return this.#expire(id, key, expires);
        if (this.#pending.get(key) === id) this.#pending.delete(key);
        const approval = await this.get(id).catch(() => undefined);
        if (approval?.status === "expired") this.#listeners.notify("expired", approval);
      },
      Math.min(Math.max(expires - Date.now(), 1), LONGEST_TIMER),
    );
  }

  /** The approval that a caller names, if it is for this caller and this call. @internal */
  async named(id: unknown, binding: Binding): Promise<Approval | undefined> {
    const stored = typeof id === "string" ? await this.#store.read(id) : undefined;
    if (stored === undefined) return undefined;
    return keyOf(JSON.parse(stored.request)) === keyOf(binding)
      ? approvalOf(id as string, stored)
      : undefined;
  }

  /** Uses an approval up. Whether it was there to be used. @internal */
  async use(approval: Approval): Promise<boolean> {
    const isUsed =
      approval.status === "approved" && Date.now() < approval.expires && (await this.#store.use(approval.id));
    if (isUsed) this.#callers.delete(approval.id);
    return isUsed;
  }
}

/** What an approval is bound to, as one text. */
function keyOf({ operationId, identity, input }: Binding): string {
  return JSON.stringify([operationId, canonicalJson(identity?.id ?? null, "identity.id"), input]);
}

function approvalOf(id: string, { request, decision, isUsed }: StoredApproval): Approval {
  const { operationId, input, identity, requestedAt, expires }: Request = JSON.parse(request);
  const decided: Decided | undefined = decision === undefined ? undefined : JSON.parse(decision);
  let status: Approval["status"] = "pending";
  if (isUsed) status = "used";
  else if (decided?.approve === false) status = "denied";
  else if (Date.now() >= expires) status = "expired";
  else if (decided?.approve === true) status = "approved";
  return {
    id,
    operationId,
    input: input === "" ? undefined : JSON.parse(input),
    ...(identity !== undefined && { identity }),
    status,
    requestedAt,
    expires,
    ...(decided?.by !== undefined && { by: decided.by }),
    ...(decided?.reason !== undefined && { reason: decided.reason }),
    ...(decided !== undefined && { decidedAt: decided.at }),
  };
}

function matches(approval: Approval, { operationId, status, identityId }: ApprovalFilter): boolean {
  return (
    (operationId === undefined || approval.operationId === operationId) &&
    (status === undefined || approval.status === status) &&
    (identityId === undefined || approval.identity?.id === identityId)
  );
}

function unknownApproval(id: string): CallError {
  const message = `There is no approval ${nameOf(id)}`;
  return new CallError(InfrastructureErrorCode.VALIDATION_ERROR, message, { reason: "unknown-approval" });
}

/** Approvals of this process. */
class MemoryApprovals implements ApprovalStore {
  readonly #all = new Map<
    string,
    { request: string; decision?: string; isUsed: boolean; keepUntil: number }
  >();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  add(id: string, request: string, keepUntil: number): boolean {
    if (this.#all.size >= this.#most) this.#removeOld();
    if (this.#all.size >= this.#most || this.#all.has(id)) return false;
    this.#all.set(id, { request, isUsed: false, keepUntil });
    return true;
  }

  /** What was used is of no use any more, and without its request it cannot be used again. */
  #removeOld(): void {
    for (const [id, { isUsed, keepUntil }] of this.#all) {
      if (isUsed || keepUntil < Date.now()) this.#all.delete(id);
    }
  }

  decide(id: string, decision: string): boolean {
    const stored = this.#all.get(id);
    if (stored === undefined || stored.isUsed || stored.decision !== undefined) return false;
    stored.decision = decision;
    return true;
  }

  use(id: string): boolean {
    const stored = this.#all.get(id);
    if (stored === undefined || stored.isUsed) return false;
    stored.isUsed = true;
    return true;
  }

  read(id: string): StoredApproval | undefined {
    const stored = this.#all.get(id);
    return stored && { ...stored };
  }

  ids(): readonly string[] {
    return [...this.#all.keys()];
  }
}
