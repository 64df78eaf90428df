// Subscriptions: the way in, and what becomes of each value. How they end: subscribe-end.test.mjs.

import assert from "node:assert/strict";
import { afterEach, describe, it, mock } from "node:test";
import { httpEnvelope, localEnvelope, mcpEnvelope, OperationRegistry, subscribe } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { callError, registered, rejection } from "./support/operations.mjs";
import { byHand, collect, counting, settled } from "./support/streams.mjs";

const Point = Type.Object({ x: Type.Number() });
const HTTP = { statusCode: 200, headers: {}, contentType: "text/event-stream" };

/** A registered subscription, and the way to subscribe to it. */
function stream(changes = {}, options = {}) {
  const { registry, id } = registered({ type: "subscription", ...changes }, options);
  return { registry, id, open: (input = [], context) => subscribe(registry, id, input, context) };
}

describe("the way in", () => {
  it("a subscription does nothing before the first next()", async () => {
    const { counts, handler } = counting();
    const { open } = stream({ handler });
    const iterator = open();
    await settled();
    assert.equal(counts.started, 0);
    assert.equal((await iterator.next()).value.data, 1);
    assert.equal(counts.started, 1);
    await iterator.return();
  });

  it("a subscription fails at the first next(), and is then over", async () => {
    const registry = new OperationRegistry();
    const iterator = subscribe(registry, "no.such", {}, {});
    await assert.rejects(iterator.next(), callError("OPERATION_NOT_FOUND", "Operation not found: no.such"));
    assert.deepEqual(await iterator.next(), { done: true, value: undefined });
  });

  it("a subscription to an operation without a handler says so", async () => {
    const { registry, id } = stream();
    const spec = { ...registry.getSpec(id), name: "bare" };
    registry.registerSpec(spec);
    await assert.rejects(
      subscribe(registry, "test.bare", {}, {}).next(),
      callError("OPERATION_NOT_FOUND", "No handler registered for operation: test.bare"),
    );
  });

  it("a subscription checks access before input, and then calls the handler", async () => {
    const { counts, handler } = counting();
    const { open } = stream({
      handler,
      inputSchema: Type.Number(),
      accessControl: { requiredScopes: ["watch"] },
    });
    const allowed = { identity: { id: "u", scopes: ["watch"] } };
    await assert.rejects(open("wrong", {}).next(), callError("ACCESS_DENIED", "identity required"));
    await assert.rejects(open("wrong", allowed).next(), callError("VALIDATION_ERROR", "Validation failed"));
    assert.equal(counts.started, 0);
    const iterator = open(1, allowed);
    await iterator.next();
    await iterator.return();
    await open(1, { trusted: true }).next();
    assert.equal(counts.started, 2);
  });

  it("a subscription runs custom rules once", async () => {
    let asked = 0;
    const rules = { requiredScopes: [], customAuth: "ask" };
    const { open } = stream({ accessControl: rules }, { customAuth: { ask: async () => ++asked === 1 } });
    assert.equal((await collect(open([1, 2, 3]))).length, 3);
    assert.equal(asked, 1);
    await assert.rejects(open([1]).next(), callError("ACCESS_DENIED", "ask"));
  });

  it("a subscription with an aborted signal rejects before the handler runs", async () => {
    const { counts, handler } = counting();
    const { open } = stream({ handler });
    await assert.rejects(open([], { signal: AbortSignal.abort() }).next(), callError("ABORTED"));
    assert.equal(counts.started, 0);
  });

  it("a subscription's handler gets the very same input and context", async () => {
    let got;
    const { open } = stream({
      handler: async function* (...all) {
        got = all;
        yield 1;
      },
    });
    const [input, context] = [{}, {}];
    await collect(open(input, context));
    assert.equal(got.length, 2);
    assert.equal(got[0], input);
    assert.equal(got[1], context);
  });

  it("a subscription's handler gets a context if the caller gave none", async () => {
    const handler = async function* (_, context) {
      yield typeof context;
    };
    const { registry, id } = stream({ handler });
    const [envelope] = await collect(subscribe(registry, id, {}));
    assert.equal(envelope.data, "object");
  });

  it("a subscription has the methods of an async generator", () => {
    const iterator = stream().open();
    assert.equal(iterator[Symbol.asyncIterator](), iterator);
    assert.equal(Object.prototype.toString.call(iterator), "[object AsyncGenerator]");
    for (const method of ["next", "return", "throw"]) assert.equal(typeof iterator[method], "function");
  });
});

