// Patterns of the program's own schemas: the text comes from a stranger, and `RegExp` backtracks without a limit. Whether
// one of these runs on it is seen by the test ending at all.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { collectErrors, OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { CompiledSchema } from "./support/typebox-copies.mjs";

/** So many letters take V8 longer than the age of the universe. */
const LONG = `${"a".repeat(100)}!`;
const EXPLOSIVE = ["^(a+)+$", "^(a|a)*$", "^(a|ab?a)*$", "^([a-z]+)*[a-z]$", "^(a+)+\\b$"];

const operation = (inputSchema) => ({
  namespace: "t",
  name: "x",
  version: "1.0.0",
  type: "query",
  description: "",
  inputSchema,
  outputSchema: Type.Unknown(),
  accessControl: { requiredScopes: [] },
  handler: () => "passed",
});

/** Kinds with a pattern, and values that it has to refuse. */
const KINDS = {
  "a string": (pattern) => [Type.String({ pattern }), LONG],
  "a property": (pattern) => [Type.Object({ name: Type.String({ pattern }) }), { name: LONG }],
  "the keys of a record": (pattern) => [
    Type.Record(Type.String({ pattern }), Type.Number(), { additionalProperties: false }),
    { [LONG]: 1 },
  ],
  "a regular expression": (pattern) => [Type.RegExp(new RegExp(pattern)), LONG],
  "a regular expression on a list": (pattern) => [Type.RegExp(new RegExp(pattern)), [LONG]],
};

describe("a text of a hundred letters does not stop the process", () => {
  for (const [kind, of] of Object.entries(KINDS)) {
    for (const pattern of EXPLOSIVE) {
      it(`${kind}: ${pattern}`, async () => {
        const [schema, value] = of(pattern);
        const registry = new OperationRegistry();
        registry.register(operation(schema));
        // More often than a schema is walked before it gets code of its own.
        for (let i = 0; i < 200; i++) {
          await assert.rejects(registry.execute("t.x", value), { code: "VALIDATION_ERROR" });
        }
        const own = new CompiledSchema(schema);
        own.warmUp();
        assert.equal(own.check(value), false);
        assert.notEqual(collectErrors(schema, value).length, 0);
      });
    }
  }
});

describe("a pattern that backtracks", () => {
  it("means what it means to TypeBox, walked and compiled", () => {
    const texts = ["", "a", "aa", "ab", "aba", "a!", "A", "aA", "é", "😀", "a\n", "1a", "a1"];
    const patterns = [
      ...EXPLOSIVE,
      "(a+)+!",
      "^(.+)+$",
      "^(😀|.)+$",
      "^[^@]+@[^@]+\\.[^@]+$",
      "(?=(a+)+)a*b",
    ];
    for (const pattern of patterns) {
      const schema = Type.String({ pattern });
      const walked = new CompiledSchema(schema);
      const emitted = new CompiledSchema(schema);
      emitted.warmUp();
      for (const text of texts) {
        const expected = Value.Check(schema, text);
        assert.equal(walked.walk(text), expected, `${pattern} on ${JSON.stringify(text)}, walked`);
        assert.equal(emitted.check(text), expected, `${pattern} on ${JSON.stringify(text)}, compiled`);
      }
    }
  });

  it("that no engine of ours can bound ends with an error that says so", async () => {
    const registry = new OperationRegistry();
    registry.register(operation(Type.String({ pattern: "^(?=(a+)+!!)a" })));
    await assert.rejects(registry.execute("t.x", "a".repeat(2000)), {
      code: "VALIDATION_ERROR",
      message: /input of operation t\.x/,
    });
  });
});
