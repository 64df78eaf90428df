// What handlers find in the context of a model's call.

import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { OperationRegistry, OperationType } from "@alkdev/operations";
import { catalogue, toAISDKTools, toTools } from "@alkdev/operations/tools";
import { configure, reset } from "@logtape/logtape";
import { Type } from "@sinclair/typebox";
import { operation, subscription } from "../registry/support/operations.mjs";

/** A registry whose `outer` calls `inner` through its environment. */
function composed() {
  const registry = new OperationRegistry();
  const seen = [];
  registry.registerAll([
    operation({
      namespace: "n",
      name: "inner",
      accessControl: { requiredScopes: ["inner"] },
      handler: (_, context) => {
        seen.push(context);
        return "from within";
      },
    }),
    operation({
      namespace: "n",
      name: "outer",
      handler: async (_, { env }) => (await env.n.inner({})).data,
    }),
    operation({ namespace: "n", name: "bare", handler: (_, context) => Object.keys(context).length > 0 }),
  ]);
  return { registry, seen };
}
const identity = { id: "ada", scopes: [] };

describe("context.env in a model's call", () => {
  it("a call through toTools has context.env", async () => {
    const { registry, seen } = composed();
    const { call } = toTools(registry, { target: "json-schema", identity });
    const { isError, envelope } = await call("n_outer", {});
    assert.equal(isError, false);
    assert.equal(envelope.data, "from within");
    assert.equal(seen[0].identity, identity);
  });

  it("a model's call has the signal that ends it at its deadline in context.env", async () => {
    const { registry, seen } = composed();
    const { call } = toTools(registry, { target: "json-schema", identity });
    const deadline = Date.now() + 60_000;
    const { envelope } = await call("n_outer", {}, { deadline });
    assert.equal(envelope.data, "from within");
    assert.equal(seen[0].deadline, deadline);
    assert.ok(seen[0].signal instanceof AbortSignal);
  });

  it("a call through toAISDKTools has context.env", async () => {
    const { registry } = composed();
    const tools = toAISDKTools(registry, { identity });
    assert.deepEqual(await tools.n_outer.execute({}, { toolCallId: "1" }), { data: "from within" });
  });

  it("a call through a catalogue has the context.env of the registry that it searches", async () => {
    const { registry } = composed();
    const forModel = new OperationRegistry();
    forModel.registerAll(catalogue(registry, { identity }).asOperations());
    const { call } = toTools(forModel, { target: "json-schema", identity });
    const { envelope } = await call("catalogue_call", { id: "n.outer", input: {} });
    assert.equal(envelope.data, "from within");
  });

  it("a model's call has the user's own context.env if the context has one", async () => {
    const { registry } = composed();
    const { call } = toTools(registry, { target: "json-schema", identity });
    const env = { n: { inner: async () => ({ data: "mine" }) } };
    assert.equal((await call("n_outer", {}, { env })).envelope.data, "mine");
  });
});

describe("context.deadline in a model's call", () => {
  /** A stream that never says anything and ends when its signal is aborted. */
  const silent = () => {
    const registry = new OperationRegistry();
    const ended = Promise.withResolvers?.() ?? withResolvers();
    registry.register(
      subscription({
        namespace: "n",
        name: "silent",
        handler: async function* (_, { signal }) {
          if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
          ended.resolve(signal.reason);
          yield 1;
        },
      }),
    );
    return { registry, ended: ended.promise };
  };

  it("context.deadline ends a subscription of toTools", async () => {
    const { registry, ended } = silent();
    const { call } = toTools(registry, { target: "json-schema" });
    const { isError, content } = await call("n_silent", [], { deadline: Date.now() + 50 });
    assert.equal(isError, true);
    assert.match(JSON.stringify(content), /timed out/);
    assert.equal((await ended).code, "TIMEOUT");
  });

  it("context.deadline ends a subscription of toAISDKTools", async () => {
    const { registry, ended } = silent();
    const tools = toAISDKTools(registry, { context: () => ({ deadline: Date.now() + 50 }) });
    const results = tools.n_silent.execute([], { toolCallId: "1" });
    await assert.rejects(results.next(), { code: "TIMEOUT" });
    assert.equal((await ended).code, "TIMEOUT");
  });
});

/** Node 20 has no `Promise.withResolvers`. */
function withResolvers() {
  let resolve;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

describe("include", () => {
  afterEach(reset);

  it("include warns about a pattern that is the id of no operation", async () => {
    const lines = [];
    await configure({
      sinks: { lines: (record) => lines.push(record) },
      loggers: [
        { category: "operations", sinks: ["lines"], lowestLevel: "warning" },
        { category: ["logtape", "meta"], sinks: [] },
      ],
    });
    const { registry } = composed();
    const { tools } = toTools(registry, { target: "json-schema", include: ["task.*", "n.*"] });
    assert.equal(tools.length, 3);
    const said = lines.map(({ category, message }) => [category.join(), message.join("")]);
    assert.deepEqual(said, [
      ["operations,tools", 'include has "task.*", which is the id of no operation of the registry'],
    ]);
  });
});

describe("arguments that a model writes as text", () => {
  it("a number that JavaScript would change is refused with its path, for every target", async () => {
    const removed = [];
    const registry = new OperationRegistry();
    registry.register({
      namespace: "t",
      name: "remove",
      version: "1.0.0",
      type: OperationType.MUTATION,
      description: "Removes one",
      inputSchema: Type.Object({ id: Type.Number() }),
      outputSchema: Type.Unknown(),
      accessControl: { requiredScopes: [] },
      handler: ({ id }) => removed.push(id),
    });
    for (const target of ["openai", "openai-strict", "anthropic", "gemini", "mcp", "json-schema"]) {
      const { call, tools } = toTools(registry, { target });
      assert.equal(tools.length > 0, true);
      for (const text of [
        '{"id":123456789123456789}',
        '"{\\"id\\":1e-400}"',
        '```json\n{"id":9007199254740993}\n```',
      ]) {
        const { content, isError } = await call("t_remove", text);
        assert.equal(isError, true, text);
        assert.match(JSON.stringify(content), /\/id/);
      }
    }
    assert.deepEqual(removed, []);
  });
});
