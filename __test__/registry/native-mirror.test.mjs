// The native mirror of a registry serves what JavaScript would serve, to whom JavaScript would serve it.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { inJavaScript, inRust, textOfOutcome } from "./support/pipelines.mjs";
import { scriptedHandler } from "./support/random-registries.mjs";

const { FormatRegistry } = createRequire(import.meta.url)("@sinclair/typebox");

const OPEN = { requiredScopes: [] };

function registryWith(spec = {}, options = {}) {
  const registry = new OperationRegistry(options);
  const type = spec.type ?? "query";
  registry.register({
    namespace: "ns",
    name: "op",
    version: "1.0.0",
    description: "Does what it is told",
    type,
    inputSchema: Type.Unknown(),
    outputSchema: Type.Unknown(),
    accessControl: OPEN,
    handler: scriptedHandler(type),
    ...spec,
  });
  return registry;
}

function callOf(script, { input, identity } = {}) {
  const members = { requestId: "r", operationId: "ns.op", input, identity, metadata: { script } };
  return { event: JSON.stringify(members), isStream: Array.isArray(script) };
}

/** The outcome of a call, which is the same in both pipelines; nothing where JavaScript alone can serve it. */
async function outcome(registry, call) {
  const [[here], [there]] = [await inJavaScript(registry, [call]), await inRust(registry, [call])];
  if (there !== null) assert.equal(textOfOutcome(there), textOfOutcome(here));
  return there ?? undefined;
}

/** What the twin makes of a call, without asking JavaScript. */
async function rust(registry, operationId) {
  const members = { requestId: "r", operationId, metadata: { script: { value: 1 } } };
  const [outcome] = await inRust(registry, [{ event: JSON.stringify(members) }]);
  return outcome;
}

describe("an output in which a list would hold undefined", () => {
  it("an output with undefined in a list is refused by both pipelines", async () => {
    const anything = Type.Unknown();
    for (const [outputSchema, value, path] of [
      [Type.Tuple([anything, anything]), [], "/0"],
      [Type.Tuple([Type.Object({ a: Type.String() }), anything]), [0], "/1"],
      [
        Type.Object({ "a/b": Type.Array(Type.Tuple([Type.Number(), anything])) }),
        { "a/b": [[1]] },
        "/a~1b/0/1",
      ],
    ]) {
      const { error } = await outcome(registryWith({ outputSchema }), callOf({ value }));
      assert.equal(error.code, "VALIDATION_ERROR");
      assert.equal(
        error.message,
        `The answer cannot be sent, because it cannot be written as JSON: /data${path} is undefined`,
      );
    }
  });

  it("an output with undefined in a list is left to JavaScript if its schema allows undefined", async () => {
    for (const outputSchema of [Type.Array(Type.Undefined()), Type.Array(Type.Void())]) {
      assert.equal(await outcome(registryWith({ outputSchema }), callOf({ value: [null] })), undefined);
    }
  });
});

describe("middleware", () => {
  it("middleware leaves every call to JavaScript, before and after the native registry is made, until it is removed", async () => {
    const registry = registryWith();
    const first = registry.use((_, next) => next());
    assert.equal(await rust(registry, "ns.op"), null);
    const second = registry.use((_, next) => next());
    first();
    assert.equal(await rust(registry, "ns.op"), null);
    registry.register({ ...registry.get("ns.op"), name: "later" });
    assert.equal(await rust(registry, "ns.later"), null);
    second();
    assert.equal((await rust(registry, "ns.op")).envelopes[0].data, 1);
    assert.equal((await rust(registry, "ns.later")).envelopes[0].data, 1);
  });

  it("listeners without middleware see calls that native code serves", async () => {
    const registry = registryWith();
    registry.on("registered", () => {});
    registry.on("denied", () => {});
    const reports = [];
    const stops = [
      registry.on("call", (report) => void reports.push(report)),
      registry.audit((report) => void reports.push(report)),
    ];
    assert.equal((await rust(registry, "ns.op")).envelopes[0].data, 1);
    for (const stop of stops) stop();
    assert.deepEqual(
      reports.map(({ rule, outcome, isNative }) => [rule ?? outcome, isNative]),
      [
        ["open", true],
        ["ok", true],
      ],
    );
  });
});

