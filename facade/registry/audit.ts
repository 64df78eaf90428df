// Decisions about access, for those who keep a record of them.

import { messageOf } from "../border/text.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import type { Identity, OperationContext } from "../types.js";
import { identityIn } from "./authorise.js";
import { type EffectiveRules, eachRule } from "./rules.js";
import type { AccessReport } from "./watch-types.js";

/** A caller may, by a rule; or was refused with an error. */
export type Decision = { readonly rule: string } | { readonly error: unknown };

/** Decides, and tells of it. What `decide` does to refuse a caller, this does. */
export function told(
  rules: EffectiveRules,
  decide: () => Promise<void> | undefined,
  tell: (decision: Decision) => void,
): Promise<void> | undefined {
  const grant = () => tell({ rule: metRules(rules) });
  const refuse = (error: unknown): never => {
    if (error instanceof CallError && error.code === InfrastructureErrorCode.ACCESS_DENIED) tell({ error });
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

/** What is reported of a decision. */
export function accessReport(
  operationId: string,
  context: OperationContext,
  isServed: boolean,
  decision: Decision,
): AccessReport {
  const isGranted = "rule" in decision;
  const identityId = identityIdOf(identityIn(context));
  const { requestId } = context;
  return {
    operationId,
    isGranted,
    rule: isGranted ? decision.rule : unmetRule(decision.error),
    ...(!isGranted && { reason: messageOf(decision.error) }),
    ...(identityId !== undefined && { identityId }),
    ...(requestId !== undefined && { requestId }),
    at: Date.now(),
    isServed,
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
    ({ requiredScopes, requiredScopesAny = [], resourceType, customAuth }) => [
      ...(requiredScopes.length > 0 ? ["requiredScopes"] : []),
      ...(requiredScopesAny.length > 0 ? ["requiredScopesAny"] : []),
      ...(resourceType !== undefined ? ["resource"] : []),
      ...(customAuth !== undefined ? [`customAuth:${customAuth}`] : []),
    ],
  );
  return met.length === 0 ? "open" : [...new Set(met)].join(", ");
}

/** The rule that a denial names (`facade/access.ts`, `crates/operations-core/src/access.rs`). */
export function unmetRule(error: unknown): string {
  const details = error instanceof CallError ? Object(error.details) : {};
  if (details.identityRequired === true) return "identity";
  if (details.missingScopes !== undefined) return "requiredScopes";
  if (details.requiredScopesAny !== undefined) return "requiredScopesAny";
  if (details.resource !== undefined) return "resource";
  if (details.customAuth !== undefined) return `customAuth:${details.customAuth}`;
  return "malformed";
}
