// The pipeline of one call: the order of its steps, what the handler gets, what reaches the caller.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runInNewContext } from "node:vm";
import { CallError, isResponseEnvelope, OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { callError, idOf, operation, registered, rejection, subscription } from "./support/operations.mjs";

describe("look-up", () => {
  it("execute of an unknown operation fails with OPERATION_NOT_FOUND", async () => {
    const registry = new OperationRegistry();
    const { thrown } = await rejection(registry.execute("no.such", {}, {}));
    assert.ok(thrown instanceof CallError);
    assert.equal(thrown.code, "OPERATION_NOT_FOUND");
    assert.equal(thrown.message, "Operation not found: no.such");
    assert.deepEqual(thrown.details, { operationId: "no.such" });
  });

  it("execute of an operation without a handler says so", async () => {
    const registry = new OperationRegistry();
    const { handler: _, ...spec } = operation({ namespace: "half", name: "done" });
    registry.registerSpec(spec);
    const { thrown } = await rejection(registry.execute("half.done", {}, {}));
    assert.equal(thrown.code, "OPERATION_NOT_FOUND");
    assert.equal(thrown.message, "No handler registered for operation: half.done");
    assert.deepEqual(thrown.details, { operationId: "half.done" });
  });

  it("names that every object inherits are not operations", async () => {
    const registry = new OperationRegistry();
    for (const id of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
      await assert.rejects(registry.execute(id, {}), callError("OPERATION_NOT_FOUND", id));
    }
  });

  it("execute refuses a subscription right after finding it, before access and input", async () => {
    let asked = 0;
    const { execute, id } = registered(
      {
        type: "subscription",
        inputSchema: Type.Number(),
        accessControl: { requiredScopes: ["admin"], customAuth: "ask" },
      },
      { customAuth: { ask: () => ++asked > 0 } },
    );
    await assert.rejects(execute("not a number"), callError("EXECUTION_ERROR", "subscribe()", id));
    assert.equal(asked, 0);
  });

  it("execute of a subscription without a handler says that the handler is missing", async () => {
    const registry = new OperationRegistry();
    const { handler: _, ...spec } = subscription();
    registry.registerSpec(spec);
    await assert.rejects(registry.execute(idOf(spec), []), callError("OPERATION_NOT_FOUND", "No handler"));
  });

  it("a failure of execute is a rejection, never an exception", () => {
    const registry = new OperationRegistry();
    const { execute } = registered({
      handler: () => {
        throw new Error("at once");
      },
    });
    const calls = [
      () => registry.execute("no.such"),
      () => execute(1),
      () => execute(1, null),
      () => OperationRegistry.prototype.execute.call({}, "no.such"),
    ];
    return Promise.all(
      calls.map((call) => {
        const promise = call();
        assert.ok(promise instanceof Promise);
        return assert.rejects(promise);
      }),
    );
  });
});

describe("the order of the steps", () => {
  function traced(changes = {}, options = {}) {
    const steps = [];
    const call = registered(
      {
        inputSchema: Type.Object({ n: Type.Number() }),
        accessControl: { requiredScopes: ["use"] },
        handler: (input) => {
          steps.push("handler");
          return input;
        },
        ...changes,
      },
      options,
    );
    /** An input that notes when it is looked at. */
    const watched = (n) => ({
      get n() {
        if (!steps.includes("input")) steps.push("input");
        return n;
      },
    });
    return { ...call, steps, watched };
  }
  const user = { identity: { id: "u", scopes: ["use"] } };

  it("access is checked before input, and input before the handler runs", async () => {
    const { execute, steps, watched } = traced();
    await assert.rejects(execute(watched("wrong"), {}), callError("ACCESS_DENIED"));
    assert.deepEqual(steps, []);
    await assert.rejects(execute(watched("wrong"), user), callError("VALIDATION_ERROR"));
    assert.deepEqual(steps, ["input"]);
    await execute(watched(1), user);
    assert.deepEqual(steps, ["input", "handler"]);
  });

  it("a custom rule runs before the input is checked, and after the scopes", async () => {
    const { execute, steps, watched } = traced(
      { accessControl: { requiredScopes: ["use"], customAuth: "ask" } },
      { customAuth: { ask: async () => steps.push("ask") > 0 } },
    );
    await assert.rejects(execute(watched("wrong"), {}), callError("ACCESS_DENIED", "identity required"));
    assert.deepEqual(steps, []);
    await assert.rejects(execute(watched("wrong"), user), callError("VALIDATION_ERROR"));
    assert.deepEqual(steps, ["ask", "input"]);
    await execute(watched(1), user);
    assert.deepEqual(steps, ["ask", "input", "ask", "handler"]);
  });

  it("the input is not read before a slow customAuth rule has decided", async () => {
    let answer;
    const { execute, steps, watched } = traced(
      { accessControl: { requiredScopes: [], customAuth: "slow" } },
      {
        customAuth: {
          slow: () =>
            new Promise((resolve) => {
              answer = resolve;
            }),
        },
      },
    );
    const denied = rejection(execute(watched("wrong"), {}));
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(steps, []);
    answer(false);
    assert.ok(callError("ACCESS_DENIED", "slow")((await denied).thrown));
    assert.deepEqual(steps, []);
    const controller = new AbortController();
    const aborted = rejection(execute(watched(1), { signal: controller.signal }));
    controller.abort();
    answer(true);
    assert.ok(callError("ABORTED")((await aborted).thrown));
    assert.deepEqual(steps, ["input"]);
  });

  it("a trusted call skips access and nothing else", async () => {
    const { execute, steps, watched } = traced();
    await assert.rejects(execute(watched("wrong"), { trusted: true }), callError("VALIDATION_ERROR"));
    assert.deepEqual(steps, ["input"]);
    await execute(watched(1), { trusted: true });
    assert.deepEqual(steps, ["input", "handler"]);
  });
});

describe("input", () => {
  it("input that does not fit rejects with the paths and TypeBox's messages", async () => {
    const { execute, id } = registered({
      inputSchema: Type.Object({ user: Type.Object({ name: Type.String() }), n: Type.Number() }),
    });
    const { thrown } = await rejection(execute({ user: { name: 1 } }));
    assert.equal(thrown.code, "VALIDATION_ERROR");
    assert.match(thrown.message, /^Validation failed for /);
    assert.ok(thrown.message.includes(id));
    assert.ok(thrown.message.includes("  - /user/name: Expected string"));
    assert.ok(thrown.details.errors.some(({ path }) => path === "/n"));
  });

  it("input is checked, never changed: no default, no conversion, no stripping", async () => {
    const { execute } = registered({
      inputSchema: Type.Object({ n: Type.Optional(Type.Number({ default: 5 })) }),
    });
    const input = Object.freeze({ more: "than declared" });
    assert.equal((await execute(input)).data, input);
    await assert.rejects(execute({ n: "42" }), callError("VALIDATION_ERROR", "/n"));
  });

  it("input may be missing if the schema allows it", async () => {
    const { execute } = registered({ inputSchema: Type.Optional(Type.Undefined()), handler: () => "ran" });
    assert.equal((await execute()).data, "ran");
    const unknown = registered({ handler: (input) => [input] });
    assert.deepEqual((await unknown.execute()).data, [undefined]);
  });
});

describe("the handler", () => {
  it("a handler gets the very same input and context, and nothing more", async () => {
    let got;
    const { execute } = registered({
      inputSchema: Type.Object({ a: Type.Number() }),
      handler: (...all) => {
        got = all;
      },
    });
    const [input, context] = [{ a: 1 }, { requestId: "r", identity: { id: "u", scopes: [] }, own: {} }];
    for (let i = 0; i < 1000; i++) {
      await execute(input, context);
      assert.equal(got.length, 2);
      assert.equal(got[0], input);
      assert.equal(got[1], context);
    }
    assert.deepEqual(Object.keys(context), ["requestId", "identity", "own"]);
  });

  it("a handler gets the same objects behind a custom rule, too", async () => {
    const seen = [];
    const { execute, id } = registered(
      {
        accessControl: { requiredScopes: [], customAuth: "ask" },
        handler: (input, context) => {
          seen.push(input, context);
        },
      },
      {
        customAuth: {
          ask: async (identity, call) => {
            seen.push(identity, call.operationId, call.input, call.context);
            return true;
          },
        },
      },
    );
    const [input, context] = [{}, { identity: { id: "u", scopes: [] } }];
    await execute(input, context);
    const wanted = [context.identity, id, input, context, input, context];
    assert.equal(seen.length, wanted.length);
    for (const [i, value] of wanted.entries()) assert.equal(seen[i], value);
  });

  it("a handler gets a context even when the caller gave none", async () => {
    const { execute } = registered({ handler: (_, context) => typeof context });
    assert.equal((await execute(1)).data, "object");
  });

  it("a handler may return a value or a promise", async () => {
    for (const handler of [() => 7, async () => 7, () => Promise.resolve(7)]) {
      const envelope = await registered({ handler }).execute();
      assert.ok(isResponseEnvelope(envelope));
      assert.equal(envelope.data, 7);
    }
  });

  it("a handler may return promises of another make", async () => {
    class Odd extends Promise {}
    const foreign = runInNewContext("Promise.resolve({ a: 1, b: 2 })");
    const own = Object.assign(Promise.resolve({ a: 1, b: 2 }), { note: "mine" });
    for (const promise of [Odd.resolve({ a: 1, b: 2 }), foreign, own]) {
      const { execute } = registered({
        outputSchema: Type.Object({ a: Type.Number() }),
        handler: () => promise,
      });
      const call = execute();
      assert.equal(Object.getPrototypeOf(call), Promise.prototype);
      assert.deepEqual((await call).data, { a: 1 });
    }
  });

  it("a handler may return a thenable that is no promise", async () => {
    const { execute } = registered({
      outputSchema: Type.Object({ a: Type.Number() }),
      // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
      handler: () => ({ then: (resolve) => setTimeout(resolve, 1, { a: 1, b: 2 }) }),
    });
    assert.deepEqual((await execute()).data, { a: 1 });
  });

  it("a handler is called once per call, with calls side by side", async () => {
    let running = 0;
    let most = 0;
    const { execute } = registered({
      handler: async (input) => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 5));
        running--;
        return input;
      },
    });
    const envelopes = await Promise.all([1, 2, 3, 4].map((n) => execute(n)));
    assert.deepEqual(
      envelopes.map(({ data }) => data),
      [1, 2, 3, 4],
    );
    assert.equal(most, 4);
  });

  it("a handler is replaced for later calls only", async () => {
    let release;
    const { registry, execute, id } = registered({
      handler: async () => {
        await new Promise((resolve) => {
          release = resolve;
        });
        return "old";
      },
    });
    const running = execute();
    registry.registerHandler(id, () => "new");
    assert.equal((await execute()).data, "new");
    release();
    assert.equal((await running).data, "old");
  });
});

