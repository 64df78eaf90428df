// Nothing is made up silently: what normalisation invents, replaces or leaves wrong is in `meta.notes`; what is of
// another kind altogether stays as it is; `output: "strict"` refuses instead.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CallError,
  FromSchema,
  OperationRegistry,
  OperationType,
  ResponseEnvelopeSchema,
} from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

const issues = Type.Object({
  count: Type.Number(),
  open: Type.Boolean(),
  label: Type.String({ default: "none" }),
});
const asJsonSchema = FromSchema(JSON.parse(JSON.stringify(issues)));

function registryOf(result, { outputSchema = issues, output, type = OperationType.QUERY, _meta } = {}) {
  const registry = new OperationRegistry({ output });
  registry.register({
    namespace: "a",
    name: "b",
    version: "1.0.0",
    type,
    description: "",
    inputSchema: Type.Object({}),
    outputSchema,
    accessControl: { requiredScopes: [] },
    _meta,
    handler: result,
  });
  return registry;
}

const call = (result, options) => registryOf(async () => result, options).execute("a.b", {}, {});

for (const [kind, outputSchema] of Object.entries({ TypeBox: issues, "JSON Schema": asJsonSchema })) {
  test(`${kind}: a value that was made up is noted, a declared default is not`, async () => {
    const { data, meta } = await call({ open: true }, { outputSchema });
    assert.deepEqual(data, { open: true, count: 0, label: "none" });
    assert.deepEqual(
      meta.notes.map(({ path }) => path),
      ["/count"],
    );
    assert.match(meta.notes[0].message, /missing.*made up/);
    assert.ok(Value.Check(ResponseEnvelopeSchema, { data, meta }));
  });

  test(`${kind}: a value that was replaced is noted`, async () => {
    const { data, meta } = await call({ count: [], open: "true", label: "x", more: 1 }, { outputSchema });
    assert.deepEqual(data, { count: 0, open: true, label: "x" });
    assert.deepEqual(meta.notes, [
      { path: "/count", message: "a value of the wrong type (array) was replaced" },
    ]);
  });

  test(`${kind}: a list where an object is declared is returned as it is`, async () => {
    for (const sent of ["<!doctype html><title>Log in</title>", [1, 2], 7, null]) {
      const { data, meta } = await call(sent, { outputSchema });
      assert.deepEqual(data, sent);
      assert.equal(meta.notes.length, 1);
      assert.equal(meta.notes[0].path, "");
      assert.match(meta.notes[0].message, /another kind \((string|array|number|null)\)/);
    }
  });

  test(`${kind}: output "strict" removes, fills in defaults and converts, and notes nothing`, async () => {
    const { data, meta } = await call(
      { count: "3", open: true, more: 1 },
      { outputSchema, output: "strict" },
    );
    assert.deepEqual(data, { count: 3, open: true, label: "none" });
    assert.equal("notes" in meta, false);
  });

  test(`${kind}: output "strict" refuses what it would have to make up`, async () => {
    for (const [sent, path] of [
      [{ open: true }, "/count"],
      [{ count: [], open: true }, "/count"],
      ["<!doctype html>", ""],
    ]) {
      const error = await call(sent, { outputSchema, output: "strict" }).catch((thrown) => thrown);
      assert.ok(error instanceof CallError);
      assert.equal(error.code, "VALIDATION_ERROR");
      assert.match(error.message, /^Validation failed for output of operation a\.b:\n/);
      assert.equal(error.details.errors[0].path, path);
      assert.deepEqual(error.details.envelope.data, sent);
    }
  });
}

test("an output of the declared shape has no notes, in any mode", async () => {
  for (const output of ["normalise", "keep", "off", "strict"]) {
    const { meta } = await call({ count: 1, open: true, label: "x" }, { output });
    assert.equal("notes" in meta, false);
  }
});

test('output "off" notes what is wrong and changes nothing', async () => {
  const { data, meta } = await call({ open: 1 }, { output: "off" });
  assert.deepEqual(data, { open: 1 });
  assert.ok(meta.notes.some(({ path }) => path === "/count"));
});

test("an operation's own output mode outranks the registry's", async () => {
  await assert.rejects(call({}, { output: "keep", _meta: { output: "strict" } }), {
    code: "VALIDATION_ERROR",
  });
  const { meta } = await call({}, { output: "strict", _meta: { output: "keep" } });
  assert.equal(meta.notes.length, 2);
});

test("notes follow those of a handler's envelope, and its own meta is not changed", async () => {
  const meta = Object.freeze({
    source: "http",
    statusCode: 200,
    headers: {},
    contentType: "text/html",
    notes: [{ path: "/x", message: "from before" }],
  });
  const envelope = await call({ data: "<html>", meta });
  assert.equal(envelope.data, "<html>");
  assert.deepEqual(
    envelope.meta.notes.map(({ path }) => path),
    ["/x", ""],
  );
  assert.equal(meta.notes.length, 1);
});

test('a stream with output "strict" ends with the refusal, and its source is ended', async () => {
  let ended = false;
  const source = async function* () {
    try {
      yield { count: 1, open: true, label: "x" };
      yield "not an object";
      yield { count: 2, open: true, label: "x" };
    } finally {
      ended = true;
    }
  };
  const registry = registryOf(source, { output: "strict", type: OperationType.SUBSCRIPTION });
  const seen = [];
  await assert.rejects(
    async () => {
      for await (const { data } of registry.subscribe("a.b", {}, {})) seen.push(data.count);
    },
    { code: "VALIDATION_ERROR" },
  );
  assert.deepEqual(seen, [1]);
  assert.equal(ended, true);
});
