// By difference: the entry without native code gives the answers of the native engine. Both are loaded here, side by side.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as native from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import * as browser from "../../dist/browser/index.mjs";
import { chosenSeed, Random } from "../schema/support/random.mjs";

const seed = chosenSeed();

/** Unions whose variants no value confuses: elsewhere the two may choose differently. */
const UNIONS = [
  [Type.String(), Type.Null()],
  [Type.Number(), Type.Boolean()],
  [Type.Object({ kind: Type.Literal("a"), a: Type.String() }), Type.Object({ kind: Type.Literal("b") })],
];

/** A schema of the kinds that JSON has. */
function schemaOf(random, depth) {
  const leaf = () =>
    random.pick([
      () => Type.String(),
      () => Type.String({ minLength: 2 }),
      () => Type.Number(),
      () => Type.Integer({ minimum: 0 }),
      () => Type.Boolean(),
      () => Type.Null(),
      () => Type.Literal(random.pick(["a", "b", 1, true])),
      () => Type.Unknown(),
      () => Type.String({ default: "given" }),
    ])();
  if (depth === 0 || random.chance(0.3)) return leaf();
  const inner = () => schemaOf(random, depth - 1);
  return random.pick([
    () => Type.Array(inner(), random.chance(0.2) ? { minItems: 1 } : {}),
    () => Type.Record(Type.String(), inner()),
    () => Type.Union(random.pick(UNIONS)),
    () => objectOf(random, depth),
    () => objectOf(random, depth),
    () => objectOf(random, depth),
  ])();
}

function objectOf(random, depth) {
  const properties = {};
  for (const name of ["a", "b", "c/d"]) {
    if (random.chance(0.4)) continue;
    const schema = schemaOf(random, depth - 1);
    properties[name] = random.chance(0.4) ? Type.Optional(schema) : schema;
  }
  const rest = random.pick([undefined, undefined, true, false]);
  return Type.Object(properties, rest === undefined ? {} : { additionalProperties: rest });
}

function jsonValue(random, depth) {
  const leaves = ["", "a", "text", "42", "007", "true", 0, 1, -3, 1.5, true, false, null];
  if (depth === 0 || random.chance(0.4)) return random.pick(leaves);
  if (random.chance(0.3)) return Array.from({ length: random.below(3) }, () => jsonValue(random, depth - 1));
  const value = {};
  for (const name of ["a", "b", "c/d", "more"]) {
    if (random.chance(0.5)) value[name] = jsonValue(random, depth - 1);
  }
  return value;
}

/** What an operation with this output schema gives for a value: its data and its notes, or why it was refused. */
async function outcome({ OperationRegistry }, outputSchema, value, output) {
  const registry = new OperationRegistry({ output });
  registry.register({
    namespace: "test",
    name: "op",
    version: "1.0.0",
    type: "query",
    description: "gives a value",
    inputSchema: Type.Unknown(),
    outputSchema,
    accessControl: { requiredScopes: [] },
    handler: () => structuredClone(value),
  });
  try {
    const { data, meta } = await registry.execute("test.op", {});
    return { data, notes: (meta.notes ?? []).map(({ path }) => path).sort() };
  } catch (error) {
    return { code: error.code };
  }
}

describe("without native code", () => {
  it("without native code schemas accept the same values, with the same errors", () => {
    const random = new Random(seed);
    let passed = 0;
    for (let i = 0; i < 5000; i++) {
      const schema = schemaOf(random, 3);
      const value = jsonValue(random, 3);
      const expected = native.collectErrors(schema, value);
      assert.deepEqual(
        browser.collectErrors(schema, value),
        expected,
        `OPERATIONS_SEED=${seed} ${JSON.stringify({ schema, value })}`,
      );
      if (expected.length === 0) passed += 1;
    }
    assert.ok(passed > 200 && passed < 4800, `${passed} of 5000 passed`);
  });

  for (const output of ["normalise", "keep", "strict", "off"]) {
    it(`without native code outputs become the same with output: ${output}`, async () => {
      const random = new Random(seed + 1);
      let changed = 0;
      for (let i = 0; i < 1500; i++) {
        const schema = objectOf(random, 3);
        const value = jsonValue(random, 3);
        const expected = await outcome(native, schema, value, output);
        assert.deepEqual(
          await outcome(browser, schema, value, output),
          expected,
          `OPERATIONS_SEED=${seed} ${JSON.stringify({ output, schema, value })}`,
        );
        if (JSON.stringify(expected.data) !== JSON.stringify(value)) changed += 1;
      }
      if (output !== "off") assert.ok(changed > 100, `${changed} of 1500 changed`);
    });
  }

  it("without native code server-sent events are the same, wherever a text is split", () => {
    const random = new Random(seed + 2);
    const pieces = [
      "data",
      "event",
      "id",
      "retry",
      ":",
      " ",
      "\n",
      "\r",
      "\r\n",
      "\n\n",
      "x",
      "é",
      "\u{1f600}",
      "\ud83d",
      "\0",
      "\ufeff",
      "7",
      "message",
    ];
    let events = 0;
    for (let i = 0; i < 20_000; i++) {
      let text = random.chance(0.1) ? "\ufeff" : "";
      for (let n = random.below(30); n > 0; n--) text += random.pick(pieces);
      const expected = native.parseSSEFrames(text);
      assert.deepEqual(
        browser.parseSSEFrames(text),
        expected,
        `OPERATIONS_SEED=${seed} ${JSON.stringify(text)}`,
      );
      events += expected.events.length;
    }
    assert.ok(events > 500, `${events} events`);
  });

  it("without native code bytes cross a wire as they do in Node", async () => {
    for (const length of [0, 1, 2, 3, 4, 255, 20_000]) {
      const bytes = Uint8Array.from({ length }, (_, index) => index * 7);
      const received = await through(browser, native, bytes);
      assert.deepEqual(received, bytes);
      assert.deepEqual(await through(native, browser, bytes), bytes);
    }
  });
});

/** A value that one side sends and the other gives back, over a port on which bytes are text. */
async function through(caller, server, value) {
  const { port1, port2 } = new MessageChannel();
  const registry = new server.OperationRegistry();
  registry.register({
    namespace: "test",
    name: "echo",
    version: "1.0.0",
    type: "query",
    description: "gives back what it gets",
    inputSchema: Type.Unknown(),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
    handler: (input) => input,
  });
  const map = new server.PendingRequestMap(server.createPortEventTarget(port2));
  map["call.requested"].subscribe(server.buildCallHandler({ registry, callMap: map }));
  const calls = new caller.PendingRequestMap(caller.createPortEventTarget(port1));
  try {
    const { data } = await calls.call("test.echo", { value });
    return data.value;
  } finally {
    port1.close();
  }
}
