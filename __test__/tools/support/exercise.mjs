// A document's operations as tools of every target, judged. Used by the tests and by `npm run corpus -- --tools`.

import { collectErrors, FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { projectSchema, toTools } from "@alkdev/operations/tools";
import { Random } from "../../schema/support/random.mjs";
import { covers } from "./losses.mjs";
import { NoSample, sampleFor } from "./sample.mjs";
import { nameProblems, schemaProblems } from "./target-rules.mjs";

export const TARGETS = ["openai", "openai-strict", "anthropic", "gemini", "mcp", "json-schema"];

/** Targets whose dialect is another than JSON Schema's: the others take schemas nearly as they are. */
const REWRITTEN = ["openai-strict", "gemini"];

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

/**
 * Values that fit what a target was shown, brought back, for a sample of a document's operations: they fit the
 * original, or a loss has said that they might not.
 */
export function exerciseValues(text, seed, sample, namespace = "d") {
  const random = new Random(seed);
  const operations = FromOpenAPI(text, { namespace, baseUrl: "http://localhost" });
  const result = { values: 0, fit: 0, lost: 0, failures: [] };
  const step = Math.max(1, Math.floor(operations.length / sample));
  for (let index = 0; index < operations.length; index += step) {
    const { name, inputSchema } = operations[index];
    for (const target of REWRITTEN) {
      let made;
      try {
        made = projectSchema(inputSchema, target);
      } catch (error) {
        if (error.code !== "VALIDATION_ERROR") throw error;
        continue;
      }
      let value;
      try {
        value = sampleFor(made.schema, new Random(random.seed()));
      } catch (error) {
        if (error instanceof NoSample) continue;
        throw error;
      }
      result.values += 1;
      const errors = collectErrors(inputSchema, made.restore(value));
      result[errors.length === 0 ? "fit" : "lost"] += 1;
      for (const { path, message } of errors) {
        if (made.losses.some((loss) => covers(loss, path, message))) continue;
        result.failures.push(
          `${target}, ${name}: ${path}: ${message} for ${JSON.stringify(value).slice(0, 300)}`,
        );
      }
    }
  }
  return result;
}
