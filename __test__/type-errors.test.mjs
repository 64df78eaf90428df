// What the compiler says to somebody who made a mistake: one error, at the mistake, in words that they know.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { problemsIn } from "./support/compile.mjs";

const START = `import { createRegistry, defineOperation, OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
const draft = { namespace: "t", name: "a", version: "1", description: "", accessControl: { requiredScopes: [] },
  inputSchema: Type.Object({ id: Type.Integer() }), outputSchema: Type.Object({ name: Type.String() }) };
`;
const MISTAKES = {
  "a result of the wrong type": [
    '{ ...draft, type: "query", handler: async () => ({ name: 1 }) }',
    /Type 'number' is not assignable to type 'string'/,
  ],
  "an input property that is not there": [
    '{ ...draft, type: "query", handler: ({ nme }) => ({ name: nme }) }',
    /^Property 'nme' does not exist on type '\{ id: number; \}'/,
  ],
  "a function where a generator is needed": [
    '{ ...draft, type: "subscription", handler: async () => ({ name: "x" }) }',
    /AsyncGenerator<\{ name: string; \} \| ResponseEnvelope<\{ name: string; \}/,
  ],
  "a type in capitals": [
    '{ ...draft, type: "QUERY", handler: () => ({ name: "x" }) }',
    /^Type '"QUERY"' is not assignable to type 'OperationType'\. Did you mean '"query"'\?/,
  ],
  "a plain JSON Schema": [
    '{ ...draft, type: "query", inputSchema: { type: "object" }, handler: () => ({ name: "x" }) }',
    /'type' does not exist in type 'AnySchema'/,
  ],
  "a misspelt property": [
    '{ ...draft, type: "query", handler: () => ({ name: "x" }), descripton: "" }',
    /Did you mean to write 'description'\?/,
  ],
  "no handler": ['{ ...draft, type: "query" }', /Property 'handler' is missing/],
};
/** Names of types that are nobody's business but ours. */
const INTERNAL = /Registrable|Returned|HandlerInput|HandlerOutput|ValueBefore|ValueAfter|Loose|infer /;

/** Each mistake, made with `register` and with `defineOperation`. */
const modules = new Map(
  Object.entries(MISTAKES).flatMap(([, [operation]], i) => [
    [`register${i}`, `${START}new OperationRegistry().register(${operation});`],
    [`define${i}`, `${START}void defineOperation(${operation});`],
  ]),
);
modules.set(
  "calls",
  `${START}const registry = createRegistry([defineOperation({ ...draft, namespace: "t", name: "a", type: "query",
  handler: ({ id }) => ({ name: String(id) }) })]);
await registry.execute("t.b", { id: 1 });
await registry.execute("t.a", { id: "1" });
(await registry.execute("t.a", { id: 1 })).data.nme;`,
);
modules.set(
  "mixed",
  `${START}import { FromOpenAPI } from "@alkdev/operations";
const registry = createRegistry([defineOperation({ ...draft, namespace: "t", name: "a", type: "query",
  handler: ({ id }) => ({ name: String(id) }) }), ...FromOpenAPI<"shop">({}, { namespace: "shop" })]);
await registry.execute("shop.getPet", { petId: 7 });
await registry.execute("t.b", { id: 1 });
await registry.execute("t.a", { id: "1" });
(await registry.execute("t.a", { id: 1 })).data.nme;`,
);
const problems = problemsIn(modules);
const saidOf = (module) =>
  problems.filter((line) => line.startsWith(`${module}(`)).map((line) => line.replace(/^[^:]*: /, ""));

describe("what the compiler says of", () => {
  Object.entries(MISTAKES).forEach(([name, [, expected]], i) => {
    for (const how of ["register", "define"]) {
      it(`the compiler says what is wrong with ${name}, to ${how}`, () => {
        const said = saidOf(how + i);
        assert.equal(said.length, 1, said.join("\n"));
        assert.match(said[0], expected);
        assert.doesNotMatch(said[0], INTERNAL);
      });
    }
  });

  it("the compiler says what is wrong with calls of a typed registry", () => {
    assert.deepEqual(saidOf("calls"), [
      `Argument of type '"t.b"' is not assignable to parameter of type '"t.a"'.`,
      "Type 'string' is not assignable to type 'number'.",
      "Property 'nme' does not exist on type '{ name: string; }'. Did you mean 'name'?",
    ]);
  });

  it("the compiler says what is wrong with calls of a registry that holds untyped operations as well", () => {
    assert.deepEqual(saidOf("mixed"), [
      `Argument of type '"t.b"' is not assignable to parameter of type '"t.a" | \`shop.\${string}\`'.`,
      "Type 'string' is not assignable to type 'number'.",
      "Property 'nme' does not exist on type '{ name: string; }'. Did you mean 'name'?",
    ]);
  });
});
