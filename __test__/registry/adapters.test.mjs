// Schemas of other libraries in a registry: converted when they are registered, each in its own direction.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OperationRegistry, valibotAdapter, zodAdapter } from "@alkdev/operations";
import { Kind, Type } from "@sinclair/typebox";
import * as v from "valibot";
import { z } from "zod";
import { callError, idOf, operation } from "./support/operations.mjs";

const libraries = [
  {
    name: "Zod",
    adapter: zodAdapter,
    user: () => z.object({ name: z.string(), age: z.number().default(18) }),
    twoSided: () => z.string().transform(Number).pipe(z.number()),
    inexpressible: () => z.object({ at: z.date() }),
    other: () => v.string(),
    otherName: "Valibot",
  },
  {
    name: "Valibot",
    adapter: valibotAdapter,
    user: () => v.object({ name: v.string(), age: v.optional(v.number(), 18) }),
    twoSided: () => v.pipe(v.string(), v.transform(Number), v.number()),
    inexpressible: () => v.object({ at: v.date() }),
    other: () => z.string(),
    otherName: "Zod",
  },
];

for (const { name, adapter, user, twoSided, inexpressible, other, otherName } of libraries) {
  describe(name, () => {
    async function registryOf() {
      const schemaAdapter = adapter();
      await schemaAdapter.init();
      return new OperationRegistry({ schemaAdapter });
    }

    it(`${name}: a schema works as input and as output schema`, async () => {
      const registry = await registryOf();
      const spec = operation({
        inputSchema: user(),
        outputSchema: user(),
        handler: () => ({ name: "n", age: "20", extra: 1 }),
      });
      registry.register(spec);
      assert.deepEqual((await registry.execute(idOf(spec), { name: "n" })).data, { name: "n", age: 20 });
      await assert.rejects(registry.execute(idOf(spec), { name: 1 }), callError("VALIDATION_ERROR", "/name"));
    });

    it(`${name}: a schema is read in input mode for inputSchema and in output mode for outputSchema`, async () => {
      const registry = await registryOf();
      const spec = operation({ inputSchema: twoSided(), outputSchema: twoSided() });
      registry.register(spec);
      const { inputSchema, outputSchema } = registry.getSpec(idOf(spec));
      assert.equal(inputSchema[Kind], "String");
      assert.equal(outputSchema[Kind], "Number");
      assert.equal((await registry.execute(idOf(spec), "5")).data, 5);
      await assert.rejects(registry.execute(idOf(spec), 5), callError("VALIDATION_ERROR"));
    });

    it(`${name}: a default makes a property optional in the input`, async () => {
      const registry = await registryOf();
      const spec = operation({ inputSchema: user() });
      registry.register(spec);
      assert.deepEqual(registry.getSpec(idOf(spec)).inputSchema.required, ["name"]);
    });

    it(`${name}: get returns the schemas as the adapter converted them, everything else as it was`, async () => {
      const registry = await registryOf();
      const spec = operation({ inputSchema: user(), outputSchema: user() });
      registry.registerSpec(spec);
      const { inputSchema, outputSchema, ...rest } = registry.getSpec(idOf(spec));
      assert.equal(inputSchema[Kind], "Object");
      assert.equal(outputSchema[Kind], "Object");
      const { inputSchema: _, outputSchema: __, handler: ___, ...wanted } = spec;
      assert.deepEqual(rest, wanted);
    });

    it(`${name}: its schemas work beside TypeBox schemas, which pass through`, async () => {
      const registry = await registryOf();
      const outputSchema = Type.Object({ name: Type.String() });
      const spec = operation({ inputSchema: user(), outputSchema });
      registry.register(spec);
      assert.equal(registry.getSpec(idOf(spec)).outputSchema, outputSchema);
    });

    it(`${name}: what JSON Schema cannot express is refused with the operation and the field`, async () => {
      const registry = await registryOf();
      for (const field of ["inputSchema", "outputSchema"]) {
        const spec = operation({ namespace: "shop", name: "buy", [field]: inexpressible() });
        assert.throws(() => registry.register(spec), callError("VALIDATION_ERROR", "shop.buy", field));
      }
      assert.deepEqual(registry.list(), []);
    });

    it(`${name}: registering says when the adapter was not initialised`, () => {
      const registry = new OperationRegistry({ schemaAdapter: adapter() });
      const spec = operation({ namespace: "shop", name: "buy", inputSchema: user() });
      assert.throws(
        () => registry.register(spec),
        callError("VALIDATION_ERROR", "shop.buy", "not initialized"),
      );
      registry.register(operation());
    });

    it(`${name}: a schema of another library is refused with the name of that library`, async () => {
      const registry = await registryOf();
      const spec = operation({ namespace: "shop", name: "buy", inputSchema: other() });
      assert.throws(
        () => registry.register(spec),
        callError("VALIDATION_ERROR", "shop.buy", `not a ${name} or TypeBox schema`, otherName),
      );
    });
  });
}

describe("an adapter of the application", () => {
  it("an adapter of the application converts both schemas, and gets their direction", () => {
    const asked = [];
    const schemaAdapter = {
      toTypeBox(schema, mode) {
        asked.push([schema, mode]);
        return Type.String();
      },
    };
    const registry = new OperationRegistry({ schemaAdapter });
    const spec = operation({ inputSchema: { mine: 1 }, outputSchema: { mine: 2 } });
    registry.register(spec);
    assert.deepEqual(asked, [
      [{ mine: 1 }, "input"],
      [{ mine: 2 }, "output"],
    ]);
    assert.equal(registry.getSpec(idOf(spec)).inputSchema[Kind], "String");
  });

  it("an adapter that throws anything is a refusal that names the operation", () => {
    for (const thrown of [new Error("cannot"), "cannot", undefined, Object.create(null)]) {
      const schemaAdapter = {
        toTypeBox() {
          throw thrown;
        },
      };
      const registry = new OperationRegistry({ schemaAdapter });
      const spec = operation({ namespace: "shop", name: "buy" });
      assert.throws(() => registry.register(spec), callError("VALIDATION_ERROR", "shop.buy", "inputSchema"));
    }
  });

  it("an adapter that returns no schema is refused", () => {
    for (const made of [undefined, null, "schema", 1]) {
      const registry = new OperationRegistry({ schemaAdapter: { toTypeBox: () => made } });
      const spec = operation({ namespace: "shop", name: "buy" });
      assert.throws(() => registry.register(spec), callError("VALIDATION_ERROR", "shop.buy", "inputSchema"));
    }
  });
});
