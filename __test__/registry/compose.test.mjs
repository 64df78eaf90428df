// Operations that call operations: buildEnv, straight to the registry or through the call protocol.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildEnv, localEnvelope, OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { registryOf } from "../support/registry.mjs";
import { callError, operation, rejection, subscription } from "./support/operations.mjs";

const HOSTILE = ["__proto__", "constructor", "toString", "valueOf", "hasOwnProperty", "then"];

/** A call map that remembers what it was asked. */
function fakeCallMap(answer = localEnvelope("answered", "remote.one")) {
  const calls = [];
  return {
    calls,
    async call(...all) {
      calls.push({ self: this, all });
      return answer;
    },
  };
}

describe("what is in it", () => {
  const registry = registryOf(
    operation({ namespace: "books", name: "find" }),
    operation({ namespace: "books", name: "add", type: "mutation" }),
    subscription({ namespace: "books", name: "changes" }),
    subscription({ namespace: "feed", name: "ticks" }),
    operation({ namespace: "users", name: "get" }),
  );

  for (const [mode, callMap] of [
    ["direct", undefined],
    ["with a call map", fakeCallMap()],
  ]) {
    it(`an environment has every QUERY and MUTATION, and no subscription (${mode})`, () => {
      const env = buildEnv({ registry, context: {}, callMap });
      assert.deepEqual(Object.keys(env).sort(), ["books", "users"]);
      assert.deepEqual(Object.keys(env.books).sort(), ["add", "find"]);
      assert.equal(typeof env.users.get, "function");
    });

    it(`an environment has the allowedNamespaces and nothing else (${mode})`, () => {
      const only = (allowedNamespaces) =>
        Object.keys(buildEnv({ registry, context: {}, callMap, allowedNamespaces }));
      assert.deepEqual(only(["users"]), ["users"]);
      assert.deepEqual(only(["users", "nobody"]), ["users"]);
      assert.deepEqual(only([]), []);
      assert.deepEqual(only(undefined).sort(), ["books", "users"]);
    });
  }

  it("namespaces and functions of an environment are own properties, also with names such as constructor", async () => {
    const operations = HOSTILE.flatMap((namespace) => HOSTILE.map((name) => operation({ namespace, name })));
    const env = buildEnv({ registry: registryOf(...operations), context: {} });
    assert.deepEqual(Object.keys(env).sort(), [...HOSTILE].sort());
    for (const namespace of HOSTILE) {
      assert.ok(Object.hasOwn(env, namespace));
      assert.deepEqual(Object.keys(env[namespace]).sort(), [...HOSTILE].sort());
      for (const name of HOSTILE) {
        assert.ok(Object.hasOwn(env[namespace], name));
        const { data, meta } = await env[namespace][name](7);
        assert.equal(data, 7);
        assert.equal(meta.operationId, `${namespace}.${name}`);
      }
    }
    assert.equal({}.find, undefined, "Object.prototype is untouched");
  });

  it("what an environment lacks is undefined, also under names that every object inherits", () => {
    const env = buildEnv({ registry, context: {} });
    for (const name of ["__proto__", "constructor", "toString"]) {
      assert.equal(env[name], undefined);
      assert.equal(env.books[name], undefined);
    }
  });

  it("a namespace that is only inherited is not allowed by its name", () => {
    const env = buildEnv({ registry, context: {}, allowedNamespaces: ["constructor", "__proto__"] });
    assert.deepEqual(Object.keys(env), []);
  });

  it("an environment's function whose operation has no handler says so when it is called", async () => {
    const bare = new OperationRegistry();
    const { handler: _, ...spec } = operation({ namespace: "half", name: "done" });
    bare.registerSpec(spec);
    const env = buildEnv({ registry: bare, context: {} });
    await assert.rejects(env.half.done(), callError("OPERATION_NOT_FOUND", "No handler"));
  });
});

