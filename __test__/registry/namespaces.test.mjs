// `defineNamespace`, `timeout` and `isDeclaredError`.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  buildCallHandler,
  CallError,
  collectErrors,
  createRegistry,
  defineNamespace,
  formatValueErrors,
  isDeclaredError,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { z } from "zod";

const rules = { requiredScopes: ["tasks"] };
const draft = {
  name: "list",
  type: "query",
  description: "d",
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
};

describe("defineNamespace", () => {
  it("an operation has the namespace's version, rules and tags, unless it has its own", () => {
    const define = defineNamespace("tasks", { version: "2.0.0", accessControl: rules, tags: ["work"] });
    const handler = () => 1;
    const list = define({ ...draft, tags: ["read", "work"], handler });
    assert.deepEqual(list, {
      ...draft,
      namespace: "tasks",
      version: "2.0.0",
      accessControl: rules,
      tags: ["work", "read"],
      handler,
    });
    const open = define({ ...draft, version: "3", accessControl: { requiredScopes: [] }, handler });
    assert.deepEqual([open.version, open.accessControl], ["3", { requiredScopes: [] }]);
    assert.equal(defineNamespace("x")({ ...draft, accessControl: rules, handler }).version, "1.0.0");
  });
});

describe("`timeout`", () => {
  const define = defineNamespace("slow", { accessControl: { requiredScopes: [] } });
  const forever = define({ ...draft, name: "forever", handler: () => new Promise(() => {}) });
  const shown = define({
    ...draft,
    name: "shown",
    handler: (_input, { deadline, timeout }) => ({ deadline, timeout }),
  });
  const registry = createRegistry([
    forever,
    shown,
    define({
      ...draft,
      name: "silent",
      type: "subscription",
      handler: async function* () {
        await new Promise(() => {});
        yield 1;
      },
    }),
  ]);

  it("is a deadline from now, for calls, streams and calls through a map", async () => {
    const callMap = new PendingRequestMap();
    callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
    await assert.rejects(registry.execute("slow.forever", {}, { timeout: 20 }), { code: "TIMEOUT" });
    await assert.rejects(registry.subscribe("slow.silent", {}, { timeout: 20 }).next(), { code: "TIMEOUT" });
    await assert.rejects(callMap.call("slow.forever", {}, { timeout: 20 }), { code: "TIMEOUT" });
    const before = Date.now();
    const { data } = await registry.execute("slow.shown", {}, { timeout: 60_000 });
    assert.equal(data.timeout, undefined);
    assert.ok(data.deadline >= before + 60_000);
  });

  it("of a deadline and a timeout, the earlier counts", async () => {
    const deadline = Date.now() + 30_000;
    const { data } = await registry.execute("slow.shown", {}, { timeout: 60_000, deadline });
    assert.equal(data.deadline, deadline);
  });

  it("must be a number of milliseconds", async () => {
    await assert.rejects(registry.execute("slow.shown", {}, { timeout: "5s" }), {
      code: "VALIDATION_ERROR",
      message: /timeout must be a number of milliseconds above 0, not "5s"/,
    });
  });
});

describe("isDeclaredError", () => {
  const operation = defineNamespace("shop")({
    ...draft,
    accessControl: rules,
    errorSchemas: [
      { code: "OUT_OF_STOCK", schema: Type.Object({ left: Type.Integer() }) },
      { code: "ZOD", schema: z.object({ left: z.number() }) },
      { code: "ANY", schema: true },
      { code: "NULL", schema: null },
      { code: "PLAIN" },
    ],
    handler: () => 1,
  });

  it("is true for a declared code whose details fit the schema, of any library", () => {
    new OperationRegistry().register(operation);
    for (const code of ["OUT_OF_STOCK", "ZOD"]) {
      assert.equal(isDeclaredError(new CallError(code, "m", { left: 1 }), operation, code), true);
      assert.equal(isDeclaredError(new CallError(code, "m", { left: "1" }), operation, code), false);
      assert.equal(isDeclaredError(new CallError("OTHER", "m", { left: 1 }), operation, code), false);
      assert.equal(isDeclaredError(new Error(code), operation, code), false);
    }
    for (const code of ["ANY", "NULL", "PLAIN"]) {
      assert.equal(isDeclaredError(new CallError(code, "m", 7), operation, code), true);
    }
    assert.equal(isDeclaredError(new CallError("OTHER", "m"), operation, "OTHER"), false);
  });
});

describe("small things that were confusing", () => {
  it("a message about a whole input says so, and formatValueErrors stays as it is", async () => {
    const registry = createRegistry([
      defineNamespace("a")({ ...draft, accessControl: { requiredScopes: [] }, handler: () => 1 }),
    ]);
    await assert.rejects(registry.execute("a.list", 1), (error) => {
      assert.match(
        error.message,
        /^Validation failed for input of operation a\.list:\n {2}- \(whole value\): Expected object$/,
      );
      assert.deepEqual(error.details.errors, [{ path: "", message: "Expected object" }]);
      return true;
    });
    assert.equal(formatValueErrors(collectErrors(Type.Number(), "1")), "  - : Expected number");
  });

  it('"normalize" is "normalise"', async () => {
    const outputSchema = Type.Object({ a: Type.String() });
    const one = {
      ...draft,
      namespace: "a",
      version: "1",
      accessControl: { requiredScopes: [] },
      outputSchema,
      handler: () => ({ b: 1 }),
    };
    const registry = new OperationRegistry({ output: "normalize" });
    registry.registerAll([one]);
    assert.deepEqual((await registry.execute("a.list", {})).data, { a: "" });
    const strict = createRegistry([{ ...one, _meta: { output: "normalize" } }]);
    assert.deepEqual((await strict.execute("a.list", {})).data, { a: "" });
    await assert.rejects(createRegistry([one]).execute("a.list", {}), { code: "VALIDATION_ERROR" });
  });
});
