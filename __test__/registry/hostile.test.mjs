// Values, ids and handlers that mean harm or are merely odd: nothing hangs, nothing crashes.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, localEnvelope, subscribe } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { assertNoStalls } from "../support/event-loop.mjs";
import { callError, operation, registered, rejection, warmUp } from "./support/operations.mjs";
import { within } from "./support/streams.mjs";
import { collectLog } from "./support/warnings.mjs";

assertNoStalls();

const Point = Type.Object({ x: Type.Number(), y: Type.Number() });
const List = Type.Recursive((Self) =>
  Type.Object({ next: Type.Union([Self, Type.Null()]), more: Type.Optional(Type.Array(Self)) }),
);
const REFUSED = new Error("refused");
const refuse = () => {
  throw REFUSED;
};

/** An object of so many levels, made without recursion. */
function nested(levels) {
  let value = null;
  for (let i = 0; i < levels; i++) value = { next: value };
  return value;
}

/** An object that contains itself. */
function cycle() {
  const value = { next: null };
  value.next = value;
  return value;
}

const throwing = () => ({
  y: 1,
  get x() {
    throw REFUSED;
  },
});
const traps = ["get", "has", "ownKeys", "getOwnPropertyDescriptor", "getPrototypeOf"];
const refusingProxy = () =>
  new Proxy({ x: 1, y: 2 }, Object.fromEntries(traps.map((trap) => [trap, refuse])));
