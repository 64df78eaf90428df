// The access rules that hold for an operation: its own, and those that `protect` adds.

import type { AccessControl } from "../types.js";

/** Rules, and others that must hold as well because they cannot be merged with them. */
export interface EffectiveRules extends AccessControl {
  readonly also?: readonly AccessControl[];
}

const LISTS = ["requiredScopes", "requiredScopesAny"] as const;
const WORDS = ["resourceType", "resourceAction", "customAuth"] as const;

/** A copy, with what a prototype or a getter gives too: nothing that was checked is lost. */
export function copyOfRules(rules: AccessControl): AccessControl {
  const copy: AccessControl = { requiredScopes: [] };
  for (const field of LISTS) if (rules[field] !== undefined) copy[field] = [...rules[field]];
  for (const field of WORDS) if (rules[field] !== undefined) copy[field] = rules[field];
  if (rules.when !== undefined) copy.when = JSON.parse(JSON.stringify(rules.when));
  return copy;
}

/** Freezes rules, so that changing them throws, and returns a frozen copy that no getter or proxy can change. */
export function frozenRules(rules: AccessControl): AccessControl {
  const copy = copyOfRules(rules);
  for (const each of [rules, copy]) {
    for (const field of LISTS) Object.freeze(each[field]);
    freezeAll(each.when);
    Object.freeze(each);
  }
  return copy;
}

function freezeAll(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  Object.values(value).forEach(freezeAll);
}

/** All of these rules together. */
export function combinedRules(own: AccessControl, added: readonly AccessControl[]): EffectiveRules {
  if (added.length === 0) return own;
  const requiredScopes = [...new Set([own, ...added].flatMap((rules) => rules.requiredScopes))];
  const also = added
    .map((rules) => ({ ...rules, requiredScopes: [] }))
    .filter((rules) => Object.keys(rules).length > 1);
  return Object.freeze({ ...own, requiredScopes, ...(also.length > 0 && { also }) });
}

/** The rules, each by itself. */
export function eachRule({ also = [], ...rules }: EffectiveRules): AccessControl[] {
  return [rules, ...also];
}

/** The rules without functions of the application, which can only be called for a call. */
export function withoutCustomAuth(rules: EffectiveRules): EffectiveRules {
  const [{ customAuth: _, ...own }, ...also] = eachRule(rules) as [AccessControl, ...AccessControl[]];
  return also.length === 0 ? own : { ...own, also: also.map(({ customAuth: _, ...rest }) => rest) };
}

/** Whether a function of the application decides. */
export function hasCustomAuth(rules: EffectiveRules): boolean {
  return eachRule(rules).some(({ customAuth }) => customAuth !== undefined);
}

/** Whether Rust can compare the texts in the rules: it has no strings with a lone surrogate. */
export function isWellFormed(rules: EffectiveRules): boolean {
  // `JSON.stringify` writes a lone surrogate as an escape sequence.
  return !/\\ud[89a-f]/i.test(JSON.stringify(rules));
}
