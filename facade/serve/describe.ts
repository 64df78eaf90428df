// What is served, as the native side shows it to clients (`crates/operations-serve/src/door/mcp/catalog.rs`).

import { optionOf } from "../border/options.js";
import { errorsOf, rulesOf, schemaText, wellFormed } from "../registry/described.js";
import { isCopyOf } from "../registry/native-rules.js";
import type { OperationRegistry } from "../registry/registry.js";
import { type AccessControl, type OperationSpec, OperationType } from "../types.js";
import { lookOf } from "./mcp-look.js";

/** The access rules that were told, to notice when a user changes them in place. */
export class ToldRules {
  /** By the spec that has them; nothing where they cannot be told. */
  readonly #told = new Map<OperationSpec, AccessControl | undefined>();

  /** Forgets those of operations that are not registered any more. */
  forget(registry: OperationRegistry): void {
    const specs = new Set(Array.from(registry.entries(), ({ spec }) => spec));
    for (const spec of this.#told.keys()) if (!specs.has(spec)) this.#told.delete(spec);
  }

  /** The rules of an operation; nothing where nobody can tell who may call it. */
  of(spec: OperationSpec): AccessControl | undefined {
    const rules = rulesOf(spec);
    this.#told.set(spec, rules);
    return rules;
  }

  /** Whether any have changed since they were told, or since this was asked. */
  haveChanged(): boolean {
    let have = false;
    for (const [spec, rules] of this.#told) {
      if (areStill(rules, spec)) continue;
      this.of(spec);
      have = true;
    }
    return have;
  }
}

/** Asked by a timer, where an exception would end the process. */
function areStill(rules: AccessControl | undefined, spec: OperationSpec): boolean {
  if (rules === undefined) return rulesOf(spec) === undefined;
  try {
    return isCopyOf(rules, spec.accessControl);
  } catch {
    return false;
  }
}

/** All operations that an MCP client can call, as a JSON list. Subscriptions are not in it: a call gives one result. With `tools`,
 * these are tools, and no others. */
export function describeMcp(registry: OperationRegistry, told: ToldRules, tools?: OperationRegistry): string {
  told.forget(registry);
  const all: string[] = [];
  for (const { spec, handler } of registry.entries()) {
    if (handler === undefined || spec.type === OperationType.SUBSCRIPTION) continue;
    const rules = told.of(spec);
    // What nobody can tell who may call, nobody is shown.
    if (rules === undefined) continue;
    const spills = registry.spills(`${spec.namespace}.${spec.name}`);
    all.push(describe(spec, rules, spills, tools === undefined));
  }
  for (const spec of tools?.list() ?? []) all.push(describe(spec, spec.accessControl, true, true));
  return wellFormed(`[${all.join(",")}]`);
}

function describe(spec: OperationSpec, rules: AccessControl, spills: boolean, mayBeTool: boolean): string {
  const { namespace, name, type, title, description } = spec;
  const { customAuth: _, ...access } = rules;
  const members = JSON.stringify({
    id: `${namespace}.${name}`,
    type,
    title: typeof title === "string" ? title : undefined,
    description: String(description),
    access,
    operation: operationOf(spec, access),
    annotations: annotationsOf(spec),
    spills,
    mcp: mayBeTool ? lookOf(spec) : { ...lookOf(spec), tool: false },
  }).slice(0, -1);
  const input = schemaText(spec, "inputSchema");
  const output = schemaText(spec, "outputSchema");
  return `${members},"input":${input},"output":${output}}`;
}

/** What our own client makes an operation of, beside what every client sees (`facade/mcp/origin.ts`). */
function operationOf(spec: OperationSpec, access: AccessControl): object {
  const { namespace, name, version } = spec;
  return { namespace, name, version: String(version), access, errors: errorsOf(spec) };
}

/** What an MCP server said about a tool that was imported from it. */
function annotationsOf(spec: OperationSpec): object | undefined {
  const annotations = optionOf(Object(spec._meta), "annotations");
  return typeof annotations === "object" && annotations !== null && !Array.isArray(annotations)
    ? annotations
    : undefined;
}
