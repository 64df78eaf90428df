// A document's operations as tools of every target, judged. Used by the tests and by `npm run corpus -- --tools`.

import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { toTools } from "@alkdev/operations/tools";
import { nameProblems, schemaProblems } from "./target-rules.mjs";

export const TARGETS = ["openai", "openai-strict", "anthropic", "gemini", "mcp", "json-schema"];

const schemaOf = (tool) =>
  tool.parameters ?? tool.input_schema ?? tool.inputSchema ?? { type: "object", properties: {} };

/** What came of a document: what is wrong, and what was lost, counted by target and kind. */
export function exerciseTools(text, namespace = "d") {
  const registry = new OperationRegistry();
  const operations = FromOpenAPI(text, { namespace, baseUrl: "http://localhost" });
  registry.registerAll(operations);
  const backwards = new OperationRegistry();
  backwards.registerAll(operations.toReversed());
  const result = { operations: operations.length, targets: {}, failures: [] };
  for (const target of TARGETS) {
    const started = performance.now();
    const { tools, losses, operationOf } = toTools(registry, { target });
    const milliseconds = performance.now() - started;
    const counted = { tools: tools.length, milliseconds, weakened: 0, losses: {} };
    for (const { kind } of losses) counted.losses[kind] = (counted.losses[kind] ?? 0) + 1;
    counted.weakened = new Set(losses.map(({ operationId }) => operationId)).size;
    result.targets[target] = counted;
    const names = new Set();
    for (const tool of tools) {
      const problems = [...nameProblems(target, tool.name), ...schemaProblems(target, schemaOf(tool))];
      if (names.has(tool.name)) problems.push("the name is there twice");
      names.add(tool.name);
      if (registry.getSpec(operationOf(tool.name)) === undefined) problems.push("leads to no operation");
      result.failures.push(...problems.map((problem) => `${target}, ${tool.name}: ${problem}`));
    }
    const leftOut = losses.filter(({ kind }) => kind === "left-out").length;
    if (tools.length + leftOut !== new Set(operations.map(({ name }) => name)).size) {
      result.failures.push(`${target}: ${tools.length} tools and ${leftOut} left out`);
    }
    if (target === "openai") {
      const other = toTools(backwards, { target }).tools.map(({ name }) => name);
      if (String(other) !== String(tools.map(({ name }) => name))) {
        result.failures.push("names depend on the order of registration");
      }
    }
  }
  return result;
}
