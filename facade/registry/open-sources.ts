// Sources that carry credentials while anybody may call their operations: whoever offers such to others is told, once.

import { logImportant } from "../logging.js";
import type { Entry } from "./entry.js";
import { traitsOf } from "./handler-traits.js";
import { type EffectiveRules, eachRule } from "./rules.js";

const told = new WeakSet<object>();

/** Called for each operation that is offered to others. */
export function tellIfOpen(id: string, handler: object | undefined, rules: EffectiveRules): void {
  const source = traitsOf(handler).credentials;
  if (source === undefined || told.has(source) || requiresSomething(rules)) return;
  told.add(source);
  logImportant(
    "warn",
    "access",
    `${source.name} is called with your credentials, and ${id} is open to every caller: set accessControl for it`,
    { source: source.name, operationId: id },
  );
}

/** The same for whatever a registry has to offer now. */
export function tellOfOpenSources(registry: { entries(): Iterable<Entry> }): void {
  for (const { id, handler, isInternal, rules } of registry.entries()) {
    if (!isInternal) tellIfOpen(id, handler, rules);
  }
}

function requiresSomething(rules: EffectiveRules): boolean {
  return eachRule(rules).some(
    ({ requiredScopes, requiredScopesAny = [], resourceType, customAuth }) =>
      requiredScopes.length + requiredScopesAny.length > 0 ||
      resourceType !== undefined ||
      customAuth !== undefined,
  );
}
