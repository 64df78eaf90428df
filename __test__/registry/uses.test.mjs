// Composition that is declared: `uses` gives a handler its `env`, however it is called.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  buildCallHandler,
  createRegistry,
  defineOperation,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { toOpenAPI } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";

const common = { version: "1.0.0", description: "d", accessControl: { requiredScopes: [] } };
const get = defineOperation({
  ...common,
  namespace: "users",
  name: "get",
  type: "query",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.Object({ email: Type.String() }),
  accessControl: { requiredScopes: ["users:read"] },
  handler: ({ name }) => ({ email: `${name}@example.com` }),
});
const assign = defineOperation({
  ...common,
  namespace: "tasks",
  name: "assign",
  type: "mutation",
  inputSchema: Type.Object({ to: Type.String() }),
  outputSchema: Type.Object({ email: Type.String() }),
  uses: { users: { get } },
  handler: async ({ to }, { env }) => (await env.users.get({ name: to })).data,
});
const nested = defineOperation({
  ...common,
  namespace: "tasks",
  name: "nested",
  type: "query",
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  uses: { tasks: { assign } },
  handler: async (_input, { env }) => (await env.tasks.assign({ to: "bob" })).data,
});

const served = (registry) => {
  const callMap = new PendingRequestMap();
  callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
  return callMap;
};

describe("`uses`", () => {
  it("a handler has `env` in a direct call, with a copy of the caller's context", async () => {
    let seen;
    const registry = createRegistry([
      get,
      {
        ...assign,
        handler: (input, c) => {
          seen = c;
          return assign.handler(input, c);
        },
      },
    ]);
    const context = { requestId: "r-1" };
    assert.equal(
      (await registry.execute("tasks.assign", { to: "ada" }, context)).data.email,
      "ada@example.com",
    );
    assert.notEqual(seen, context);
    assert.equal(seen.requestId, "r-1");
    assert.deepEqual(Object.keys(seen.env), ["users"]);
    assert.deepEqual(context, { requestId: "r-1" });
    assert.equal((await registry.execute("tasks.assign", { to: "ada" })).data.email, "ada@example.com");
  });

  it("what it calls has what it uses itself, and so on", async () => {
    const registry = createRegistry([get, assign, nested]);
    assert.deepEqual((await registry.execute("tasks.nested", {})).data, { email: "bob@example.com" });
    assert.deepEqual((await served(registry).call("tasks.nested", {})).data, { email: "bob@example.com" });
  });

  it("served calls have it too, also in a subscription", async () => {
    const registry = new OperationRegistry();
    registry.registerAll([get, assign]);
    registry.register({
      ...assign,
      name: "watch",
      type: "subscription",
      handler: async function* ({ to }, { env }) {
        yield (await env.users.get({ name: to })).data;
      },
    });
    const callMap = served(registry);
    assert.equal((await callMap.call("tasks.assign", { to: "ada" })).data.email, "ada@example.com");
    for await (const { data } of callMap.subscribe("tasks.watch", { to: "eve" })) {
      assert.equal(data.email, "eve@example.com");
    }
    for await (const { data } of registry.subscribe("tasks.watch", { to: "eve" })) {
      assert.equal(data.email, "eve@example.com");
    }
  });

  it("an `env` that the caller brought is kept, with the caller's context", async () => {
    let seen;
    const registry = createRegistry([
      {
        ...assign,
        handler: (input, c) => {
          seen = c;
          return assign.handler(input, c);
        },
      },
    ]);
    const env = { users: { get: async () => ({ data: { email: "fake" }, meta: {} }) } };
    const context = { env };
    assert.equal((await registry.execute("tasks.assign", { to: "ada" }, context)).data.email, "fake");
    assert.equal(seen, context);
  });

  it("without it, the handler gets the very same context", async () => {
    let seen;
    const registry = createRegistry([
      {
        ...get,
        handler: ({ name }, c) => {
          seen = c;
          return { email: name };
        },
      },
    ]);
    const context = { trusted: true };
    await registry.execute("users.get", { name: "ada" }, context);
    assert.equal(seen, context);
    assert.equal("env" in seen, false);
  });

  it("`true` is the whole registry", async () => {
    const registry = new OperationRegistry();
    registry.registerAll([get, { ...assign, uses: true }]);
    assert.equal((await registry.execute("tasks.assign", { to: "ada" })).data.email, "ada@example.com");
  });

  it("an operation that is not registered is an error that names it, when it is called", async () => {
    const registry = createRegistry([assign]);
    const expected = { code: "OPERATION_NOT_FOUND", details: { operationId: "users.get" } };
    await assert.rejects(registry.execute("tasks.assign", { to: "ada" }), expected);
    await assert.rejects(served(registry).call("tasks.assign", { to: "ada" }), {
      code: "OPERATION_NOT_FOUND",
    });
  });

  it("an operation under another name than its own, or a subscription, is refused", () => {
    const registry = new OperationRegistry();
    assert.throws(
      () => registry.register({ ...assign, uses: { users: { fetch: get } } }),
      /Cannot register operation tasks\.assign: uses\.users\.fetch: Expected the operation users\.fetch, not users\.get/,
    );
    const watch = { ...get, type: "subscription" };
    assert.throws(
      () => registry.register({ ...assign, uses: { users: { get: watch } } }),
      /no subscriptions/,
    );
    assert.throws(() => registry.register({ ...assign, uses: ["users.get"] }), /uses: Expected true, or/);
  });

  it("clients do not see it; `get` and `list` do", async () => {
    const registry = createRegistry([get, assign]);
    assert.equal(registry.get("tasks.assign").uses, assign.uses);
    assert.doesNotMatch(JSON.stringify(toOpenAPI(registry, { title: "t", version: "1" })), /"uses"/);
  });
});
