// Zod, Valibot and TypeBox schemas through the adapters.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CallError, defaultAdapter, FromSchema, valibotAdapter, zodAdapter } from "@alkdev/operations";
import { Kind, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { z } from "zod";
import * as mini from "zod/mini";

function failure(code, pattern) {
  return (error) => error instanceof CallError && error.code === code && pattern.test(error.message);
}

const strangers = [
  null,
  undefined,
  1,
  "x",
  [],
  {},
  () => {},
  { type: "string" },
  { "~standard": { vendor: "arktype" } },
];
const typeBox1 = Object.defineProperty({ type: "string", minLength: 2 }, "~kind", { value: "String" });

describe("defaultAdapter", () => {
  test("defaultAdapter passes TypeBox schemas through unchanged", () => {
    for (const schema of [Type.String(), Type.Date(), FromSchema({ type: "string" })]) {
      assert.equal(defaultAdapter.toTypeBox(schema), schema);
    }
  });

  test("defaultAdapter refuses everything else than TypeBox schemas", () => {
    for (const thing of [...strangers, z.string(), v.string()]) {
      assert.throws(
        () => defaultAdapter.toTypeBox(thing),
        failure("VALIDATION_ERROR", /expected a TypeBox schema/),
      );
    }
  });

  test("defaultAdapter names the adapter that would help", () => {
    assert.throws(() => defaultAdapter.toTypeBox(z.string()), /Zod.*zodAdapter\(\)/);
    assert.throws(() => defaultAdapter.toTypeBox(v.string()), /Valibot.*valibotAdapter\(\)/);
  });

  test("defaultAdapter takes schemas of TypeBox 1.x as the JSON Schema they are", () => {
    const schema = defaultAdapter.toTypeBox(typeBox1);
    assert.equal(schema[Kind], "String");
    assert.equal(JSON.stringify(schema), '{"type":"string","minLength":2}');
  });
});

const libraries = [
  { name: "Zod", create: zodAdapter, own: () => z.string(), other: () => v.string(), otherName: "Valibot" },
  {
    name: "Valibot",
    create: valibotAdapter,
    own: () => v.string(),
    other: () => z.string(),
    otherName: "Zod",
  },
];
for (const { name, create, own, other, otherName } of libraries) {
  describe(`the adapter of ${name}`, () => {
    test(`the adapter of ${name} passes TypeBox schemas through with and without init`, async () => {
      const adapter = create();
      const schema = Type.Object({ a: Type.Date() });
      assert.equal(adapter.toTypeBox(schema), schema);
      assert.equal(adapter.toTypeBox(typeBox1)[Kind], "String");
      await adapter.init();
      assert.equal(adapter.toTypeBox(schema, "output"), schema);
    });

    test(`the adapter of ${name} says when it was not initialised`, () => {
      assert.throws(() => create().toTypeBox(own()), failure("EXECUTION_ERROR", /not initialized/));
      assert.throws(() => create().toTypeBox({}), /not initialized/);
    });

    test(`the adapter of ${name} can be initialised again, also concurrently`, async () => {
      const adapter = create();
      await Promise.all([adapter.init(), adapter.init()]);
      await adapter.init();
      assert.equal(adapter.toTypeBox(own())[Kind], "String");
    });

    test(`the adapter of ${name} refuses everything else after init, and names the wrong library`, async () => {
      const adapter = create();
      await adapter.init();
      const words = new RegExp(`not a ${name} or TypeBox schema`);
      for (const thing of strangers)
        assert.throws(() => adapter.toTypeBox(thing), failure("VALIDATION_ERROR", words));
      assert.throws(() => adapter.toTypeBox(other()), failure("VALIDATION_ERROR", words));
      assert.throws(() => adapter.toTypeBox(other()), new RegExp(`a ${otherName} schema`));
      assert.throws(() => adapter.toTypeBox({ "~standard": { vendor: "arktype" } }), /arktype/);
    });
  });
}

describe("Zod schemas", async () => {
  const adapter = zodAdapter();
  await adapter.init();

  test("Zod schemas become TypeBox schemas that check", () => {
    const schema = adapter.toTypeBox(
      z.object({
        id: z.int().min(1),
        tags: z.array(z.enum(["a", "b"])),
        note: z.string().nullable().optional(),
      }),
    );
    assert.equal(schema[Kind], "Object");
    assert.equal(Value.Check(schema, { id: 1, tags: ["a"], note: null }), true);
    for (const value of [
      { id: 0, tags: [] },
      { id: 1, tags: ["c"] },
      { id: 1 },
      { id: 1, tags: [], note: 1 },
    ]) {
      assert.equal(Value.Check(schema, value), false);
    }
  });

  test("Zod schemas have an input and an output side", () => {
    const schema = z.object({ a: z.string().default("x"), b: z.string().transform(Number).pipe(z.number()) });
    assert.equal(adapter.toTypeBox(schema).required?.includes("a") ?? false, false);
    assert.equal(adapter.toTypeBox(schema, "input").properties.b[Kind], "String");
    const output = adapter.toTypeBox(schema, "output");
    assert.ok(output.required.includes("a"));
    assert.equal(output.properties.b[Kind], "Number");
  });

  test("Zod schemas may be recursive", () => {
    const node = z.object({
      value: z.string(),
      get next() {
        return node.optional();
      },
    });
    for (const schema of [adapter.toTypeBox(node), adapter.toTypeBox(z.union([node, z.null()]))]) {
      assert.equal(Value.Check(schema, { value: "a", next: { value: "b" } }), true);
      assert.equal(Value.Check(schema, { value: "a", next: { value: 1 } }), false);
    }
  });

  test("Zod schemas may come from zod/mini", () => {
    assert.equal(Value.Check(adapter.toTypeBox(mini.object({ a: mini.string() })), { a: "a" }), true);
  });

  test("Zod schemas of versions without Standard JSON Schema go through z.toJSONSchema", () => {
    const newer = z.string().min(2);
    const standard = { vendor: "zod", version: 1, validate: newer["~standard"].validate };
    const older = { _zod: newer._zod, def: newer.def, "~standard": standard };
    assert.equal(adapter.toTypeBox(older).minLength, 2);
  });

  test("Zod schemas that JSON Schema cannot express are refused", () => {
    for (const schema of [z.date(), z.object({ a: z.bigint() }), z.map(z.string(), z.string())]) {
      assert.throws(
        () => adapter.toTypeBox(schema),
        failure("VALIDATION_ERROR", /cannot be expressed as JSON Schema/),
      );
    }
    const transform = z.string().transform((text) => text.length);
    assert.equal(adapter.toTypeBox(transform, "input")[Kind], "String");
    assert.throws(
      () => adapter.toTypeBox(transform, "output"),
      failure("VALIDATION_ERROR", /\(output\).*[Tt]ransform/),
    );
  });
});

describe("Valibot schemas", async () => {
  const adapter = valibotAdapter();
  await adapter.init();

  test("Valibot schemas become TypeBox schemas that check", () => {
    const schema = adapter.toTypeBox(
      v.object({
        id: v.pipe(v.number(), v.integer(), v.minValue(1)),
        note: v.optional(v.nullable(v.string())),
      }),
    );
    assert.equal(schema[Kind], "Object");
    assert.equal(Value.Check(schema, { id: 1, note: null }), true);
    for (const value of [{ id: 0 }, { id: 1.5 }, {}, { id: 1, note: 1 }])
      assert.equal(Value.Check(schema, value), false);
  });

  test("Valibot schemas have an input and an output side", () => {
    const schema = v.pipe(v.string(), v.transform(Number), v.number());
    assert.equal(adapter.toTypeBox(schema)[Kind], "String");
    assert.equal(adapter.toTypeBox(schema, "input")[Kind], "String");
    assert.equal(adapter.toTypeBox(schema, "output")[Kind], "Number");
  });

  test("Valibot schemas may be recursive, and tuples", () => {
    const node = v.object({ value: v.string(), next: v.optional(v.lazy(() => node)) });
    const schema = adapter.toTypeBox(node);
    assert.equal(Value.Check(schema, { value: "a", next: { value: "b" } }), true);
    assert.equal(Value.Check(schema, { value: "a", next: { value: 1 } }), false);
    assert.equal(adapter.toTypeBox(v.tuple([v.string(), v.number()]))[Kind], "Tuple");
  });

  test("Valibot schemas that offer Standard JSON Schema are converted by it", () => {
    assert.equal(adapter.toTypeBox(toStandardJsonSchema(v.pipe(v.string(), v.minLength(3)))).minLength, 3);
  });

  test("Valibot schemas that JSON Schema cannot express are refused", () => {
    for (const schema of [
      v.date(),
      v.object({ a: v.bigint() }),
      v.pipe(
        v.string(),
        v.check(() => true),
      ),
    ]) {
      assert.throws(
        () => adapter.toTypeBox(schema),
        failure("VALIDATION_ERROR", /cannot be expressed as JSON Schema/),
      );
    }
    const transform = v.pipe(
      v.string(),
      v.transform((text) => text.length),
    );
    assert.equal(adapter.toTypeBox(transform, "input")[Kind], "String");
    assert.throws(
      () => adapter.toTypeBox(transform, "output"),
      failure("VALIDATION_ERROR", /\(output\).*transform/),
    );
  });
});
