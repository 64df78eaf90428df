// Approvals, as programs see them.

import type { CallerIdentity, Identity, OperationSpec } from "../types.js";
import type { ApprovalRedis } from "./approval-redis.js";

/**
 * Where a request for an approval stands. `"used"`: the call was made. `"expired"`: it was not made in time.
 *
 * @example
 * ```ts
 * const status: ApprovalStatus = "pending";
 * const waiting = await registry.approvals.list({ status });
 * ```
 */
export type ApprovalStatus = "pending" | "approved" | "denied" | "used" | "expired";

/**
 * A call that needs a person, and what was decided about it.
 *
 * @example
 * ```ts
 * const line = ({ id, operationId, input }: Approval) => `${id}: ${operationId} ${JSON.stringify(input)}`;
 * registry.approvals.on("requested", (approval) => console.log(line(approval)));
 * ```
 */
export interface Approval {
  readonly id: string;
  readonly operationId: string;
  /** What the operation would be called with. */
  readonly input: unknown;
  /** Who wants to call it. */
  readonly identity?: Identity;
  readonly status: ApprovalStatus;
  /** Unix milliseconds. */
  readonly requestedAt: number;
  /** Unix milliseconds. After this time, it can be neither decided nor used. */
  readonly expires: number;
  /** Who decided. */
  readonly by?: Identity;
  readonly reason?: string;
  /** Unix milliseconds. */
  readonly decidedAt?: number;
}

/**
 * What `context.approve` is asked.
 *
 * @example
 * ```ts
 * const approve = ({ operationId }: ApprovalQuestion) => operationId !== "disks.format";
 * await registry.execute("files.remove", { path: "/tmp/a" }, { approve });
 * ```
 */
export interface ApprovalQuestion {
  readonly operationId: string;
  readonly operation: OperationSpec;
  readonly input: unknown;
  readonly identity?: Identity;
}

/**
 * A call that `RegistryOptions.approvals.decide` decides about.
 *
 * @example
 * ```ts
 * const decide = ({ operation, origin }: ApprovalCall) =>
 *   origin === "direct" || operation.type === "query" ? "allow" : "ask";
 * const guarded = new OperationRegistry({ approvals: { decide } });
 * ```
 */
export interface ApprovalCall extends ApprovalQuestion {
  /** `"direct"`: code of this program, nested calls included. `"served"`: the call protocol or a server. `"tool"`: a model. */
  readonly origin: "direct" | "served" | "tool";
}

/**
 * A decision about a request.
 *
 * @example
 * ```ts
 * const no: ApprovalDecision = { approve: false, by: { id: "ada", scopes: [] }, reason: "not on a Friday" };
 * ```
 */
export interface ApprovalDecision {
  approve: boolean;
  by?: CallerIdentity;
  reason?: string;
}

/**
 * Which approvals `list` returns.
 *
 * @example
 * ```ts
 * const filter: ApprovalFilter = { status: "pending", identityId: "agent-7" };
 * ```
 */
export interface ApprovalFilter {
  operationId?: string;
  status?: ApprovalStatus;
  identityId?: string;
}

/**
 * What a store has of a request: texts that only this package reads.
 *
 * @example
 * ```ts
 * const isOpen = ({ decision }: StoredApproval) => decision === undefined;
 * ```
 */
export interface StoredApproval {
  readonly request: string;
  readonly decision?: string | undefined;
  readonly isUsed: boolean;
}

/**
 * Where requests and decisions are stored. Of several that decide or use at the same moment, in whatever process, exactly
 * one gets `true`.
 *
 * @example
 * ```ts
 * const withStore = (store: ApprovalStore) => new OperationRegistry({ approvals: { store } });
 * ```
 */
export interface ApprovalStore {
  /** Stores a request; nothing of it is needed after `keepUntil`. Resolves to `false` if the store is full. */
  add(id: string, request: string, keepUntil: number): boolean | Promise<boolean>;
  /** Stores the first decision. Resolves to `false` if there is one, or no such request. */
  decide(id: string, decision: string): boolean | Promise<boolean>;
  /** Marks a request as used. Resolves to `false` if it was, or if there is no such request. */
  use(id: string): boolean | Promise<boolean>;
  read(id: string): StoredApproval | undefined | Promise<StoredApproval | undefined>;
  ids(): readonly string[] | Promise<readonly string[]>;
}

/**
 * Which calls need a person, who decides, and where that is stored.
 *
 * @example
 * ```ts
 * const approvals: ApprovalOptions = {
 *   decide: ({ operation }) => (operation.type === "mutation" ? "ask" : "allow"),
 *   may: (identity) => identity?.id === "ada",
 *   store: { folder: "/var/lib/my-hub/approvals" },
 *   expires: 60 * 60 * 1000,
 * };
 * ```
 */
export interface ApprovalOptions {
  /** Decides about each call, in place of what its spec says. If it throws, the call is denied. */
  decide?(call: ApprovalCall): ApprovalVerdict | Promise<ApprovalVerdict>;
  /**
   * Who may decide through a door. By default those with the scope `approvals:decide`, except about their own
   * requests. Code of this program may always. Without this function, an MCP client that can be asked decides about its own
   * calls; with it, only a client is asked whose caller may decide.
   */
  may?(identity: Identity | undefined, approval: Approval): boolean | Promise<boolean>;
  /** `"memory"` (the default), a folder or a Redis that several processes may share, or a store of your own. */
  store?: "memory" | { folder: string } | { redis: ApprovalRedis } | ApprovalStore;
  /** How long a request can be decided and used, in milliseconds. 24 hours by default. */
  expires?: number;
}

/**
 * What happens to a call: it runs, a person is asked, or it is refused.
 *
 * @example
 * ```ts
 * const verdict: ApprovalVerdict = "ask";
 * ```
 */
export type ApprovalVerdict = "allow" | "ask" | "deny";

/**
 * The events of `registry.approvals.on`.
 *
 * @example
 * ```ts
 * const event: ApprovalEvent = "requested";
 * registry.approvals.on(event, ({ id }) => console.log(id));
 * ```
 */
export type ApprovalEvent = "requested" | "decided" | "expired";