describe("what the handler throws reaches the caller as the same value", () => {
  const frozen = Object.freeze(new Error("frozen"));
  const thrown = {
    "an Error": new Error("mine"),
    "an Error with properties": Object.assign(new TypeError("typed"), { status: 418 }),
    "a frozen Error": frozen,
    "a CallError": new CallError("MY_CODE", "own code", { a: 1 }),
    "a string": "just text",
    undefined: undefined,
    null: null,
    "a number": 0,
    "a symbol": Symbol("thrown"),
    "an object": { code: "E" },
    "an object without a prototype": Object.create(null),
    "a function": () => {},
    "an Error that is named like a declared code": new Error("NOT_THERE: x"),
  };
  for (const [what, value] of Object.entries(thrown)) {
    it(`a handler that throws ${what}: the caller gets the same value`, async () => {
      const errorSchemas = [{ code: "NOT_THERE" }];
      const throwing = () => {
        throw value;
      };
      const handlers = [throwing, async () => throwing(), () => Promise.reject(value)];
      for (const handler of handlers) {
        const { execute } = registered({ handler, errorSchemas, outputSchema: Type.String() });
        const outcome = await rejection(execute());
        assert.ok(Object.is(outcome.thrown, value));
      }
    });
  }
});

describe("context.signal", () => {
  it("a signal that is aborted rejects a call before the handler runs", async () => {
    let ran = 0;
    const { execute, id } = registered({ handler: () => ++ran });
    const context = { signal: AbortSignal.abort() };
    const { thrown } = await rejection(execute(1, context));
    assert.ok(callError("ABORTED", id)(thrown));
    assert.deepEqual(thrown.details, { operationId: id });
    assert.equal(ran, 0);
  });

  it("a signal that is aborted while a custom rule runs rejects the call", async () => {
    let ran = 0;
    const controller = new AbortController();
    const { execute } = registered(
      { accessControl: { requiredScopes: [], customAuth: "slow" }, handler: () => ++ran },
      {
        customAuth: {
          slow: async () => {
            controller.abort();
            return true;
          },
        },
      },
    );
    await assert.rejects(execute(1, { signal: controller.signal }), callError("ABORTED"));
    assert.equal(ran, 0);
  });

  it("an aborted signal does not show what access control hides", async () => {
    const { execute } = registered({ accessControl: { requiredScopes: ["admin"] } });
    await assert.rejects(execute(1, { signal: AbortSignal.abort() }), callError("ACCESS_DENIED"));
  });

  it("a signal that is aborted while the handler runs is left to the handler", async () => {
    const controller = new AbortController();
    const { execute } = registered({
      handler: (_, { signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    });
    const running = execute(1, { signal: controller.signal });
    const reason = new Error("enough");
    controller.abort(reason);
    assert.equal((await rejection(running)).thrown, reason);
  });

  it("a signal that is not aborted changes nothing", async () => {
    const { execute } = registered();
    assert.equal((await execute(1, { signal: new AbortController().signal })).data, 1);
  });
});
