// From the handler's result to the caller's envelope: detect, wrap, normalise, check.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FromSchema, httpEnvelope, localEnvelope, mcpEnvelope } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { registered, warmUp } from "./support/operations.mjs";

const Point = Type.Object({ x: Type.Number(), y: Type.Number() });
const HTTP = { statusCode: 200, headers: {}, contentType: "application/json" };

/** An operation that returns what it is given. */
const returning = (outputSchema, options, changes = {}) => registered({ outputSchema, ...changes }, options);

describe("wrapping", () => {
  it("a bare value becomes a local envelope of the operation, with the time of wrapping", async () => {
    const { execute, id } = returning(Point);
    const before = Date.now();
    const { data, meta } = await execute({ x: 1, y: 2 });
    assert.deepEqual(data, { x: 1, y: 2 });
    assert.deepEqual(Object.keys(meta), ["source", "operationId", "timestamp"]);
    assert.equal(meta.source, "local");
    assert.equal(meta.operationId, id);
    assert.ok(meta.timestamp >= before && meta.timestamp <= Date.now());
  });

  it("an output that only resembles an envelope is wrapped", async () => {
    const { execute } = returning(Type.Unknown());
    for (const result of [
      { data: 1 },
      { data: 1, meta: {} },
      { data: 1, meta: { source: "local" } },
      { data: 1, meta: { source: "elsewhere", operationId: "a.b", timestamp: 1 } },
      { meta: { source: "local", operationId: "a.b", timestamp: 1 } },
      { data: 1, meta: { source: "http", statusCode: "200", headers: {}, contentType: "" } },
      { data: 1, meta: { source: "mcp", isError: false } },
    ]) {
      assert.equal((await execute(result)).data, result);
    }
  });
});

describe("envelopes of the handler", () => {
  const envelopes = {
    local: (data) => localEnvelope(data, "other.operation"),
    http: (data) => httpEnvelope(data, HTTP),
    mcp: (data) => mcpEnvelope(data, { isError: false, content: [] }),
    "JSON of a wire": (data) => JSON.parse(JSON.stringify(localEnvelope(data, "a.b"))),
  };
  for (const [what, make] of Object.entries(envelopes)) {
    it(`a handler's envelope passes through as the same object: ${what}`, async () => {
      for (const schema of [Point, Type.Unknown()]) {
        const { execute } = returning(schema);
        const envelope = make({ x: 1, y: 2 });
        const { data, meta } = envelope;
        const metaBefore = structuredClone(meta);
        assert.equal(await execute(envelope), envelope);
        assert.equal(envelope.data, data);
        assert.equal(envelope.meta, meta);
        assert.deepEqual(meta, metaBefore);
      }
    });

    it(`the data of a handler's envelope is normalised in place: ${what}`, async () => {
      const { execute } = returning(Point);
      const envelope = make({ x: "1", y: 2, z: 3 });
      const { meta } = envelope;
      assert.equal(await execute(envelope), envelope);
      assert.deepEqual(envelope.data, { x: 1, y: 2 });
      assert.equal(envelope.meta, meta);
    });
  }

  it("a frozen envelope of a handler is copied, and left as it was", async () => {
    const { execute } = returning(Point);
    const envelope = Object.freeze(httpEnvelope(Object.freeze({ x: 1, y: 2, z: 3 }), HTTP));
    const result = await execute(envelope);
    assert.notEqual(result, envelope);
    assert.deepEqual(result, httpEnvelope({ x: 1, y: 2 }, HTTP));
    assert.deepEqual(envelope.data, { x: 1, y: 2, z: 3 });
  });

  it("a frozen envelope that needs no change stays the same object", async () => {
    const { execute } = returning(Point);
    const envelope = Object.freeze(localEnvelope({ x: 1, y: 2 }, "a.b"));
    assert.equal(await execute(envelope), envelope);
  });

  it("an envelope whose data cannot be assigned is copied", async () => {
    const { meta } = localEnvelope(0, "a.b");
    const data = { x: 1, y: 2, z: 3 };
    const stubborn = {
      "no setter": () => ({
        get data() {
          return data;
        },
        meta,
      }),
      "a setter that does nothing": () => ({
        get data() {
          return data;
        },
        set data(_) {},
        meta,
      }),
      "a setter that throws": () => ({
        get data() {
          return data;
        },
        set data(_) {
          throw new Error("no");
        },
        meta,
      }),
      "read only": () => Object.defineProperty({ meta }, "data", { value: data, enumerable: true }),
      "a class with getters": () =>
        new (class {
          get data() {
            return data;
          }
          get meta() {
            return meta;
          }
        })(),
    };
    for (const [what, make] of Object.entries(stubborn)) {
      const result = await returning(Point).execute(make());
      assert.deepEqual(result.data, { x: 1, y: 2 }, what);
      assert.equal(result.meta, meta, what);
    }
    assert.deepEqual(data, { x: 1, y: 2, z: 3 });
  });

  it("an envelope with data: undefined is an envelope", async () => {
    const envelope = localEnvelope(undefined, "a.b");
    assert.equal(await returning(Type.Unknown()).execute(envelope), envelope);
    assert.equal(await returning(Type.Undefined()).execute(envelope), envelope);
    assert.equal(envelope.data, undefined);
  });
});