describe("a handler that returns no async iterable", () => {
  const results = {
    nothing: () => undefined,
    null: () => null,
    "a value": () => 1,
    "a list": () => [1, 2],
    "a generator that is not async": function* () {
      yield 1;
    },
    "a promise": async () => [1],
  };
  for (const [what, make] of Object.entries(results)) {
    it(`a subscription whose handler returns ${what} fails, and says so`, async () => {
      const tagged = Object.assign((...all) => make(...all), {
        [Symbol.toStringTag]: "AsyncGeneratorFunction",
      });
      const { open, id } = stream({ handler: tagged });
      const iterator = open();
      await assert.rejects(
        iterator.next(),
        callError("EXECUTION_ERROR", "must return an async iterable", id),
      );
      assert.equal((await iterator.next()).done, true);
    });
  }

  for (const type of ["query", "mutation"]) {
    it(`subscribe refuses a ${type} before its handler is called`, async () => {
      let called = 0;
      const { registry, id } = registered({
        type,
        accessControl: { requiredScopes: ["nobody has it"] },
        handler: async () => {
          called += 1;
        },
      });
      const refused = callError(
        "EXECUTION_ERROR",
        id,
        `is a ${type}`,
        "use execute() instead of subscribe()",
      );
      await assert.rejects(subscribe(registry, id, {}, {}).next(), refused);
      await assert.rejects(registry.subscribe(id, {}).next(), refused);
      assert.equal(called, 0);
    });
  }

  it("registry.subscribe is the same as subscribe", async () => {
    const { registry, id } = registered({ type: "subscription" });
    const values = [];
    for await (const { data, meta } of registry.subscribe(id, [1, 2])) values.push([data, meta.operationId]);
    assert.deepEqual(values, [
      [1, id],
      [2, id],
    ]);
  });
});

describe("each value", () => {
  afterEach(() => mock.timers.reset());

  it("each value of a subscription is wrapped, with a timestamp of its own", async () => {
    mock.timers.enable({ apis: ["Date"], now: 1000 });
    const { open, id } = stream();
    const iterator = open(["a", "b"]);
    const first = await iterator.next();
    mock.timers.tick(500);
    const second = await iterator.next();
    assert.deepEqual(first.value, { data: "a", meta: { source: "local", operationId: id, timestamp: 1000 } });
    assert.deepEqual(second.value, {
      data: "b",
      meta: { source: "local", operationId: id, timestamp: 1500 },
    });
    assert.deepEqual(await iterator.next(), { done: true, value: undefined });
  });

  it("a value of a subscription that is an envelope passes through as the same object", async () => {
    const envelopes = [
      httpEnvelope({ x: 1 }, { ...HTTP, sse: { event: "message", id: "7" } }),
      localEnvelope({ x: 2 }, "other.one"),
      mcpEnvelope({ x: 3 }, { isError: false, content: [] }),
    ];
    const { open } = stream({ outputSchema: Point });
    const got = await collect(open(envelopes));
    for (const [i, envelope] of envelopes.entries()) assert.equal(got[i], envelope);
  });

  it("each value of a subscription is normalised", async () => {
    const { open } = stream({ outputSchema: Point });
    const got = await collect(open([{ x: "1", y: 2 }, httpEnvelope({ x: 2, y: 3 }, HTTP), {}]));
    assert.deepEqual(
      got.map(({ data }) => data),
      [{ x: 1 }, { x: 2 }, { x: 0 }],
    );
  });

  it("each value of a subscription follows the output mode", async () => {
    const sent = { x: "1", y: 2 };
    for (const [output, wanted] of [
      ["keep", { x: 1, y: 2 }],
      ["off", { x: "1", y: 2 }],
    ]) {
      for (const [options, _meta] of [
        [{ output }, {}],
        [{}, { output }],
      ]) {
        const [{ data }] = await collect(stream({ outputSchema: Point, _meta }, options).open([sent]));
        assert.deepEqual(data, wanted);
      }
    }
  });

  it("a value of a subscription is left alone wherever execute leaves it alone", async () => {
    const { open } = stream({ outputSchema: Point });
    const content = [{ type: "text", text: "failed" }];
    const sent = [mcpEnvelope(content, { isError: true, content }), httpEnvelope(undefined, HTTP)];
    const got = await collect(open(sent));
    assert.equal(got[0].data, content);
    assert.equal(got[1].data, undefined);
    const buffer = new ArrayBuffer(2);
    const [{ data }] = await collect(stream({ outputSchema: Type.Any() }).open([buffer]));
    assert.equal(data, buffer);
  });

  it("a value of a subscription may be undefined, null or false without ending it", async () => {
    const got = await collect(stream().open([undefined, null, false, 0, ""]));
    assert.deepEqual(
      got.map(({ data }) => data),
      [undefined, null, false, 0, ""],
    );
  });

  it("a value of a subscription that throws when it is read does not end the stream", async () => {
    const bad = {
      get x() {
        throw new Error("read");
      },
    };
    const got = await collect(stream({ outputSchema: Point }).open([{ x: 1 }, bad, { x: 3 }]));
    assert.equal(got.length, 3);
    assert.equal(got[1].data, bad);
    assert.deepEqual(got[2].data, { x: 3 });
  });

  it("what a subscription's generator returns is not a value of the stream", async () => {
    const handler = async function* () {
      yield 1;
      return "the end";
    };
    const { open } = stream({ handler });
    const iterator = open();
    await iterator.next();
    assert.deepEqual(await iterator.next(), { done: true, value: undefined });
  });
});

