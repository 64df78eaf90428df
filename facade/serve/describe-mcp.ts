// What is served, as the native side shows it to MCP clients (`crates/operations-serve/src/door/mcp/catalog/`).

import { isRecord, optionOf } from "../interop/options.js";
import {
  callableEntries,
  describedErrors,
  describeOperation,
  schemaText,
} from "../registry/describe-operation.js";
import type { OperationRegistry } from "../registry/registry.js";
import { type EffectiveRules, withoutCustomAuth } from "../registry/rules.js";
import type { OperationSpec } from "../types.js";
import type { Describable } from "./description-log.js";
import { mcpDescriptor } from "./mcp-descriptor.js";

/** All operations that an MCP client can call. Subscriptions are not among them: a call gives one result. With `tools`,
 * these are tools, and no others. `viewsOf` says at which doors each is offered. */
export function describeMcp(
  registry: OperationRegistry,
  tools?: OperationRegistry,
  viewsOf: (spec: OperationSpec) => number | undefined = () => undefined,
): Describable[] {
  const all = callableEntries(registry)
    .filter(({ isSubscription }) => !isSubscription)
    .map((entry): Describable => {
      const { id, spec, rules } = entry;
      const [spills, views] = [registry.spills(id), viewsOf(spec)];
      const describeIt = () => describe(spec, rules, spills, tools === undefined, views);
      return { key: entry, facts: [rules, spills, views], describe: describeIt };
    });
  for (const spec of tools?.list() ?? []) {
    all.push({ key: spec, facts: [], describe: () => describe(spec, spec.accessControl, true, true) });
  }
  return all;
}

function describe(
  spec: OperationSpec,
  rules: EffectiveRules,
  spills: boolean,
  mayBeTool: boolean,
  views?: number,
): string {
  const annotations = optionOf(Object(spec._meta), "annotations");
  return describeOperation(
    spec,
    {
      id: `${spec.namespace}.${spec.name}`,
      access: withoutCustomAuth(rules),
      operation: operationOf(spec),
      // What an MCP server said about a tool that was imported from it.
      annotations: isRecord(annotations) ? annotations : undefined,
      spills,
      views,
      mcp: mayBeTool ? mcpDescriptor(spec) : { ...mcpDescriptor(spec), tool: false },
    },
    { input: schemaText(spec, "inputSchema"), output: schemaText(spec, "outputSchema") },
  );
}

/** What our own client makes an operation of, beside what every client sees (`facade/mcp/origin.ts`). */
function operationOf(spec: OperationSpec): object {
  const { namespace, name, version } = spec;
  const { customAuth: _, ...access } = spec.accessControl;
  return { namespace, name, version: String(version), access, errors: describedErrors(spec) };
}
