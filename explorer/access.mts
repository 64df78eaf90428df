// What an operation demands of its callers, in words. No DOM: tested without a browser.

import { isRecord } from "./schema-root.mjs";

/** Access rules as the server sends them. `also` are rules that must hold as well. */
export type Access = Readonly<Record<string, unknown>>;

/** Deeper rules are left out. */
const DEEPEST = 4;

/** "needs the scope admin"; an empty text where the rules name nothing. */
export function accessWords(access: Access): string {
  const needs = [...new Set(demands(access, 0))];
  return needs.length === 0 ? "" : `needs ${needs.join(" and ")}`;
}

function demands(access: Access, depth: number): string[] {
  const all = texts(access.requiredScopes);
  const any = texts(access.requiredScopesAny);
  const { resourceType, resourceAction, when, customAuth, also } = access;
  return [
    ...(all.length > 0 ? [`${all.length === 1 ? "the scope" : "the scopes"} ${all.join(", ")}`] : []),
    ...(any.length > 0
      ? [any.length === 1 ? `the scope ${any[0]}` : `one of the scopes ${any.join(", ")}`]
      : []),
    ...(typeof resourceType === "string"
      ? [`the right to ${resourceAction} a resource of type ${resourceType}`]
      : []),
    ...(isRecord(when) || Array.isArray(when)
      ? [`a call with ${[when].flat().flatMap(Object.keys).join(", ")} as the rules say`]
      : []),
    ...(typeof customAuth === "string" ? [`the consent of ${customAuth}`] : []),
    ...(Array.isArray(also) && depth < DEEPEST
      ? also.filter(isRecord).flatMap((rules) => demands(rules, depth + 1))
      : []),
  ];
}

const texts = (list: unknown): string[] =>
  Array.isArray(list) ? list.filter((each) => typeof each === "string") : [];