describe("normalising", () => {
  const Account = Type.Object({
    id: Type.Number(),
    name: Type.String({ default: "nobody" }),
    tags: Type.Array(Type.String()),
    note: Type.Optional(Type.String()),
  });

  it("normalising removes what is not declared, at every level, and fills what is missing", async () => {
    const { execute } = returning(Type.Object({ list: Type.Array(Account) }));
    const sent = { list: [{ id: 1, secret: "s" }], page: 1 };
    assert.deepEqual((await execute(sent)).data, { list: [{ id: 1, name: "nobody", tags: [] }] });
    assert.deepEqual(
      sent,
      { list: [{ id: 1, secret: "s" }], page: 1 },
      "the handler's own object is untouched",
    );
  });

  it("normalising removes undeclared properties although the value already checks", async () => {
    const { execute } = returning(Account);
    const { data } = await execute({ id: 1, name: "n", tags: [], password: "p" });
    assert.deepEqual(data, { id: 1, name: "n", tags: [] });
  });

  it("normalising converts only where nothing is lost", async () => {
    const { execute } = returning(Account);
    assert.deepEqual((await execute({ id: "42", name: 42, tags: [7] })).data, {
      id: 42,
      name: "42",
      tags: ["7"],
    });
    assert.deepEqual((await execute({ id: "007", name: "n", tags: [] })).data, {
      id: 0,
      name: "n",
      tags: [],
    });
  });

  it("an output of the declared shape stays the same object, cold and hot", async () => {
    const { execute } = returning(Account);
    const value = { id: 1, name: "n", tags: ["a"] };
    for (let i = 0; i < 3000; i++) assert.equal((await execute(value)).data, value);
  });

  it("normalising gives the same result cold and hot", async () => {
    const { execute } = returning(Account);
    const value = { id: "1", extra: true };
    const cold = (await execute(value)).data;
    await warmUp(execute, { id: 1, name: "n", tags: [] });
    assert.deepEqual((await execute(value)).data, cold);
    assert.deepEqual(cold, { id: 1, name: "nobody", tags: [] });
  });

  it("normalising keeps what additionalProperties, a Record or a pattern allows", async () => {
    const open = Type.Object({ a: Type.Number() }, { additionalProperties: true });
    const value = { a: 1, b: 2 };
    assert.equal((await returning(open).execute(value)).data, value);
    assert.equal((await returning(Type.Record(Type.String(), Type.Number())).execute(value)).data, value);
    const patterned = FromSchema({
      type: "object",
      patternProperties: { "^x-": {} },
      additionalProperties: false,
    });
    const { data } = await returning(patterned).execute({ "x-a": 1, y: 2 });
    assert.deepEqual(data, { "x-a": 1 });
  });

  it("undefined and null are normalised like any other value", async () => {
    assert.equal((await returning(Type.Null()).execute(null)).data, null);
    assert.equal((await returning(Type.Undefined()).execute(undefined)).data, undefined);
    assert.equal((await returning(Type.Union([Type.Null(), Point])).execute(null)).data, null);
    const { data, meta } = await returning(Point).execute(undefined);
    assert.equal(data, undefined);
    assert.match(meta.notes[0].message, /another kind \(undefined\)/);
  });
});