describe("rules that change", () => {
  const asked = (registry) =>
    outcome(registry, callOf({ value: 1 }, { identity: { id: "ann", scopes: [] } }));

  it("rules that protect adds and takes back count natively at once", async () => {
    const registry = registryWith();
    assert.equal((await asked(registry)).envelopes[0].data, 1);
    const take = registry.protect("ns.*", { requiredScopes: ["admin"] });
    assert.equal((await asked(registry)).error.code, "ACCESS_DENIED");
    const takeAny = registry.protect("ns.op", { requiredScopes: [], requiredScopesAny: ["a", "b"] });
    take();
    assert.deepEqual((await asked(registry)).error.details.requiredScopesAny, ["a", "b"]);
    takeAny();
    assert.equal((await asked(registry)).envelopes[0].data, 1);
  });

  it("rules that only JavaScript can decide are left to JavaScript", async () => {
    for (const rules of [{ customAuth: "mine" }, { requiredScopes: ["\ud800"] }]) {
      const registry = registryWith();
      assert.equal((await asked(registry)).envelopes[0].data, 1);
      registry.protect("ns.op", { requiredScopes: [], ...rules });
      assert.equal(await asked(registry), undefined, JSON.stringify(rules));
    }
  });

  it("rules count natively for the operation that is registered now", async () => {
    const registry = registryWith();
    await asked(registry);
    registry.unregister("ns.op");
    assert.equal(await asked(registry), undefined);
  });
});

describe("formats", () => {
  it("a format that a user registers later is checked by the user's function", async () => {
    const inputSchema = Type.String({ format: "test:registered-later" });
    const registry = registryWith({ inputSchema });
    const call = callOf({ value: 1 }, { input: "anything" });
    assert.equal((await outcome(registry, call)).envelopes[0].data, 1);
    FormatRegistry.Set("test:registered-later", () => false);
    try {
      registry.nativeMirror().refresh();
      assert.equal(await outcome(registry, call), undefined);
    } finally {
      FormatRegistry.Delete("test:registered-later");
    }
    registry.nativeMirror().refresh();
    assert.equal((await outcome(registry, call)).envelopes[0].data, 1);
  });
});

describe("outputs that JSON has no word for are made by JavaScript", () => {
  const cases = {
    "undefined in a list": Type.Tuple([Type.Union([Type.Undefined(), Type.Number()]), Type.String()]),
    "void for a whole output": Type.Void(),
    "an infinite default": Type.Object({ most: Type.Unknown({ default: Number.POSITIVE_INFINITY }) }),
  };
  for (const [name, outputSchema] of Object.entries(cases)) {
    it(`an output that JSON cannot express is left to JavaScript: ${name}`, async () => {
      assert.equal(await outcome(registryWith({ outputSchema }), callOf({ value: {} })), undefined);
    });
  }
});

describe("outputs that have to be completed come out as JavaScript completes them", () => {
  const object = (properties) => Type.Object(properties);
  const cases = {
    "a variant with a required property of any kind": {
      outputSchema: Type.Union([
        object({ type: Type.Literal("v"), id: Type.Optional(Type.Boolean()) }),
        object({ type: Type.Literal("v"), any: Type.Unknown(), b: Type.Integer() }),
      ]),
      value: { type: "v", id: [] },
      expected: { type: "v", b: 0 },
    },
    "a list where variants speak of its length": {
      outputSchema: object({
        // Inside of something: a whole output of another kind is kept.
        a: Type.Union([object({ length: Type.Integer() }), Type.Array(Type.Null())]),
      }),
      value: { a: ["x"] },
      expected: { a: { length: 0 } },
    },
  };
  for (const [name, { outputSchema, value, expected }] of Object.entries(cases)) {
    it(`native code completes an output as JavaScript does: ${name}`, async () => {
      const { envelopes } = await outcome(registryWith({ outputSchema }), callOf({ value: { data: value } }));
      assert.equal(envelopes.length, 1);
      const [envelope] = (await outcome(registryWith({ outputSchema }), callOf({ value }))).envelopes;
      assert.deepEqual(envelope.data, expected);
    });
  }
});
