// Access control with a registry behind it: the declared rules, then the application's own.

import { accessDenied, findDenial } from "../access.js";
import { optionOf } from "../interop/options.js";
import type { Identity, OperationContext } from "../types.js";
import { type EffectiveRules, eachRule, hasCustomAuth, withoutCustomAuth } from "./rules.js";

/**
 * The call that a `customAuth` function decides about.
 *
 * @example
 * ```ts
 * const owns = (identity: Identity | undefined, { input }: AuthorisedCall) =>
 *   (input as { owner?: string }).owner === identity?.id;
 * const guarded = new OperationRegistry({ customAuth: { owns } });
 * ```
 */
export interface AuthorisedCall {
  operationId: string;
  input: unknown;
  context: OperationContext;
}

/**
 * A function that decides about access. Only `true` grants access. If it throws, access is denied.
 *
 * @example
 * ```ts
 * const isOwner: CustomAuth = (identity, { input }) => identity?.id === (input as { owner: string }).owner;
 * ```
 */
export type CustomAuth = (identity: Identity | undefined, call: AuthorisedCall) => boolean | Promise<boolean>;

/**
 * Whether the caller holds all required scopes and nothing else is required: the usual case, decided
 * without allocating. False means only that the rules have to be checked in full.
 */
export function holdsScopes(rules: EffectiveRules, identity: Identity | undefined): boolean {
  const { requiredScopes } = rules;
  if (
    rules.requiredScopesAny !== undefined ||
    rules.resourceType !== undefined ||
    rules.resourceAction !== undefined ||
    rules.when !== undefined ||
    rules.customAuth !== undefined ||
    rules.also !== undefined
  ) {
    return false;
  }
  if (requiredScopes.length === 0) return true;
  if (typeof identity !== "object" || identity === null || !Object.hasOwn(identity, "scopes")) return false;
  const { scopes } = identity;
  return Array.isArray(scopes) && holdsAll(scopes, requiredScopes);
}

/** `required.every((scope) => held.includes(scope))`, at half the price. */
function holdsAll(held: readonly unknown[], required: readonly string[]): boolean {
  for (let i = 0; i < required.length; i++) {
    const scope = required[i];
    let at = 0;
    while (at < held.length && held[at] !== scope) at++;
    if (at === held.length) return false;
  }
  return true;
}

/** Throws when the caller may not; a promise only where the rules have a `customAuth`. */
export function authorise(
  rules: EffectiveRules,
  call: AuthorisedCall,
  customAuth: Readonly<Record<string, CustomAuth>>,
): Promise<void> | undefined {
  const hasCustom = hasCustomAuth(rules);
  const declared = hasCustom ? withoutCustomAuth(rules) : rules;
  const denial = findDenial(declared, identityIn(call.context), call.input);
  if (denial !== undefined) throw accessDenied(call.operationId, denial);
  return hasCustom ? askAll(rules, call, customAuth) : undefined;
}

async function askAll(
  rules: EffectiveRules,
  call: AuthorisedCall,
  customAuth: Readonly<Record<string, CustomAuth>>,
): Promise<void> {
  for (const { customAuth: name } of eachRule(rules)) {
    if (name === undefined) continue;
    const rule = Object.hasOwn(customAuth, name) ? customAuth[name] : undefined;
    if (typeof rule !== "function") {
      throw accessDenied(call.operationId, {
        reason: `customAuth "${name}" is not registered in RegistryOptions.customAuth`,
        details: { customAuth: name },
      });
    }
    await ask(rule, name, call);
  }
}

async function ask(rule: CustomAuth, name: string, call: AuthorisedCall): Promise<void> {
  let granted: unknown = false;
  try {
    granted = await rule(identityIn(call.context), call);
  } catch {
    // A rule that fails grants nothing. What it threw may hold secrets, so it is not passed on.
  }
  if (granted !== true) {
    throw accessDenied(call.operationId, {
      reason: `customAuth "${name}" did not grant access`,
      details: { customAuth: name },
    });
  }
}

/** Who calls. A context without an identity has none, whatever is on `Object.prototype`. */
export function identityIn(context: { identity?: Identity }): Identity | undefined {
  // As `optionOf` has it, for one name, which makes it several times as quick.
  return "identity" in Object.prototype
    ? (optionOf(context, "identity") as Identity | undefined)
    : context.identity;
}
