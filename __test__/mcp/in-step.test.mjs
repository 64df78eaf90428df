// What a server changes about its tools, and what the program has decided about them.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MCPClientLoader, OperationRegistry } from "@alkdev/operations";
import { configure, reset } from "@logtape/logtape";
import { operation } from "../registry/support/operations.mjs";
import { defer } from "./support/defer.mjs";
import { until } from "./support/processes.mjs";
import { failure, stdio } from "./support/servers.mjs";

/** A loader whose tools are kept in step with a registry, and a way to have its server change a tool. */
async function inStep(test, before = [], config = {}) {
  const loader = new MCPClientLoader();
  defer(test, () => loader.closeAll());
  await loader.load({ s: stdio([], config) });
  const registry = new OperationRegistry();
  registry.registerAll(before);
  loader.registerAll(registry, { keepInStep: true });
  const client = () => loader.getClient("s");
  const say = (tool, input) =>
    client()
      .tools.find(({ name }) => name === tool)
      .handler(input, {});
  const toolOf = (name) => client().tools.find((tool) => tool.name === name);
  const learn = async (name, description) => {
    await say("learn", { name, description });
    await until(() => toolOf(name)?.description === description, `${name} is ${description}`);
  };
  const forget = async (name) => {
    await say("forget", { name });
    await until(() => toolOf(name) === undefined, `${name} is gone`);
  };
  return { loader, registry, learn, forget, toolOf };
}

describe("tools/list_changed", { timeout: 60_000 }, () => {
  it("tools/list_changed does not serve an internal tool again, nor lift its limits", async (t) => {
    const { registry, learn, forget } = await inStep(t);
    await learn("juggle", "first");
    const limits = { concurrency: 1 };
    registry.register({ ...registry.get("s.juggle"), visibility: "internal", limits });
    await learn("juggle", "second");
    assert.equal(registry.getSpec("s.juggle").description, "second");
    await forget("juggle");
    assert.equal(registry.get("s.juggle"), undefined);
    await learn("juggle", "third");
    assert.equal(registry.getSpec("s.juggle").visibility, "internal");
    assert.deepEqual(registry.getSpec("s.juggle").limits, limits);
  });

  it("tools/list_changed does not drop a handler that the program put around a tool", async (t) => {
    const { registry, learn, forget } = await inStep(t);
    await learn("juggle", "first");
    const { handler } = registry.get("s.juggle");
    const guarded = (input, context) => {
      if (input.knives !== undefined) throw new Error("no knives");
      return handler(input, context);
    };
    registry.registerHandler("s.juggle", guarded);
    await learn("juggle", "second");
    assert.equal(registry.getHandler("s.juggle"), guarded);
    assert.match((await failure(registry.execute("s.juggle", { knives: 3 }))).message, /no knives/);
    await forget("juggle");
    assert.equal(registry.getHandler("s.juggle"), guarded);
  });

  it("tools/list_changed cannot take over or remove an operation of the program, and the log names it", async (t) => {
    const lines = [];
    await configure({
      sinks: { list: (record) => lines.push(record) },
      loggers: [
        { category: ["operations"], sinks: ["list"], lowestLevel: "warning" },
        { category: ["logtape", "meta"], sinks: ["list"], lowestLevel: "error" },
      ],
    });
    defer(t, () => reset());
    const mine = operation({ namespace: "s", name: "pay", handler: () => "mine" });
    const { registry, learn, forget } = await inStep(t, [mine]);
    await learn("pay", "stolen");
    await learn("juggle", "fine");
    assert.equal((await registry.execute("s.pay", {})).data, "mine");
    assert.notEqual(registry.get("s.juggle"), undefined);
    await forget("pay");
    assert.equal((await registry.execute("s.pay", {})).data, "mine");
    const named = lines.filter(({ properties }) => properties.operationId === "s.pay");
    assert.deepEqual(
      named.map(({ properties }) => properties.reason),
      ["collision"],
    );
  });
});

describe("a tool that the program has unregistered", { timeout: 60_000 }, () => {
  it("a tool that the program has unregistered stays out when its server changes it, until the program registers the tools again", async (t) => {
    const { loader, registry, learn } = await inStep(t);
    await learn("juggle", "first");
    registry.unregister("s.juggle");
    await learn("juggle", "second");
    assert.equal(registry.get("s.juggle"), undefined);
    assert.notEqual(registry.get("s.echo"), undefined);
    loader.registerAll(registry);
    assert.equal(registry.getSpec("s.juggle").description, "second");
  });
});

describe("registerAll", { timeout: 60_000 }, () => {
  it("registerAll refuses a tool that has the id of an operation of the program", async (t) => {
    const loader = new MCPClientLoader();
    defer(t, () => loader.closeAll());
    await loader.load({ s: stdio() });
    const registry = new OperationRegistry();
    registry.register(operation({ namespace: "s", name: "echo", handler: () => "mine" }));
    assert.throws(() => loader.registerAll(registry), {
      details: { reason: "collision", operations: ["s.echo"] },
    });
    assert.equal(registry.list().length, 1);
    registry.unregister("s.echo");
    loader.registerAll(registry);
    loader.registerAll(registry, { keepInStep: true });
    assert.notEqual(registry.get("s.echo"), undefined);
  });

  it("registerAll keeps the rules of a tool that the program has registered before", async (t) => {
    const loader = new MCPClientLoader();
    defer(t, () => loader.closeAll());
    const [{ tools }] = await loader.load({ s: stdio() });
    const registry = new OperationRegistry();
    const admin = { requiredScopes: ["admin"] };
    registry.registerAll(tools.map((tool) => ({ ...tool, accessControl: admin })));
    loader.registerAll(registry, { keepInStep: true });
    assert.equal((await failure(registry.execute("s.echo", { text: "a" }))).code, "ACCESS_DENIED");
    // A server that is loaded anew under its name has other handlers for the same tools.
    await loader.load({ s: stdio() });
    assert.equal((await failure(registry.execute("s.echo", { text: "a" }))).code, "ACCESS_DENIED");
    const who = { identity: { id: "u", scopes: ["admin"] } };
    assert.equal((await registry.execute("s.echo", { text: "a" }, who)).data[0].text, "a");
  });
});

describe("rules that the program set on a tool", { timeout: 60_000 }, () => {
  it("rules that the program set on a tool hold when those of the import agreed with them in between", async (t) => {
    const admin = { requiredScopes: ["admin"] };
    const accessControl = ({ description }) => (description === "guarded" ? admin : { requiredScopes: [] });
    const { learn, toolOf } = await inStep(t, [], { accessControl });
    await learn("juggle", "first");
    toolOf("juggle").accessControl = admin;
    for (const description of ["guarded", "open"]) {
      await learn("juggle", description);
      assert.deepEqual(toolOf("juggle").accessControl, admin);
    }
  });
});
