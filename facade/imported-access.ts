// Access rules of operations that are imported: what the configuration of their source says, and what users set on them.

import { CallError, InfrastructureErrorCode } from "./errors.js";
import { compiled } from "./schema/compiled.js";
import { AccessControlSchema } from "./spec-schemas.js";
import type { AccessControl, OperationSpec } from "./types.js";

/** Rules for all operations of a source, or a function that has them for each. */
export type ImportedAccessControl = AccessControl | ((spec: OperationSpec) => AccessControl);

/** The rules of an operation that is being imported. Throws if what it is given are none: nothing is open by mistake. */
export function importedRules(rules: ImportedAccessControl | undefined, spec: OperationSpec): AccessControl {
  if (rules === undefined) return spec.accessControl;
  const given: unknown = typeof rules === "function" ? rules(spec) : rules;
  const schema = compiled(AccessControlSchema);
  if (schema.check(given)) return structuredClone(given) as AccessControl;
  const [error] = schema.errors(given);
  throw new CallError(
    InfrastructureErrorCode.VALIDATION_ERROR,
    `'accessControl' gives no rules for ${spec.namespace}.${spec.name}: ${error?.path ?? ""} ${error?.message ?? ""}`,
  );
}

/** Rules that users have set on imported operations, for those that take their places. */
export class KeptRules {
  /** As they were imported, as JSON. */
  readonly #imported = new Map<string, string>();
  readonly #kept = new Map<string, AccessControl>();

  /** Looks at an operation that is about to be replaced or removed. */
  look(name: string, rules: AccessControl | undefined): void {
    if (rules === undefined) return;
    if (JSON.stringify(rules) === this.#imported.get(name)) this.#kept.delete(name);
    else this.#kept.set(name, rules);
  }

  /** The rules of an operation that takes a place, given those that it was imported with. */
  for(name: string, imported: AccessControl): AccessControl {
    this.#imported.set(name, JSON.stringify(imported));
    return this.#kept.get(name) ?? imported;
  }
}
