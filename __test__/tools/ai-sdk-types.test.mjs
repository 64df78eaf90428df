// The tools' types fit those of each version of the AI SDK, which knows the inputs and outputs of a typed registry.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { problemsIn } from "../support/compile.mjs";

const moduleFor = (ai) => `
import { createRegistry, defineOperation, FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { toAISDKTools } from "@alkdev/operations/tools";
import { Type } from "@sinclair/typebox";
import { generateText, streamText, type InferToolInput, type InferToolOutput, type LanguageModel, type ToolSet } from "${ai}";
import { expectTypeOf } from "expect-type";
declare const model: LanguageModel;
const rest = { version: "1.0.0", description: "", accessControl: { requiredScopes: [] } };
const greet = defineOperation({
  ...rest, namespace: "demo", name: "greet", type: "query",
  inputSchema: Type.Object({ name: Type.String() }), outputSchema: Type.Object({ greeting: Type.String() }),
  handler: ({ name }) => ({ greeting: name }),
});
const ticks = defineOperation({
  ...rest, namespace: "my.clock", name: "ticks", type: "subscription",
  inputSchema: Type.Object({}), outputSchema: Type.Number(), handler: async function* () { yield 1; },
});
const tools = toAISDKTools(createRegistry([greet, ticks]), { identity: { id: "m", scopes: [] } });
tools satisfies ToolSet;
expectTypeOf<InferToolInput<typeof tools.demo_greet>>().toEqualTypeOf<{ name: string }>();
expectTypeOf<NonNullable<InferToolOutput<typeof tools.demo_greet>["data"]>>().toEqualTypeOf<{ greeting: string }>();
expectTypeOf<NonNullable<InferToolOutput<typeof tools.my_clock_ticks>["data"]>>().toEqualTypeOf<number[]>();
// @ts-expect-error: there is no such tool
tools.demo_gret;
const mixed = toAISDKTools(createRegistry([greet, ...FromOpenAPI<"shop">("{}", { namespace: "shop" })]));
mixed satisfies ToolSet;
expectTypeOf<InferToolInput<typeof mixed.demo_greet>>().toEqualTypeOf<{ name: string }>();
mixed.shop_getPet?.description;
// @ts-expect-error: there is no such tool
mixed.demo_gret;
const anything = toAISDKTools(createRegistry([greet, ...FromOpenAPI("{}", { namespace: "shop" })]));
anything.shop_getPet?.description;
anything satisfies ToolSet;
export const more = generateText({ model, tools: anything, prompt: "" });
export const result = generateText({ model, tools, prompt: "" });
export const loose = streamText({ model, tools: toAISDKTools(new OperationRegistry(), { include: ["a.*"] }), prompt: "" });
for (const call of (await result).toolCalls) {
  if (call.toolName === "demo_greet" && call.dynamic !== true) expectTypeOf(call.input).toEqualTypeOf<{ name: string }>();
}
`;

describe("the types of tools for the AI SDK", () => {
  for (const ai of ["ai5", "ai6", "ai"]) {
    it(`the types of tools for the AI SDK fit ${ai}`, () =>
      assert.deepEqual(problemsIn(new Map([[`types-of-${ai}`, moduleFor(ai)]])), []));
  }
});