describe("pace", () => {
  it("a subscription reads nothing ahead of its consumer", async () => {
    const { counts, handler } = counting();
    const iterator = stream({ handler }).open();
    for (let i = 1; i <= 5; i++) {
      await iterator.next();
      await settled();
      assert.equal(counts.pulled, i);
    }
    await iterator.return();
    assert.equal(counts.pulled, 5);
  });

  it("concurrent next() calls of a subscription resolve in order", async () => {
    const { counts, handler } = counting();
    const iterator = stream({ handler }).open();
    const steps = await Promise.all([iterator.next(), iterator.next(), iterator.next()]);
    assert.deepEqual(
      steps.map(({ value }) => value.data),
      [1, 2, 3],
    );
    assert.equal(counts.started, 1);
    await iterator.return();
  });

  it("next() calls beyond the end of a subscription all get done", async () => {
    const iterator = stream().open([1]);
    const steps = await Promise.all([iterator.next(), iterator.next(), iterator.next()]);
    assert.deepEqual(
      steps.map(({ done }) => done),
      [false, true, true],
    );
  });

  it("of several pending next() calls the first gets the error", async () => {
    const error = new Error("mine");
    const iterator = stream({
      // biome-ignore lint/correctness/useYield: it fails before it could
      handler: async function* () {
        throw error;
      },
    }).open();
    const outcomes = await Promise.allSettled([iterator.next(), iterator.next()]);
    assert.equal(outcomes[0].reason, error);
    assert.deepEqual(outcomes[1].value, { done: true, value: undefined });
    const denied = stream({ accessControl: { requiredScopes: ["a"] } }).open();
    const others = await Promise.allSettled([denied.next(), denied.next()]);
    assert.equal(others[0].reason.code, "ACCESS_DENIED");
    assert.deepEqual(others[1].value, { done: true, value: undefined });
  });

  it("an iterator made by hand is called once for each next()", async () => {
    let asked = 0;
    const handler = byHand(() => ({
      next: async () => ({ done: ++asked > 2, value: asked }),
    }));
    const got = await collect(stream({ handler }).open());
    assert.deepEqual(
      got.map(({ data }) => data),
      [1, 2],
    );
    assert.equal(asked, 3);
  });

  it("two subscriptions are independent of each other", async () => {
    const { handler } = counting();
    const { open } = stream({ handler });
    const [one, two] = [open(), open()];
    await one.next();
    await two.next();
    await one.return();
    assert.equal((await two.next()).done, false);
    await two.return();
  });
});

describe("what the handler throws", () => {
  for (const value of [new Error("mine"), "text", undefined, null, Symbol("s"), Object.create(null)]) {
    it(`what a subscription's handler throws reaches the consumer as the same value: ${typeof value}`, async () => {
      const handler = async function* () {
        yield 1;
        throw value;
      };
      const iterator = stream({ handler, errorSchemas: [{ code: "mine" }] }).open();
      await iterator.next();
      assert.ok(Object.is((await rejection(iterator.next())).thrown, value));
      assert.deepEqual(await iterator.next(), { done: true, value: undefined });
    });
  }

  it("what a subscription's handler throws before there is an iterator reaches the consumer", async () => {
    const error = new Error("mine");
    const make = () => {
      throw error;
    };
    const handler = Object.assign(make, { [Symbol.toStringTag]: "AsyncGeneratorFunction" });
    assert.equal((await rejection(stream({ handler }).open().next())).thrown, error);
  });
});
