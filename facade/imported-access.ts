// Access rules of operations that are imported: what the configuration of their source says, and what users set on them.

import { unknownRule, whenFlaw } from "./access-rules.js";
import { anObject, oneOf, refusal } from "./interop/options.js";
import { copyOfRules } from "./registry/rules.js";
import { compiled } from "./schema/compiled.js";
import { AccessControlSchema } from "./spec-schemas.js";
import type { AccessControl, OperationSpec } from "./types.js";

/**
 * Access rules for all operations of a source, or a function that returns the rules of each.
 *
 * @example
 * ```ts
 * const rules: ImportedAccessControl = ({ type }) => ({ requiredScopes: type === "query" ? [] : ["write"] });
 * ```
 */
export type ImportedAccessControl = AccessControl | ((spec: OperationSpec) => AccessControl);

/**
 * Which operations of a source need the approval of a person: one word for all, or a function that returns the word of each.
 *
 * @example
 * ```ts
 * const approval: ImportedApproval = ({ type }) => (type === "query" ? "never" : "always");
 * await createMCPClient("files", { command: "files-server", approval });
 * ```
 */
export type ImportedApproval = "never" | "always" | ((spec: OperationSpec) => "never" | "always");

const anApprovalWord = oneOf("never", "always");

/** What the configuration of a source may say about approvals. */
export function importApproval(given: unknown, path: string): unknown {
  return typeof given === "function" ? given : anApprovalWord(given, path);
}

/** The same for an operation that is being imported. Throws if a function returns no such word. */
export function importedApproval(
  approval: ImportedApproval | undefined,
  spec: OperationSpec,
): Pick<OperationSpec, "approval"> {
  if (approval === undefined) return {};
  const word = typeof approval === "function" ? approval(spec) : approval;
  return { approval: anApprovalWord(word, `${spec.namespace}.${spec.name}: approval`) as "never" | "always" };
}

/** What the configuration of a source may say: rules, or a function. */
export function accessRules(given: unknown, path: string): unknown {
  return typeof given === "function" ? given : checkedRules(given, path);
}

/** Rules as an object, not a function. Throws if they are invalid. */
export function checkedRules(given: unknown, path: string): AccessControl {
  const unknown = unknownRule(anObject(given, path) as object);
  if (unknown !== undefined) {
    throw refusal(`${path}.${unknown.name}`, unknown.message, { nearest: unknown.nearest });
  }
  const flaw = whenFlaw(given as object);
  if (flaw !== undefined) throw refusal(`${path}.${flaw.at.replaceAll("/", ".")}`, flaw.message);
  const schema = compiled(AccessControlSchema);
  if (schema.check(given)) return copyOfRules(given as AccessControl);
  const [error] = schema.errors(given);
  throw refusal(`${path}${error?.path ?? ""}`, `is not an access rule: ${error?.message ?? ""}`);
}

/** The rules of an operation that is being imported. Throws if what it is given are none: nothing is open by mistake. */
export function importedRules(rules: ImportedAccessControl | undefined, spec: OperationSpec): AccessControl {
  if (rules === undefined) return spec.accessControl;
  const given = typeof rules === "function" ? rules(spec) : rules;
  return checkedRules(given, `${spec.namespace}.${spec.name}: accessControl`);
}

/** Rules that users have set on imported operations, for those that replace them. */
export class UserRules {
  /** As `for` returned them, as JSON. */
  readonly #given = new Map<string, string>();
  readonly #changed = new Map<string, AccessControl>();

  /** Remembers the rules of an operation that is about to be replaced or removed. What a user has set holds for good: a source may come to agree with it,
   * and disagree later. */
  remember(name: string, rules: AccessControl | undefined): void {
    if (rules !== undefined && JSON.stringify(rules) !== this.#given.get(name))
      this.#changed.set(name, rules);
  }

  /** The rules of a new operation, given those that it was imported with. */
  for(name: string, imported: AccessControl): AccessControl {
    const rules = this.#changed.get(name) ?? imported;
    this.#given.set(name, JSON.stringify(rules));
    return rules;
  }
}
