// What the HTTP door asks about approvals (`crates/operations-serve/src/door/http/approvals.rs`).

import { accessDenied } from "../access.js";
import { anObject } from "../interop/options.js";
import type { Approval, ApprovalDecision } from "../registry/approval-types.js";
import type { Approvals } from "../registry/approvals.js";
import type { Identity } from "../types.js";

export interface ApprovalsRequest {
  /** Empty for all. */
  id: string;
  identity: Identity | null;
  /** `null` if nothing is to be decided. */
  decision: unknown;
}

/** A list ends when it has so many characters. */
const MAX_LIST = 1024 * 1024;

/** The answer, as JSON: `null` where there is nothing that the caller may see. */
export async function answerApprovals(approvals: Approvals, request: ApprovalsRequest): Promise<string> {
  const { id, decision } = request;
  const identity = request.identity ?? undefined;
  const isOwn = (approval: Approval) => approval.identity?.id === identity?.id;
  if (id === "") {
    const texts: string[] = [];
    let room = MAX_LIST;
    for (const approval of (await approvals.list()).sort(pendingFirst)) {
      const mayDecide = await approvals.mayDecide(identity, approval);
      // The requests of callers without an identity are for those who have the id.
      if (!mayDecide && (identity === undefined || !isOwn(approval))) continue;
      const text = JSON.stringify({ ...approval, mayDecide });
      room -= text.length;
      if (room < 0) break;
      texts.push(text);
    }
    return `{"approvals":[${texts.join(",")}],"isComplete":${room >= 0}}`;
  }
  const approval = await approvals.get(id);
  const mayDecide = approval !== undefined && (await approvals.mayDecide(identity, approval));
  if (approval === undefined || !(mayDecide || isOwn(approval))) return "null";
  if (decision === null) return JSON.stringify({ ...approval, mayDecide });
  if (!mayDecide) {
    const details = { approval: { id } };
    throw accessDenied(approval.operationId, { reason: "you may not decide about this request", details });
  }
  const { approve, reason } = anObject(decision, "decision") as unknown as ApprovalDecision;
  const by = identity && { by: identity };
  const decided = await approvals.decide(id, { approve, ...(reason !== undefined && { reason }), ...by });
  return JSON.stringify({ ...decided, mayDecide });
}

/** Of the others, the latest first. */
function pendingFirst(a: Approval, b: Approval): number {
  const isPending = ({ status }: Approval) => Number(status === "pending");
  return isPending(b) - isPending(a) || b.requestedAt - a.requestedAt;
}