function revokedProxy() {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe("input", () => {
  it("what a getter of the input throws reaches the caller as the same object, cold and hot", async () => {
    const { execute } = registered({ inputSchema: Point, handler: () => "ran" });
    assert.equal((await rejection(execute(throwing()))).thrown, REFUSED);
    await warmUp(execute, { x: 1, y: 2 });
    assert.equal((await rejection(execute(throwing()))).thrown, REFUSED);
  });

  it("what a proxy as input throws reaches the caller as the same object", async () => {
    const { execute } = registered({ inputSchema: Point });
    assert.equal((await rejection(execute(refusingProxy()))).thrown, REFUSED);
    assert.ok((await rejection(execute(revokedProxy()))).thrown instanceof Error);
  });

  it("a proxy as input that works is an object like any other", async () => {
    const { execute } = registered({ inputSchema: Point });
    const proxy = new Proxy({ x: 1, y: 2 }, {});
    assert.equal((await execute(proxy)).data, proxy);
    await assert.rejects(execute(new Proxy({ x: 1 }, {})), callError("VALIDATION_ERROR", "/y"));
  });

  it("cycles in the input under a recursive schema give an error", async () => {
    const { execute } = registered({ inputSchema: List, handler: () => "ran" });
    for (let i = 0; i < 3; i++) {
      await assert.rejects(execute(cycle()), callError("VALIDATION_ERROR", "deep"));
    }
    await warmUp(execute, nested(3));
    await assert.rejects(execute(cycle()), callError("VALIDATION_ERROR", "deep"));
    const wide = { next: null, more: [] };
    wide.more.push(wide, wide, wide);
    await assert.rejects(execute(wide), CallError);
  });

  it("input 50,000 levels deep gives an error, or passes if the schema does not read it", async () => {
    const deep = nested(50_000);
    const { execute } = registered({ inputSchema: List });
    await assert.rejects(execute(deep), callError("VALIDATION_ERROR", "deep"));
    await warmUp(execute, nested(3));
    await assert.rejects(execute(deep), callError("VALIDATION_ERROR", "deep"));
    assert.equal((await registered().execute(deep)).data, deep);
    const shallow = registered({ inputSchema: Type.Object({ next: Type.Unknown() }) });
    assert.equal((await shallow.execute(deep)).data, deep);
  });

  it("an operation still works after hostile input", async () => {
    const { execute } = registered({ inputSchema: List });
    await assert.rejects(execute(nested(50_000)));
    const value = nested(10);
    assert.equal((await execute(value)).data, value);
  });

  it("many mistakes in the input make a short error", async () => {
    const { execute } = registered({ inputSchema: Type.Array(Type.Number()) });
    const { thrown } = await rejection(execute(new Array(100_000).fill("wrong")));
    assert.equal(thrown.code, "VALIDATION_ERROR");
    assert.ok(thrown.details.errors.length <= 1000);
  });
});

describe("output", () => {
  const log = collectLog();

  /** An operation that returns this; its output is kept, the call succeeds, and the log says so. */
  async function keptAndWarned(outputSchema, value, options) {
    const { execute, id } = registered({ outputSchema, handler: () => value }, options);
    log.length = 0;
    const envelope = await execute();
    assert.equal(envelope.data, value);
    assert.equal(log.length, 1);
    assert.equal(log[0].level, "warning");
    assert.ok(log[0].text.includes(id));
    assert.ok(log[0].text.includes("left as it is"));
  }

  for (const output of ["normalise", "keep", "off"]) {
    it(`an output that throws when it is read is returned with a warning (${output})`, async () => {
      await keptAndWarned(Point, throwing(), { output });
      await keptAndWarned(Point, refusingProxyThatCanBeAwaited(), { output });
    });

    it(`an output with cycles or 50,000 levels is returned with a warning (${output})`, async () => {
      await keptAndWarned(List, cycle(), { output });
      await keptAndWarned(List, nested(50_000), { output });
    });
  }

  /** `await` itself looks at `then`; this one refuses everything else. */
  function refusingProxyThatCanBeAwaited() {
    return new Proxy(
      { x: 1, y: 2 },
      {
        get: (_, key) => (key === "then" ? undefined : refuse()),
        has: refuse,
        ownKeys: refuse,
        getOwnPropertyDescriptor: refuse,
      },
    );
  }

  it("a hostile output is returned by optimised code, too", async () => {
    const { execute } = registered({ outputSchema: Point });
    await warmUp(execute, { x: 1, y: 2 });
    const value = throwing();
    assert.equal((await execute(value)).data, value);
    assert.equal(log.length, 1);
  });

  it("a warning about an output does not quote what reading it threw", async () => {
    const secret = {
      y: 1,
      get x() {
        throw new Error("hunter2");
      },
    };
    await keptAndWarned(Point, secret);
    assert.ok(!JSON.stringify(log).includes("hunter2"));
  });

  it("a result whose `meta` or `data` throws is a value, not an envelope", async () => {
    const { meta } = localEnvelope(1, "a.b");
    const results = [
      {
        data: 1,
        get meta() {
          throw REFUSED;
        },
      },
      {
        data: 1,
        meta: {
          get source() {
            throw REFUSED;
          },
        },
      },
      new Proxy({ data: 1, meta }, { has: refuse }),
    ];
    for (const result of results) {
      const envelope = await registered({ handler: () => result }).execute();
      assert.equal(envelope.data, result);
      assert.equal(envelope.meta.source, "local");
    }
  });

  it("an envelope whose `data` throws passes as it is", async () => {
    const envelope = {
      get data() {
        throw REFUSED;
      },
      meta: localEnvelope(1, "a.b").meta,
    };
    const { execute } = registered({ outputSchema: Point, handler: () => envelope });
    assert.equal(await execute(), envelope);
    assert.equal(log.length, 1);
  });

  it("properties with names that every object inherits are normalised like others", async () => {
    const Odd = Type.Object({ constructor: Type.Number(), toString: Type.String() });
    const { execute } = registered({ outputSchema: Odd });
    const { data } = await execute({ __proto__: null, toString: "text", extra: 1 });
    assert.deepEqual(Object.entries(data).sort(), [
      ["constructor", 0],
      ["toString", "text"],
    ]);
    const poisoned = JSON.parse('{"x":1,"y":2,"__proto__":{"polluted":true}}');
    const point = await registered({ outputSchema: Point }).execute(poisoned);
    assert.deepEqual(Object.keys(point.data), ["x", "y"]);
    assert.equal(Object.getPrototypeOf(point.data), Object.prototype);
    assert.equal({}.polluted, undefined);
  });
});

describe("ids that are not strings", () => {
  const ids = {
    "a symbol": Symbol("id"),
    "a number": 7,
    undefined: undefined,
    null: null,
    "an object": {},
    "an object that becomes an id": { toString: () => "test.there" },
    "an object that refuses to become a string": Object.create(null),
    "an object that throws": { toString: refuse },
    "a function": () => "test.there",
    "a list": ["test.there"],
  };
  for (const [what, id] of Object.entries(ids)) {
    it(`an id that is ${what} is not found, and nothing throws`, async () => {
      const { registry } = registered({ name: "there" });
      assert.equal(registry.get(id), undefined);
      assert.equal(registry.getSpec(id), undefined);
      assert.equal(registry.getHandler(id), undefined);
      await assert.rejects(
        registry.execute(id, 1, {}),
        callError("OPERATION_NOT_FOUND", "Operation not found"),
      );
      await assert.rejects(subscribe(registry, id, 1, {}).next(), callError("OPERATION_NOT_FOUND"));
      assert.throws(
        () => registry.registerHandler(id, () => {}),
        callError("OPERATION_NOT_FOUND", "Cannot register handler for unknown operation"),
      );
      const { thrown } = await rejection(registry.execute(id, 1));
      assert.equal(thrown.details.operationId, id);
    });
  }
});

describe("thenables", () => {
  const settles = (settle) => ({
    // biome-ignore lint/suspicious/noThenProperty: thenables are what is tested
    then: settle,
  });

  it("a handler's thenable that never settles blocks only its own caller", async () => {
    const { execute, registry } = registered({ handler: () => settles(() => {}) });
    registry.register(operation({ name: "quick", handler: () => "quick" }));
    assert.equal(await within(execute()), "waiting");
    assert.equal((await registry.execute("test.quick")).data, "quick");
  });

  it("a handler's thenable that settles twice settles the call once", async () => {
    const handler = () =>
      settles((resolve, reject) => {
        resolve("first");
        resolve("second");
        reject(new Error("third"));
      });
    assert.equal((await registered({ handler }).execute()).data, "first");
  });

  it("a handler's thenable that throws, or whose `then` throws, rejects the call with that", async () => {
    const handlers = [
      () => settles(refuse),
      // biome-ignore lint/suspicious/noThenProperty: thenables are what is tested
      () => Object.defineProperty({}, "then", { get: refuse }),
      () => settles((_, reject) => reject(REFUSED)),
    ];
    for (const handler of handlers) {
      assert.equal((await rejection(registered({ handler }).execute())).thrown, REFUSED);
    }
  });

  it("a chain of thenables resolves to its last value", async () => {
    const handler = () => {
      let value = "end";
      for (let i = 0; i < 1000; i++) {
        const inner = value;
        value = settles((resolve) => resolve(inner));
      }
      return value;
    };
    assert.equal((await registered({ handler }).execute()).data, "end");
  });

  it("an input that is a thenable is passed on as it is", async () => {
    let got;
    const input = settles(refuse);
    const { execute } = registered({
      handler: (value) => {
        got = value;
      },
    });
    await execute(input);
    assert.equal(got, input);
  });
});

describe("handlers that misbehave", () => {
  it("a handler that calls itself through the registry, deeply, gets results", async () => {
    const { execute } = registered({
      handler: async (n) => (n === 0 ? 0 : (await execute(n - 1)).data + 1),
    });
    assert.equal((await execute(1000)).data, 1000);
  });

  it("a handler that registers and replaces operations while it runs harms no call", async () => {
    const { registry, execute, id } = registered({
      handler: () => {
        registry.registerHandler(id, () => "second");
        return "first";
      },
    });
    assert.equal((await execute()).data, "first");
    assert.equal((await execute()).data, "second");
  });

  it("a handler that changes its input or context affects no other call", async () => {
    const { execute } = registered({
      handler: (input, context) => {
        input.changed = true;
        context.changed = true;
        return input;
      },
    });
    const [input, context] = [{}, {}];
    await execute(input, context);
    assert.deepEqual([input, context], [{ changed: true }, { changed: true }]);
    assert.deepEqual((await execute({})).data, { changed: true });
  });
});
