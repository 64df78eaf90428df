import { ANY_INPUT, unmetPaths } from "./access-condition.js";
import { CallError, InfrastructureErrorCode } from "./errors.js";
import type { AccessRules, CallerIdentity } from "./types.js";

/** Rules, and others that must hold as well (`facade/registry/rules.ts`). */
type Rules = AccessRules & { readonly also?: readonly AccessRules[] };

/** Why a caller was refused. It names what was missing, never what the caller holds. */
interface Denial {
  readonly reason: string;
  readonly details: Record<string, unknown>;
}

/**
 * Whether an identity satisfies access rules. Malformed rules deny access, and so do `customAuth` and conditions on the input,
 * which need a call.
 *
 * @example
 * ```ts
 * checkAccess({ requiredScopes: ["tasks:read"] }, { id: "ada", scopes: ["tasks:read"] }); // true
 * ```
 */
export function checkAccess(accessControl: AccessRules, identity?: CallerIdentity): boolean {
  return findDenial(accessControl, identity) === undefined;
}

/**
 * Throws `ACCESS_DENIED`, with what is missing, if an identity does not satisfy access rules.
 *
 * @example
 * ```ts
 * enforceAccess({ requiredScopes: ["tasks:write"] }, identity, "tasks.create");
 * ```
 */
export function enforceAccess(
  accessControl: AccessRules,
  identity: CallerIdentity | undefined,
  operationId: string,
  trusted?: boolean,
): void {
  if (trusted === true) return;
  const denial = findDenial(accessControl, identity);
  if (denial !== undefined) throw accessDenied(operationId, denial);
}

/** Whether an operation is named to a caller in a list. Rules that cannot be read hide it, and leave the others alone. */
export function isShownTo(identity: CallerIdentity | undefined, rules: () => Rules): boolean {
  try {
    return findDenial(rules(), identity, ANY_INPUT) === undefined;
  } catch {
    return false;
  }
}

export function accessDenied(operationId: string, { reason, details }: Denial): CallError {
  return new CallError(
    InfrastructureErrorCode.ACCESS_DENIED,
    `Access denied to operation ${operationId}: ${reason}`,
    { operationId, ...details },
  );
}

/** The first requirement that is not met. The same rules, in the same order, as the core crate's. */
export function findDenial(
  rules: Rules,
  identity: CallerIdentity | undefined,
  input?: unknown,
): Denial | undefined {
  if (typeof rules !== "object" || rules === null || !Array.isArray(rules.requiredScopes)) {
    return malformed("requiredScopes must be an array");
  }
  const { requiredScopes, requiredScopesAny = [], resourceType, resourceAction, when, customAuth } = rules;
  if (!Array.isArray(requiredScopesAny)) return malformed("requiredScopesAny must be an array");
  if ((resourceType === undefined) !== (resourceAction === undefined)) {
    return {
      reason: "resourceType and resourceAction must be declared together",
      details: { incompleteResourceRule: true },
    };
  }
  const open = requiredScopes.length === 0 && requiredScopesAny.length === 0 && resourceType === undefined;
  if (!open) {
    if (identity === undefined || identity === null) {
      return { reason: "identity required", details: { identityRequired: true } };
    }
    const held = ownArray(identity, "scopes");
    const missing = requiredScopes.filter((scope) => !held.includes(scope));
    if (missing.length > 0) {
      return {
        reason: `missing required scopes: ${missing.join(", ")}`,
        details: { missingScopes: missing },
      };
    }
    if (requiredScopesAny.length > 0 && !requiredScopesAny.some((scope) => held.includes(scope))) {
      return {
        reason: `at least one of these scopes is required: ${requiredScopesAny.join(", ")}`,
        details: { requiredScopesAny: [...requiredScopesAny] },
      };
    }
    if (resourceType !== undefined && !holdsResource(identity, resourceType, resourceAction)) {
      return {
        reason: `action "${resourceAction}" on a resource of type "${resourceType}" is required`,
        details: { resource: { resourceType, resourceAction } },
      };
    }
  }
  const unmet = when === undefined ? undefined : unmetPaths(when, { input, identity });
  if (unmet !== undefined) {
    const reason = `the call does not meet the condition on ${unmet.join(", ")}`;
    return { reason, details: { condition: unmet } };
  }
  if (customAuth !== undefined) {
    return {
      reason: `customAuth "${customAuth}" is not registered here`,
      details: { customAuth },
    };
  }
  for (const more of rules.also ?? []) {
    const denial = findDenial(more, identity, input);
    if (denial !== undefined) return denial;
  }
  return undefined;
}

function malformed(reason: string): Denial {
  return { reason: `malformed accessControl: ${reason}`, details: { malformed: reason } };
}

function holdsResource(identity: CallerIdentity, type: string, action: string | undefined): boolean {
  const resources: unknown = Object.hasOwn(identity, "resources") ? identity.resources : undefined;
  if (typeof resources !== "object" || resources === null) return false;
  return Object.keys(resources).some(
    (key) => key.startsWith(`${type}:`) && ownArray(resources, key).includes(action),
  );
}

/** Inherited properties grant nothing, and neither does anything but an array. */
function ownArray(holder: object, key: string): readonly unknown[] {
  const value: unknown = Object.hasOwn(holder, key) ? (holder as Record<string, unknown>)[key] : undefined;
  return Array.isArray(value) ? value : [];
}