describe("Unknown and Any outputs are never touched", () => {
  class Money {
    #cents = 5;
    get cents() {
      return this.#cents;
    }
  }
  const values = {
    undefined: undefined,
    null: null,
    "an ArrayBuffer": new ArrayBuffer(8),
    "a typed array": new Uint8Array(4),
    "a class instance": new Money(),
    "a function": () => {},
    "a symbol": Symbol("s"),
    "a bigint": 10n,
    "a Map": new Map([[1, 2]]),
    "a Date": new Date(),
    "a frozen object": Object.freeze({ a: 1 }),
    "a revoked proxy": (() => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      return { proxy };
    })(),
    "an object that throws when it is read": {
      get a() {
        throw new Error("read");
      },
    },
  };
  for (const [what, value] of Object.entries(values)) {
    it(`an Unknown or Any output is never touched: ${what}`, async () => {
      for (const schema of [Type.Unknown(), Type.Any(), Type.Unknown({ description: "whatever" })]) {
        for (const output of ["normalise", "keep", "off"]) {
          const { execute } = registered({ outputSchema: schema, handler: () => value }, { output });
          assert.ok(Object.is((await execute()).data, value));
        }
      }
    });
  }
});

describe("envelopes whose data is not the declared shape", () => {
  const content = [{ type: "text", text: "it failed" }];

  it("an MCP error result is not normalised", async () => {
    const { execute } = returning(Point);
    const envelope = mcpEnvelope(content, { isError: true, content });
    assert.equal(await execute(envelope), envelope);
    assert.equal(envelope.data, content);
  });

  it("a successful MCP result is normalised", async () => {
    const { execute } = returning(Point);
    const { data } = await execute(mcpEnvelope({ x: 1, y: 2, z: 3 }, { isError: false, content }));
    assert.deepEqual(data, { x: 1, y: 2 });
  });

  it("an HTTP response without a body is not normalised", async () => {
    const { execute } = returning(Point);
    const envelope = httpEnvelope(undefined, { ...HTTP, statusCode: 204 });
    assert.equal(await execute(envelope), envelope);
    assert.equal(envelope.data, undefined);
  });

  it("an HTTP response whose body is null is noted", async () => {
    const { execute } = returning(Point);
    const { data, meta } = await execute(httpEnvelope(null, HTTP));
    assert.equal(data, null);
    assert.match(meta.notes[0].message, /another kind \(null\)/);
  });

  it("a local envelope without data is noted", async () => {
    const { execute } = returning(Point);
    const { data, meta } = await execute(localEnvelope(undefined, "a.b"));
    assert.equal(data, undefined);
    assert.match(meta.notes[0].message, /another kind \(undefined\)/);
  });
});

describe("the output mode", () => {
  const sent = () => ({ x: "1", z: 3 });
  const results = {
    normalise: { x: 1, y: 0 },
    keep: { x: 1, y: 0, z: 3 },
    off: { x: "1", z: 3 },
  };
  for (const [mode, wanted] of Object.entries(results)) {
    it(`RegistryOptions.output: ${mode} applies to every operation`, async () => {
      const { execute } = returning(Point, { output: mode });
      assert.deepEqual((await execute(sent())).data, wanted);
      const envelope = localEnvelope(sent(), "a.b");
      assert.equal(await execute(envelope), envelope);
      assert.deepEqual(envelope.data, wanted);
    });

    it(`_meta.output: ${mode} overrides the registry's mode`, async () => {
      for (const output of Object.keys(results)) {
        const { execute } = returning(Point, { output }, { _meta: { output: mode } });
        assert.deepEqual((await execute(sent())).data, wanted);
      }
    });
  }

  it("the output mode is normalise by default", async () => {
    assert.deepEqual((await returning(Point).execute(sent())).data, results.normalise);
    assert.deepEqual((await returning(Point, {}, { _meta: {} }).execute(sent())).data, results.normalise);
    assert.deepEqual((await returning(Point, { output: undefined }).execute(sent())).data, results.normalise);
  });

  it("output off and keep return the very same object if there is nothing to do", async () => {
    const value = { x: 1, y: 2, z: 3 };
    for (const output of ["off", "keep"]) {
      assert.equal((await returning(Point, { output }).execute(value)).data, value);
    }
    const wrong = { x: "a" };
    assert.equal((await returning(Point, { output: "off" }).execute(wrong)).data, wrong);
  });
});
