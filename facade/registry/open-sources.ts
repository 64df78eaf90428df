// Sources that carry credentials while anybody may call their operations: whoever offers such to others is told, once.

import { logImportant } from "../logging.js";
import type { AccessControl, OperationSpec } from "../types.js";

/** Whose credentials a handler uses. */
interface Source {
  /** As the user knows it. */
  readonly name: string;
}

const sources = new WeakMap<object, Source>();
const told = new WeakSet<Source>();

/** Says that a handler uses the credentials of a source. */
export function markCredentials(handler: object, source: Source): void {
  sources.set(handler, source);
}

/** Called for each operation that is offered to others. */
export function tellIfOpen(id: string, handler: object | undefined, rules: AccessControl): void {
  const source = handler && sources.get(handler);
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
export function tellOfOpenSources(registry: Offers): void {
  for (const { namespace, name, visibility, accessControl } of registry.getAllSpecs()) {
    const id = `${namespace}.${name}`;
    if (visibility !== "internal") tellIfOpen(id, registry.getHandler(id), accessControl);
  }
}

interface Offers {
  getAllSpecs(): OperationSpec[];
  getHandler(id: string): object | undefined;
}

/** Rules that cannot be read let nobody in. */
function requiresSomething(rules: AccessControl): boolean {
  try {
    const { requiredScopes, requiredScopesAny, resourceType, customAuth } = rules;
    return (
      requiredScopes.length > 0 ||
      (requiredScopesAny?.length ?? 0) > 0 ||
      resourceType !== undefined ||
      customAuth !== undefined
    );
  } catch {
    return true;
  }
}