describe("straight to the registry", () => {
  it("an environment calls with the caller's context, trusted, and leaves that context alone", async () => {
    const registry = registryOf(
      operation({
        namespace: "inner",
        name: "look",
        accessControl: { requiredScopes: ["admin"], customAuth: "nobody" },
        handler: (_, context) => context,
      }),
    );
    const context = {
      requestId: "r1",
      identity: { id: "u", scopes: [] },
      metadata: { trace: "t" },
      signal: new AbortController().signal,
      own: Symbol("own"),
    };
    const copy = { ...context };
    const { data } = await buildEnv({ registry, context }).inner.look({});
    assert.deepEqual(data, { ...context, trusted: true });
    for (const key of Object.keys(context)) assert.equal(data[key], context[key]);
    assert.deepEqual(context, copy);
  });

  it("an environment's calls are trusted even if the caller's context says otherwise", async () => {
    const registry = registryOf(
      operation({ namespace: "inner", name: "look", accessControl: { requiredScopes: ["admin"] } }),
    );
    const env = buildEnv({ registry, context: { trusted: false } });
    assert.equal((await env.inner.look(1)).data, 1);
  });

  it("an environment's call returns the envelope of execute: input checked, output normalised", async () => {
    const registry = registryOf(
      operation({
        namespace: "inner",
        name: "double",
        inputSchema: Type.Object({ n: Type.Number() }),
        outputSchema: Type.Object({ n: Type.Number() }),
        handler: ({ n }) => ({ n: n * 2, extra: true }),
      }),
    );
    const env = buildEnv({ registry, context: {} });
    const { data, meta } = await env.inner.double({ n: 2 });
    assert.deepEqual(data, { n: 4 });
    assert.equal(meta.operationId, "inner.double");
    const wrong = env.inner.double({ n: "2" });
    assert.ok(wrong instanceof Promise);
    await assert.rejects(wrong, callError("VALIDATION_ERROR", "inner.double"));
  });

  it("an environment passes the very same input, and undefined without input", async () => {
    const seen = [];
    const handler = (input) => {
      seen.push(input);
    };
    const env = buildEnv({
      registry: registryOf(operation({ namespace: "a", name: "b", handler })),
      context: {},
    });
    const input = {};
    await env.a.b(input);
    await env.a.b();
    assert.equal(seen[0], input);
    assert.equal(seen[1], undefined);
  });

  it("what an inner handler throws reaches the environment's caller as the same object", async () => {
    const error = new Error("inner");
    const handler = () => {
      throw error;
    };
    const env = buildEnv({
      registry: registryOf(operation({ namespace: "a", name: "b", handler })),
      context: {},
    });
    assert.equal((await rejection(env.a.b())).thrown, error);
  });

  it("an environment calls what is registered at the time of the call", async () => {
    const first = operation({ namespace: "a", name: "b", handler: () => "old" });
    const registry = registryOf(first);
    const env = buildEnv({ registry, context: {} });
    registry.register({ ...first, handler: () => "new" });
    assert.equal((await env.a.b()).data, "new");
  });

  it("an operation composes others through context.env", async () => {
    const registry = registryOf(
      operation({ namespace: "math", name: "square", handler: (n) => n * n }),
      operation({
        namespace: "math",
        name: "sumOfSquares",
        handler: async (numbers, { env }) => {
          const squares = await Promise.all(numbers.map((n) => env.math.square(n)));
          return squares.reduce((sum, { data }) => sum + data, 0);
        },
      }),
    );
    const env = buildEnv({ registry, context: {} });
    const { data } = await registry.execute("math.sumOfSquares", [1, 2, 3], { env });
    assert.equal(data, 14);
  });
});

describe("through a call map", () => {
  const registry = registryOf(
    operation({
      namespace: "remote",
      name: "one",
      handler: () => {
        throw new Error("must not be called here");
      },
    }),
  );

  it("an environment over a call map passes id, input, parentRequestId, identity and deadline to the map", async () => {
    const answer = localEnvelope("answered", "remote.one");
    const callMap = fakeCallMap(answer);
    const identity = { id: "u", scopes: ["a"] };
    const context = { requestId: "r1", parentRequestId: "r0", identity, deadline: 99, metadata: { a: 1 } };
    const input = {};
    const result = await buildEnv({ registry, context, callMap }).remote.one(input);
    assert.equal(result, answer);
    assert.equal(callMap.calls.length, 1);
    const [{ self, all }] = callMap.calls;
    assert.equal(self, callMap);
    assert.equal(all.length, 3);
    assert.equal(all[0], "remote.one");
    assert.equal(all[1], input);
    assert.deepEqual(all[2], { parentRequestId: "r1", identity, deadline: 99 });
    assert.equal(all[2].identity, identity);
  });

  it("an environment over a call map never carries trust", async () => {
    const callMap = fakeCallMap();
    await buildEnv({ registry, context: { trusted: true, requestId: "r" }, callMap }).remote.one({});
    const [{ all }] = callMap.calls;
    assert.ok(!("trusted" in all[2]));
    assert.ok(!JSON.stringify(all).includes("trusted"));
  });

  it("an environment over a call map sends no property that is undefined", async () => {
    const callMap = fakeCallMap();
    await buildEnv({ registry, context: {}, callMap }).remote.one();
    const { parentRequestId, identity, deadline } = callMap.calls[0].all[2];
    assert.deepEqual([parentRequestId, identity, deadline], [undefined, undefined, undefined]);
  });

  it("an environment over a call map checks a response against the spec that is registered here", async () => {
    const outputSchema = Type.Object({ id: Type.String() }, { additionalProperties: false });
    const answers = [
      [{ id: "x" }, undefined],
      [{ id: 7 }, [{ path: "/id", message: "Expected string" }]],
      ["forged", [{ path: "", message: "Expected object" }]],
    ];
    for (const [data, notes] of answers) {
      for (const output of ["normalise", "off", "strict"]) {
        const registry = new OperationRegistry({ output });
        registry.registerSpec(operation({ namespace: "remote", name: "one", outputSchema }));
        const callMap = fakeCallMap(localEnvelope(data, "remote.one"));
        const call = buildEnv({ registry, context: {}, callMap }).remote.one({});
        if (output === "strict" && notes !== undefined) {
          await assert.rejects(call, ({ code, details }) => {
            assert.equal(code, "VALIDATION_ERROR");
            assert.deepEqual(details.errors, notes);
            return true;
          });
        } else {
          const envelope = await call;
          assert.equal(envelope.data, data);
          assert.deepEqual(envelope.meta.notes, notes);
        }
      }
    }
  });

  it("an environment over a call map passes the map's failures on unchanged", async () => {
    const error = new Error("lost");
    const callMap = { call: () => Promise.reject(error) };
    const env = buildEnv({ registry, context: {}, callMap });
    assert.equal((await rejection(env.remote.one())).thrown, error);
  });
});
