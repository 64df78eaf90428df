// What is served, as the native side shows it to clients (`crates/operations-serve/src/door/mcp/catalog.rs`).

import { optionOf } from "../border/options.js";
import { errorsOf, schemaText, wellFormed } from "../registry/described.js";
import type { OperationRegistry } from "../registry/registry.js";
import { type EffectiveRules, isWellFormed, withoutCustomAuth } from "../registry/rules.js";
import type { OperationSpec } from "../types.js";
import { lookOf } from "./mcp-look.js";

/** All operations that an MCP client can call, as a JSON list. Subscriptions are not in it: a call gives one result. With `tools`,
 * these are tools, and no others. */
export function describeMcp(registry: OperationRegistry, tools?: OperationRegistry): string {
  const all: string[] = [];
  for (const { id, spec, handler, isSubscription, rules } of registry.entries()) {
    // Rules that Rust cannot read are met by no caller there.
    if (handler === undefined || isSubscription || !isWellFormed(rules)) continue;
    all.push(describe(spec, rules, registry.spills(id), tools === undefined));
  }
  for (const spec of tools?.list() ?? []) all.push(describe(spec, spec.accessControl, true, true));
  return wellFormed(`[${all.join(",")}]`);
}

function describe(spec: OperationSpec, rules: EffectiveRules, spills: boolean, mayBeTool: boolean): string {
  const { namespace, name, type, title, description } = spec;
  const access = withoutCustomAuth(rules);
  const members = JSON.stringify({
    id: `${namespace}.${name}`,
    type,
    title: typeof title === "string" ? title : undefined,
    description: String(description),
    access,
    operation: operationOf(spec),
    annotations: annotationsOf(spec),
    spills,
    mcp: mayBeTool ? lookOf(spec) : { ...lookOf(spec), tool: false },
  }).slice(0, -1);
  const input = schemaText(spec, "inputSchema");
  const output = schemaText(spec, "outputSchema");
  return `${members},"input":${input},"output":${output}}`;
}

/** What our own client makes an operation of, beside what every client sees (`facade/mcp/origin.ts`). */
function operationOf(spec: OperationSpec): object {
  const { namespace, name, version } = spec;
  const { customAuth: _, ...access } = spec.accessControl;
  return { namespace, name, version: String(version), access, errors: errorsOf(spec) };
}

/** What an MCP server said about a tool that was imported from it. */
function annotationsOf(spec: OperationSpec): object | undefined {
  const annotations = optionOf(Object(spec._meta), "annotations");
  return typeof annotations === "object" && annotations !== null && !Array.isArray(annotations)
    ? annotations
    : undefined;
}
