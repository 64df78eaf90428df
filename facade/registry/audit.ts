// Reports of access decisions.

import { CallError, InfrastructureErrorCode } from "../errors.js";
import { messageOf } from "../interop/text.js";
import type { Identity } from "../types.js";
import type { Approval } from "./approval-types.js";
import { identityIn } from "./authorise.js";
import type { Call } from "./call.js";
import type { AccessReport } from "./observer-types.js";
import { type EffectiveRules, eachRule } from "./rules.js";

/** A caller may, by a rule; or was refused with an error. */
export type Decision = { readonly rule: string; readonly approvalId?: string } | { readonly error: unknown };

/** Decides about a caller (`decide` throws or rejects to refuse it), and reports the decision. */
export function reportDecision(
  rules: EffectiveRules,
  trustedBy: string | undefined,
  decide: () => Promise<void> | undefined,
  report: (decision: Decision) => void,
): Promise<void> | undefined {
  const grant = () => report({ rule: trustedBy ?? metRules(rules) });
  const refuse = (error: unknown): never => {
    if (error instanceof CallError && error.code === InfrastructureErrorCode.ACCESS_DENIED) report({ error });
    throw error;
  };
  let asked: Promise<void> | undefined;
  try {
    asked = decide();
  } catch (error) {
    refuse(error);
  }
  if (asked !== undefined) return asked.then(grant, refuse);
  grant();
  return undefined;
}

export function decisionReport({ id, context, origin }: Call, decision: Decision): AccessReport {
  const isGranted = "rule" in decision;
  const identityId = identityIdOf(identityIn(context));
  const { requestId } = context;
  return {
    operationId: id,
    isGranted,
    rule: isGranted ? decision.rule : unmetRule(decision.error),
    ...(!isGranted && { reason: messageOf(decision.error) }),
    ...(isGranted && decision.approvalId !== undefined && { approvalId: decision.approvalId }),
    ...(identityId !== undefined && { identityId }),
    ...(requestId !== undefined && { requestId }),
    at: Date.now(),
    isServed: origin.isServed,
    isNative: false,
  };
}

/** The report of what a person has decided. */
export function personReport({
  id,
  operationId,
  status,
  identity,
  by,
  reason,
  decidedAt,
}: Approval): AccessReport {
  const identityId = identityIdOf(identity);
  const decidedBy = identityIdOf(by);
  return {
    operationId,
    isGranted: status === "approved",
    rule: "approval",
    approvalId: id,
    ...(reason !== undefined && { reason }),
    ...(identityId !== undefined && { identityId }),
    ...(decidedBy !== undefined && { decidedBy }),
    at: decidedAt ?? Date.now(),
    isServed: false,
    isNative: false,
  };
}

/** Who calls, where that can be said. */
export function identityIdOf(identity: Identity | undefined): string | undefined {
  const id: unknown = identity?.id;
  return typeof id === "string" ? id : undefined;
}

/** The rules that a caller meets who may call. */
function metRules(rules: EffectiveRules): string {
  const met = eachRule(rules).flatMap(
    ({ requiredScopes, requiredScopesAny = [], resourceType, when, customAuth }) => [
      ...(requiredScopes.length > 0 ? ["requiredScopes"] : []),
      ...(requiredScopesAny.length > 0 ? ["requiredScopesAny"] : []),
      ...(resourceType !== undefined ? ["resource"] : []),
      ...(when !== undefined ? ["when"] : []),
      ...(customAuth !== undefined ? [`customAuth:${customAuth}`] : []),
    ],
  );
  return met.length === 0 ? "open" : [...new Set(met)].join(", ");
}

/** The rule that a denial names (`facade/access.ts`, `crates/operations-core/src/access.rs`). */
export function unmetRule(error: unknown): string {
  const details = error instanceof CallError ? Object(error.details) : {};
  if (details.reason === "not-approved") return "approval";
  if (details.identityRequired === true) return "identity";
  if (details.missingScopes !== undefined) return "requiredScopes";
  if (details.requiredScopesAny !== undefined) return "requiredScopesAny";
  if (details.resource !== undefined) return "resource";
  if (details.condition !== undefined) return "when";
  if (details.customAuth !== undefined) return `customAuth:${details.customAuth}`;
  return "malformed";
}
