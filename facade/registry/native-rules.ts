// Access rules as the native side was told them, to notice when a user changes theirs in place.

import type { AccessControl } from "../types.js";

const LISTS = ["requiredScopes", "requiredScopesAny"] as const;
const WORDS = ["resourceType", "resourceAction", "customAuth"] as const;

/** A copy; nothing where the rules are such that only JavaScript can tell what they mean. */
export function copyOfRules(rules: AccessControl): AccessControl | undefined {
  const copy: AccessControl = { requiredScopes: [] };
  for (const field of LISTS) {
    const list = rules[field];
    if (list === undefined && field !== "requiredScopes") continue;
    if (!Array.isArray(list) || !list.every(isPlain)) return undefined;
    copy[field] = [...list];
  }
  for (const field of WORDS) {
    const word = rules[field];
    if (word === undefined) continue;
    if (!isPlain(word)) return undefined;
    copy[field] = word;
  }
  return copy;
}

/** Half a surrogate pair is nothing that Rust could compare. */
function isPlain(word: unknown): word is string {
  return typeof word === "string" && !/\p{Surrogate}/u.test(word);
}

/** Whether the rules are still those that were copied. Asked often, of many: it allocates nothing. */
export function isCopyOf(copy: AccessControl, rules: AccessControl): boolean {
  for (const field of WORDS) if (rules[field] !== copy[field]) return false;
  for (const field of LISTS) if (!isSameList(copy[field], rules[field])) return false;
  return true;
}

function isSameList(copy: readonly string[] | undefined, list: readonly string[] | undefined): boolean {
  if (copy === undefined || list === undefined) return copy === list;
  if (!Array.isArray(list) || list.length !== copy.length) return false;
  for (let i = 0; i < copy.length; i++) if (copy[i] !== list[i]) return false;
  return true;
}
