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
    let isComplete = true;
    for (const approval of inTurns(await approvals.list())) {
      const mayDecide = await approvals.mayDecide(identity, approval);
      // The requests of callers without an identity are for those who have the id.
      if (!mayDecide && (identity === undefined || !isOwn(approval))) continue;
      const text = JSON.stringify({ ...approval, mayDecide });
      if (text.length > room) {
        isComplete = false;
        continue;
      }
      room -= text.length;
      texts.push(text);
    }
    return `{"approvals":[${texts.join(",")}],"isComplete":${isComplete}}`;
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

/** What waits, the oldest first, and then the others, the latest first. Callers take turns: none fills the list alone. */
function inTurns(oldestFirst: Approval[]): Approval[] {
  const isPending = ({ status }: Approval) => status === "pending";
  const waiting = oldestFirst.filter(isPending);
  const others = oldestFirst.filter((each) => !isPending(each)).reverse();
  return [waiting, others].flatMap((approvals) => {
    const turns = new Map<string | undefined, number>();
    const ranked = approvals.map((approval) => {
      const turn = turns.get(approval.identity?.id) ?? 0;
      turns.set(approval.identity?.id, turn + 1);
      return { approval, turn };
    });
    return ranked.sort((a, b) => a.turn - b.turn).map(({ approval }) => approval);
  });
}
