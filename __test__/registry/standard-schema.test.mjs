// Schemas of any library that follows Standard Schema, mixed in one registry, without an adapter: the library's own
// check counts, and its JSON Schema is what others see.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  buildCallHandler,
  buildEnv,
  mcpEnvelope,
  OperationRegistry,
  PendingRequestMap,
  valibotAdapter,
  zodAdapter,
} from "@alkdev/operations";
import { Kind, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { type } from "arktype";
import { Type as Type1 } from "typebox";
import * as v from "valibot";
import { z } from "zod";
import * as mini from "zod/mini";
import { z as z3 } from "zod/v3";
import { callError, idOf, operation, rejection, subscription } from "./support/operations.mjs";
import { collectLog } from "./support/warnings.mjs";

const noDots = (text) => !text.includes("..");

/** The same file name in each library: trimmed, not empty, without `..`; and a count with a default. */
const libraries = {
  Zod: {
    input: z.object({
      path: z.string().trim().min(1).refine(noDots, "must not leave the folder"),
      depth: z.number().default(3),
    }),
    slow: z.object({ path: z.string().refine(async (text) => noDots(text), "must not leave the folder") }),
    output: z.object({ size: z.number(), unit: z.string().default("bytes") }),
    text: z.string(),
    inexpressible: z.object({ at: z.date() }),
  },
  "Zod mini": {
    input: mini.object({
      path: mini
        .string()
        .check(mini.trim(), mini.minLength(1), mini.refine(noDots, "must not leave the folder")),
      depth: mini._default(mini.number(), 3),
    }),
    slow: mini.object({
      path: mini.string().check(mini.refine(async (text) => noDots(text), "must not leave the folder")),
    }),
    output: mini.object({ size: mini.number(), unit: mini._default(mini.string(), "bytes") }),
    text: mini.string(),
    inexpressible: mini.object({ at: mini.date() }),
  },
  Valibot: {
    input: v.object({
      path: v.pipe(v.string(), v.trim(), v.minLength(1), v.check(noDots, "must not leave the folder")),
      depth: v.optional(v.number(), 3),
    }),
    slow: v.objectAsync({
      path: v.pipeAsync(
        v.string(),
        v.checkAsync(async (text) => noDots(text), "must not leave the folder"),
      ),
    }),
    output: v.object({ size: v.number(), unit: v.optional(v.string(), "bytes") }),
    text: v.string(),
    inexpressible: v.object({ at: v.date() }),
  },
  ArkType: {
    input: type({
      path: type("string.trim")
        .to("string >= 1")
        .narrow((text, ctx) => noDots(text) || ctx.reject({ message: "must not leave the folder" })),
      depth: "number = 3",
    }),
    // ArkType has no checks that wait.
    slow: undefined,
    output: type({ "+": "delete", size: "number", unit: "string = 'bytes'" }),
    text: type("string"),
    // It writes what JSON Schema has no word for as a schema that accepts everything.
    inexpressible: undefined,
  },
};

/** A registry without an adapter, and a call of its one operation. */
function registered(changes, options) {
  const registry = new OperationRegistry(options);
  const spec = changes.type === "subscription" ? subscription(changes) : operation(changes);
  registry.register(spec);
  const id = idOf(spec);
  return { registry, id, call: (input, context) => registry.execute(id, input, context) };
}

for (const [name, { input, slow, output, text, inexpressible }] of Object.entries(libraries)) {
  describe(name, () => {
    const lines = collectLog();
    const warned = (...fragments) =>
      lines.some(({ level, text }) => level === "warning" && fragments.every((each) => text.includes(each)));

    it(`${name}: the handler gets what the library made of the input`, async () => {
      const { call } = registered({ inputSchema: input });
      const given = { path: "  notes.txt ", other: 1 };
      const { data } = await call(given);
      assert.equal(data.path, "notes.txt");
      assert.equal(data.depth, 3);
      assert.deepEqual(given, { path: "  notes.txt ", other: 1 }, "what the caller holds is not changed");
    });

    it(`${name}: every rule holds, and input that breaks one is refused with its path`, async () => {
      let called = 0;
      const { call, id } = registered({ inputSchema: input, handler: () => ++called });
      for (const [bad, path] of [
        [{ path: "../../etc/passwd" }, "/path"],
        [{ path: "   " }, "/path"],
        [{ path: "x", depth: "deep" }, "/depth"],
        [{}, "/path"],
        [null, ""],
        [undefined, ""],
      ]) {
        const { thrown: error } = await rejection(call(bad));
        assert.equal(error.code, "VALIDATION_ERROR");
        assert.ok(error.message.startsWith(`Validation failed for input of operation ${id}:`), error.message);
        assert.deepEqual(
          error.details.errors.map((each) => [each.path, typeof each.message]),
          [[path, "string"]],
        );
      }
      const { thrown: left } = await rejection(call({ path: "../x" }));
      assert.match(left.details.errors[0].message, /must not leave the folder/);
      assert.equal(called, 0);
    });

    it(`${name}: callers see its JSON Schema`, () => {
      const { registry, id } = registered({ inputSchema: input, outputSchema: output });
      const spec = registry.getSpec(id);
      assert.equal(spec.inputSchema[Kind], "Object");
      const seen = JSON.parse(JSON.stringify(spec.inputSchema));
      assert.equal(seen.properties.path.type, "string");
      assert.deepEqual(seen.required, ["path"], "the input side, in which the default may be absent");
      // Valibot's export does not know that what has a default is always there.
      const outputs = name === "Valibot" ? ["size"] : ["size", "unit"];
      assert.deepEqual(spec.outputSchema.required, outputs, "the output side, in which it is there");
      assert.equal(Value.Check(spec.inputSchema, { path: "x" }), true);
      assert.equal(Value.Check(spec.inputSchema, { path: 1 }), false);
    });

    it(`${name}: the caller gets what the library made of the output`, async () => {
      const { call } = registered({ outputSchema: output, handler: () => ({ size: 1, extra: true }) });
      assert.deepEqual((await call({})).data, { size: 1, unit: "bytes" });
    });

    it(`${name}: an output that it refuses is brought into the declared shape, and that is logged`, async () => {
      const { call, id } = registered({ outputSchema: output, handler: () => ({ size: "12" }) });
      assert.deepEqual((await call({})).data, { size: 12, unit: "bytes" }, "nothing is invented");
      const bad = registered({ outputSchema: output, handler: () => ({ size: "many" }) });
      assert.deepEqual((await bad.call({})).data, { size: 0, unit: "bytes" });
      assert.ok(warned(bad.id, "/size"));
      assert.ok(!warned(id));
    });

    it(`${name}: an output that cannot be made right is returned and logged`, async () => {
      const { call, id } = registered(
        { outputSchema: text, handler: () => ({ not: "a text" }) },
        { output: "off" },
      );
      assert.deepEqual((await call({})).data, { not: "a text" });
      assert.ok(warned(id));
    });

    it(`${name}: with output: keep nothing is removed`, async () => {
      const handler = () => ({ size: "1", extra: true, unit: "words" });
      const { call } = registered({ outputSchema: output, handler }, { output: "keep" });
      assert.deepEqual((await call({})).data, { size: 1, extra: true, unit: "words" });
    });

    it(`${name}: envelopes keep their meta, and results of failed tools their content`, async () => {
      const meta = { isError: false, content: [] };
      const good = registered({ outputSchema: output, handler: () => mcpEnvelope({ size: 2 }, meta) });
      const envelope = await good.call({});
      assert.deepEqual([envelope.data, envelope.meta.source], [{ size: 2, unit: "bytes" }, "mcp"]);
      const blocks = [{ type: "text", text: "no" }];
      const failed = registered({
        outputSchema: output,
        handler: () => mcpEnvelope(blocks, { isError: true, content: blocks }),
      });
      assert.equal((await failed.call({})).data, blocks);
    });

    it(`${name}: schemas work in streams, on both sides`, async () => {
      const { registry, id } = registered({
        type: "subscription",
        inputSchema: input,
        outputSchema: output,
        handler: async function* ({ depth }) {
          for (let size = 0; size < depth; size++) yield { size, extra: true };
        },
      });
      const seen = [];
      for await (const { data, meta } of registry.subscribe(id, { path: "x" })) {
        assert.equal(meta.operationId, id);
        seen.push(data);
      }
      assert.deepEqual(
        seen,
        [0, 1, 2].map((size) => ({ size, unit: "bytes" })),
      );
      await assert.rejects(
        registry.subscribe(id, { path: ".." }).next(),
        callError("VALIDATION_ERROR", "must not leave the folder"),
      );
    });

    it(`${name}: schemas work behind access rules, in an environment, and over the call protocol`, async () => {
      const registry = new OperationRegistry({ customAuth: { owner: async ({ id }) => id === "ada" } });
      registry.register(
        operation({
          namespace: "files",
          name: "open",
          inputSchema: input,
          accessControl: { requiredScopes: ["files"], customAuth: "owner" },
        }),
      );
      const identity = { id: "ada", scopes: ["files"] };
      const given = { path: " x " };
      const wanted = { path: "x", depth: 3 };
      assert.deepEqual((await registry.execute("files.open", given, { identity })).data, wanted);
      assert.deepEqual((await buildEnv({ registry, context: {} }).files.open(given)).data, wanted);
      const callMap = new PendingRequestMap();
      callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
      assert.deepEqual((await callMap.call("files.open", given, { identity })).data, wanted);
      await assert.rejects(callMap.call("files.open", { path: ".." }, { identity }), {
        code: "VALIDATION_ERROR",
      });
      await assert.rejects(callMap.call("files.open", { path: ".." }), { code: "ACCESS_DENIED" });
    });

    it(`${name}: an operation that moves to another registry takes its rules along`, async () => {
      const { registry, id } = registered({ inputSchema: input, outputSchema: output });
      const other = new OperationRegistry();
      other.registerAll(registry.list());
      await assert.rejects(other.execute(id, { path: "../x" }), callError("VALIDATION_ERROR"));
    });

    if (slow !== undefined) {
      it(`${name}: async checks are awaited`, async () => {
        const { call } = registered({ inputSchema: slow, visibility: "internal" });
        assert.deepEqual((await call({ path: "x" })).data, { path: "x" });
        await assert.rejects(
          call({ path: ".." }),
          callError("VALIDATION_ERROR", "must not leave the folder"),
        );
        const controller = new AbortController();
        const aborted = call({ path: "x" }, { signal: controller.signal });
        controller.abort();
        await assert.rejects(aborted, callError("ABORTED"));
      });
    }

    if (inexpressible !== undefined) {
      it(`${name}: what JSON Schema cannot express is refused, unless the operation is internal`, async () => {
        for (const field of ["inputSchema", "outputSchema"]) {
          const spec = operation({ namespace: "shop", name: "buy", [field]: inexpressible });
          assert.throws(
            () => new OperationRegistry().register(spec),
            callError("VALIDATION_ERROR", "shop.buy", field, "cannot be expressed as JSON Schema"),
          );
        }
        const { call, registry, id } = registered({ inputSchema: inexpressible, visibility: "internal" });
        const at = new Date();
        assert.deepEqual((await call({ at })).data, { at });
        await assert.rejects(call({ at: "today" }), callError("VALIDATION_ERROR", "/at"));
        assert.equal(registry.getSpec(id).inputSchema[Kind], "Unknown");
      });
    }
  });
}

describe("libraries, mixed", () => {
  it("input and output of an operation may have schemas of different libraries", async () => {
    const { call } = registered({
      inputSchema: z.object({ n: z.string().transform(Number).pipe(z.number()) }),
      outputSchema: Type.Object({ n: Type.Number() }),
      handler: ({ n }) => ({ n: n + 1, extra: true }),
    });
    assert.deepEqual((await call({ n: "41" })).data, { n: 42 });
    const reversed = registered({
      inputSchema: Type.Object({ n: Type.Number() }),
      outputSchema: v.object({ n: v.pipe(v.number(), v.transform(String), v.string()) }),
    });
    assert.deepEqual((await reversed.call({ n: 1 })).data, { n: "1" });
    await assert.rejects(reversed.call({ n: "1" }), callError("VALIDATION_ERROR", "/n: Expected number"));
  });

  it("TypeBox 1.x is read as TypeBox, with the kinds that are no JSON", async () => {
    const { call, registry, id } = registered({
      inputSchema: Type1.Object({
        size: Type1.BigInt(),
        note: Type1.Optional(Type1.Union([Type1.String({ minLength: 2 }), Type1.Undefined()])),
        gone: Type1.Optional(Type1.Undefined()),
      }),
      outputSchema: Type1.Unsafe({ type: "object" }),
    });
    assert.deepEqual((await call({ size: 5n, gone: undefined })).data, { size: 5n, gone: undefined });
    for (const bad of [{ size: 5 }, { size: 5n, note: "x" }, { size: 5n, gone: 1 }]) {
      await assert.rejects(call(bad), callError("VALIDATION_ERROR"));
    }
    assert.equal(registry.getSpec(id).inputSchema.properties.size.type, "bigint");
  });

  it("a refinement of TypeBox 1.x is refused, because only TypeBox could check it", () => {
    const refined = Type1.Object({ path: Type1.Refine(Type1.String(), noDots) });
    assert.throws(
      () =>
        new OperationRegistry().register(
          operation({ namespace: "files", name: "open", inputSchema: refined }),
        ),
      callError("VALIDATION_ERROR", "files.open", "inputSchema", "Type.Refine()", "/properties/path"),
    );
  });
});

describe("a library of its own", () => {
  /** The smallest that follows the convention. */
  const even = (extra = {}) => ({
    "~standard": {
      version: 1,
      vendor: "even",
      validate: (value) =>
        typeof value === "number" && value % 2 === 0
          ? { value }
          : {
              issues: [{ message: "Expected an even number", path: ["a/b", { key: "c~d" }, 0, Symbol("s")] }],
            },
      ...extra,
    },
  });

  it("a library with Standard JSON Schema works without an adapter", async () => {
    const jsonSchema = { input: () => ({ type: "integer" }), output: () => ({ type: "number" }) };
    const { call, registry, id } = registered({
      inputSchema: even({ jsonSchema }),
      outputSchema: even({ jsonSchema }),
    });
    assert.equal((await call(4)).data, 4);
    assert.equal(registry.getSpec(id).inputSchema.type, "integer");
    assert.equal(registry.getSpec(id).outputSchema.type, "number");
    const { thrown: refused } = await rejection(call(3));
    assert.deepEqual(refused.details.errors, [
      { path: "/a~1b/c~0d/0/Symbol(s)", message: "Expected an even number" },
    ]);
  });

  it("a Zod 3 schema is refused at registration, with what to use instead", () => {
    const error = callError("VALIDATION_ERROR", "Zod 3 schema", "use Zod 4, or zod/v4 of zod@3.25");
    const registry = new OperationRegistry();
    assert.throws(
      () => registry.register(operation({ inputSchema: z3.object({ name: z3.string() }) })),
      error,
    );
    assert.throws(() => registry.register(operation({ outputSchema: z3.string() })), error);
  });

  it("a library without Standard JSON Schema needs an adapter, or an internal operation", async () => {
    const spec = operation({ namespace: "math", name: "half", inputSchema: even() });
    assert.throws(
      () => new OperationRegistry().register(spec),
      callError(
        "VALIDATION_ERROR",
        "math.half",
        "inputSchema",
        '"even"',
        "schemaAdapter",
        'visibility: "internal"',
      ),
    );
    const schemaAdapter = { toTypeBox: (schema) => (schema["~standard"] ? Type.Integer() : schema) };
    const adapted = registered({ inputSchema: even(), outputSchema: even() }, { schemaAdapter });
    assert.equal((await adapted.call(4)).data, 4);
    await assert.rejects(adapted.call(3), callError("VALIDATION_ERROR", "even number"));
    const inside = registered({ inputSchema: even(), visibility: "internal" });
    await assert.rejects(inside.call(3), callError("VALIDATION_ERROR", "even number"));
  });

  it("an adapter that answers with one object for several schemas mixes up nothing", async () => {
    const any = Type.Any();
    const schemaAdapter = { toTypeBox: (schema) => (schema["~standard"] ? any : schema) };
    const odd = {
      "~standard": {
        version: 1,
        vendor: "odd",
        validate: (value) =>
          value % 2 === 1 ? { value } : { issues: [{ message: "Expected an odd number" }] },
      },
    };
    const registry = new OperationRegistry({ schemaAdapter });
    registry.register(operation({ namespace: "m", name: "even", inputSchema: even() }));
    registry.register(operation({ namespace: "m", name: "odd", inputSchema: odd }));
    assert.equal((await registry.execute("m.even", 2)).data, 2);
    assert.equal((await registry.execute("m.odd", 1)).data, 1);
    await assert.rejects(registry.execute("m.even", 1), callError("VALIDATION_ERROR"));
    await assert.rejects(registry.execute("m.odd", 2), callError("VALIDATION_ERROR"));
  });

  it("a library whose check throws fails the input, and leaves an output as it is", async () => {
    const thrown = new RangeError("boom");
    const broken = even({
      validate() {
        throw thrown;
      },
      jsonSchema: { input: () => ({}), output: () => ({}) },
    });
    const asInput = registered({ inputSchema: broken });
    assert.equal((await rejection(asInput.call(1))).thrown, thrown);
    const asOutput = registered({ outputSchema: broken });
    assert.equal((await asOutput.call(1)).data, 1);
  });
});

describe("the adapters of the original", () => {
  it("zodAdapter: no rule is dropped, in a registry or by hand", async () => {
    const schemaAdapter = zodAdapter();
    await schemaAdapter.init();
    const schema = z.object({ path: z.string().refine(noDots, "must not leave the folder") });
    const bad = { path: "../../etc/passwd" };
    for (const { call } of [
      registered({ inputSchema: schema }, { schemaAdapter }),
      registered({ inputSchema: schemaAdapter.toTypeBox(schema) }),
      registered({ inputSchema: schemaAdapter.toTypeBox(schema) }, { schemaAdapter }),
    ]) {
      await assert.rejects(call(bad), callError("VALIDATION_ERROR", "/path", "must not leave the folder"));
      assert.deepEqual((await call({ path: "abc" })).data, { path: "abc" });
    }
  });

  it("valibotAdapter refuses a rule that JSON Schema has no word for, as it always did", async () => {
    const schemaAdapter = valibotAdapter();
    await schemaAdapter.init();
    const spec = operation({ namespace: "n", name: "x", inputSchema: v.pipe(v.string(), v.check(noDots)) });
    assert.throws(
      () => new OperationRegistry({ schemaAdapter }).register(spec),
      callError("VALIDATION_ERROR", "n.x", "check"),
    );
  });
});
