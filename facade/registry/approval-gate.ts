// The step between the check of an input and the handler, for operations that may need a person.

import { accessDenied } from "../access.js";
import { CallError } from "../errors.js";
import { messageOf } from "../interop/text.js";
import { traceDecision } from "../interop/trace.js";
import { logger } from "../logging.js";
import type { OperationContext } from "../types.js";
import { approvalClientIn, askClient, takeApproved } from "./approval-client.js";
import type { Approval, ApprovalOptions, ApprovalVerdict } from "./approval-types.js";
import { APPROVAL_REQUIRED, type ApprovalRequests, type Binding } from "./approvals.js";
import { type Decision, decisionReport } from "./audit.js";
import { identityIn } from "./authorise.js";
import { Call, TOOL } from "./call.js";
import { canonicalJson } from "./canonical-json.js";
import type { Entry } from "./entry.js";
import { approvalIn } from "./metadata.js";
import type { Observers } from "./observers.js";
import type { OperationRegistry } from "./registry.js";

const log = logger("registry");

/** Throws if the input is not what was approved. */
export type Recheck = () => void;

export interface Passed {
  readonly recheck?: Recheck;
  /** What was used up. */
  readonly approvalId?: string | undefined;
}

export class ApprovalGate {
  readonly #approvals: ApprovalRequests;
  readonly #decide: ApprovalOptions["decide"];
  readonly #observers: () => Observers | undefined;

  constructor(
    approvals: ApprovalRequests,
    decide: ApprovalOptions["decide"],
    observers: () => Observers | undefined,
  ) {
    this.#approvals = approvals;
    this.#decide = decide;
    this.#observers = observers;
  }

  /** Resolves when the call may run, with a check for the moment before it does; rejects if it may not. */
  async pass(call: Call, entry: Entry): Promise<Passed> {
    try {
      const passed = await this.#pass(call, entry);
      const { approvalId } = passed;
      this.#report(call, { rule: "approval", ...(approvalId && { approvalId }) });
      return passed;
    } catch (error) {
      if (isNotApproved(error)) this.#report(call, { error });
      throw error;
    }
  }

  #report(call: Call, decision: Decision): void {
    const observers = this.#observers();
    if (observers?.isAuditing === true) observers.decided(decisionReport(call, decision));
    traceDecision(() => decisionReport(call, decision));
  }

  async #pass(call: Call, entry: Entry): Promise<Passed> {
    const verdict = await this.verdict(call, entry);
    if (verdict === "allow") return {};
    if (verdict !== "ask") throw notApproved(entry.id, "it is not allowed");
    const { context } = call;
    const input = canonicalJson(call.input, "input");
    const binding: Binding = { operationId: entry.id, identity: identityIn(context), input };
    const recheck = () => {
      if (canonicalJson(call.input, "input") !== input) throw notApproved(entry.id, "its input was changed");
    };
    return { recheck, approvalId: await this.#ask(call, entry, binding, recheck) };
  }

  /** What is to happen to a call. */
  async verdict(call: Call, { id, spec }: Entry): Promise<ApprovalVerdict> {
    if (this.#decide === undefined) return spec.approval === "always" ? "ask" : "allow";
    const { isServed, isOutside } = call.origin;
    const origin = isServed ? "served" : isOutside ? "tool" : "direct";
    try {
      return await this.#decide({ ...question(call, id, spec), origin });
    } catch (error) {
      log.error(`approvals.decide failed for operation ${id}: ${messageOf(error)}`);
      return "deny";
    }
  }

  async #ask(call: Call, entry: Entry, binding: Binding, recheck: Recheck): Promise<string | undefined> {
    const { context } = call;
    if (takeApproved(context, entry.id, binding.input)) return undefined;
    const client = approvalClientIn(context);
    const named = await this.#named(context, client?.answered ?? [], binding);
    if (named?.status === "denied") throw notApproved(entry.id, denial(named), named);
    if (await this.#use(named, recheck)) return named?.id;
    if (typeof context.approve === "function") {
      if ((await context.approve(question(call, entry.id, entry.spec))) === true) return undefined;
      throw notApproved(entry.id, "it was denied");
    }
    const asked = named?.status === "pending" ? named : await this.#approvals.request(binding);
    if (client === undefined) throw required(asked);
    const decided = await askClient(this.#approvals, client, asked, context);
    if (decided.status === "denied") throw notApproved(entry.id, denial(decided), decided);
    if (await this.#use(decided, recheck)) return decided.id;
    throw required(decided.status === "pending" ? decided : await this.#approvals.request(binding));
  }

  /** The approval for this call that its caller names, or that its client has answered about. */
  async #named(
    context: OperationContext,
    answered: readonly string[],
    binding: Binding,
  ): Promise<Approval | undefined> {
    for (const id of [approvalIn(context), ...answered]) {
      const approval = await this.#approvals.named(id, binding);
      if (approval !== undefined) return approval;
    }
    return undefined;
  }

  /** Uses an approval up, if there is one that can be used. */
  async #use(approval: Approval | undefined, recheck: Recheck): Promise<boolean> {
    if (approval?.status !== "approved") return false;
    recheck();
    return this.#approvals.use(approval);
  }
}

/** Whether a person has to approve a call of a model that it may make. */
export async function needsApproval(
  registry: OperationRegistry,
  id: string,
  input: unknown,
  context: OperationContext,
): Promise<boolean> {
  const entry = registry.entry(id);
  if (entry?.isGated !== true) return false;
  try {
    await registry.authorize(id, input, context);
  } catch {
    return false;
  }
  return (await registry.gate.verdict(new Call(id, "call", input, context, TOOL), entry)) === "ask";
}

function question({ input, context }: Call, operationId: string, operation: Entry["spec"]) {
  const identity = identityIn(context);
  return { operationId, operation, input, ...(identity !== undefined && { identity }) };
}

function denial({ by, reason }: Approval): string {
  return `${by === undefined ? "it was denied" : `${by.id} denied it`}${reason === undefined ? "" : `: ${reason}`}`;
}

function notApproved(operationId: string, why: string, approval?: Approval): CallError {
  const details = {
    reason: "not-approved",
    delivery: "none",
    ...(approval && { approval: { id: approval.id } }),
  };
  return accessDenied(operationId, { reason: `not approved, ${why}`, details });
}

function isNotApproved(error: unknown): boolean {
  return error instanceof CallError && Object(error.details).reason === "not-approved";
}

function required({ id, operationId, expires }: Approval): CallError {
  const message = `Operation ${operationId} needs the approval of a person, and nothing was done. Once approval ${id} is granted, repeat the same call with it`;
  return new CallError(APPROVAL_REQUIRED, message, {
    operationId,
    approval: { id, operationId, expires },
    delivery: "none",
  });
}
