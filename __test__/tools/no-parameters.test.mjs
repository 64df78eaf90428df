// An operation without parameters is a tool without parameters, for every target.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FromOpenAPI, OperationRegistry, OperationType } from "@alkdev/operations";
import { projectSchema, toTools } from "@alkdev/operations/tools";
import { Type } from "@sinclair/typebox";
import { TARGETS } from "./support/exercise.mjs";

/** Targets whose schemas say that there is nothing else. */
const CLOSED = { "openai-strict": { required: [], additionalProperties: false } };

/** What a tool takes, wherever its target has it. */
const parametersOf = (tool) => {
  const { parameters, input_schema, inputSchema, parametersJsonSchema } = tool.function ?? tool;
  return parameters ?? parametersJsonSchema ?? input_schema ?? inputSchema;
};

function registry() {
  const made = new OperationRegistry();
  made.register({
    namespace: "clock",
    name: "now",
    version: "1.0.0",
    type: OperationType.QUERY,
    description: "The time",
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
    handler: (input) => Object.keys(input),
  });
  const operation = { operationId: "list", responses: { 200: { description: "" } } };
  const document = {
    openapi: "3.1.0",
    info: { title: "", version: "1" },
    paths: { "/": { get: operation } },
  };
  made.registerAll(FromOpenAPI(document, { namespace: "http", baseUrl: "http://localhost:1" }));
  return made;
}

describe("an operation without parameters", () => {
  for (const target of TARGETS) {
    it(`an operation without parameters is an empty object for ${target}`, async () => {
      const { tools, losses, call } = toTools(registry(), { target });
      assert.equal(tools.length, 2);
      assert.deepEqual(losses, []);
      for (const tool of tools) {
        // Gemini has functions without any.
        const { type, properties, ...rest } = parametersOf(tool) ?? { type: "object" };
        assert.equal(String(type).toLowerCase(), "object");
        assert.deepEqual(properties ?? {}, {});
        for (const [keyword, value] of Object.entries(CLOSED[target] ?? {})) {
          assert.deepEqual(rest[keyword], value, keyword);
        }
      }
      const name = tools.map((tool) => (tool.function ?? tool).name).find((each) => each.includes("now"));
      const { isError, envelope } = await call(name, "{}");
      assert.deepEqual([isError, envelope.data], [false, []]);
    });
  }

  it("an operation without parameters differs from one that takes any object", () => {
    const schema = { type: "object", properties: {} };
    for (const free of [
      { ...schema, additionalProperties: true },
      { ...schema, minProperties: 1 },
      { type: "object" },
    ]) {
      const { schema: made, losses } = projectSchema(free, "openai-strict");
      assert.deepEqual(Object.keys(made.properties), ["input"], JSON.stringify(free));
      assert.notEqual(losses.length, 0);
    }
  });
});

describe("arguments that are cut off", () => {
  it("arguments that are cut off fail with what was received", async () => {
    const { tools, call } = toTools(registry(), { target: "json-schema" });
    const { isError, content } = await call(tools[0].name, "{");
    assert.equal(isError, true);
    assert.match(JSON.stringify(content), /they end too early, after `\{`/);
  });
});
