// A warning, once for each source, where operations are served that use credentials and require nothing of their callers.

import { logImportant } from "../logging.js";
import type { Entry } from "./entry.js";
import { traitsOf } from "./handler-traits.js";
import { type EffectiveRules, eachRule } from "./rules.js";

const warned = new WeakSet<object>();

/** Called for each operation that is served. */
export function warnIfOpen(id: string, handler: object | undefined, rules: EffectiveRules): void {
  const source = traitsOf(handler).credentials;
  if (source === undefined || warned.has(source) || requiresSomething(rules)) return;
  warned.add(source);
  logImportant(
    "warn",
    "access",
    `${source.name} is called with your credentials, and ${id} is open to every caller: set accessControl for it`,
    { source: source.name, operationId: id },
  );
}

/** The same for all operations of a registry. */
export function warnAboutOpenSources(registry: { entries(): Iterable<Entry> }): void {
  for (const { id, handler, isInternal, rules } of registry.entries()) {
    if (!isInternal) warnIfOpen(id, handler, rules);
  }
}

function requiresSomething(rules: EffectiveRules): boolean {
  return eachRule(rules).some(
    ({ requiredScopes, requiredScopesAny = [], resourceType, when, customAuth }) =>
      requiredScopes.length + requiredScopesAny.length > 0 ||
      resourceType !== undefined ||
      when !== undefined ||
      customAuth !== undefined,
  );
}
