// Who may call imported tools.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMCPClient, MCPClientLoader, OperationRegistry } from "@alkdev/operations";
import { defer } from "./support/defer.mjs";
import { until } from "./support/processes.mjs";
import { connected, failure, stdio } from "./support/servers.mjs";

const admin = { requiredScopes: ["admin"] };
const who = { identity: { id: "u", scopes: ["admin"] } };

/** A loader whose tools are kept in step with a registry. */
async function inStep(test, more = {}) {
  const loader = new MCPClientLoader();
  defer(test, () => loader.closeAll());
  await loader.load({ s: stdio([], more) });
  const registry = new OperationRegistry();
  loader.registerAll(registry, { keepInStep: true });
  const say = (tool, input = {}) => registry.execute(`s.${tool}`, input, who);
  /** The server gives a tool another description, or a new one its first. */
  const describeAnew = async (name, description) => {
    await say("learn", { name, description });
    await until(
      () => registry.getSpec(`s.${name}`)?.description === description,
      `${name} is described as ${description}`,
    );
  };
  return { loader, registry, say, describeAnew };
}

describe("accessControl of an MCP server", { concurrency: true }, () => {
  it("accessControl of an MCP server protects all its tools", async (t) => {
    const { call } = await connected(t, stdio([], { accessControl: admin }));
    const denied = await failure(call("echo", { text: "a" }));
    assert.equal(denied.code, "ACCESS_DENIED");
    assert.equal((await call("echo", { text: "a" }, who)).data[0].text, "a");
  });

  it("accessControl of an MCP server may be a function of each tool", async (t) => {
    const accessControl = ({ _meta }) => (_meta.annotations?.readOnlyHint ? { requiredScopes: [] } : admin);
    const { call } = await connected(t, stdio([], { accessControl }));
    assert.equal((await call("echo", { text: "a" })).data[0].text, "a");
    assert.equal((await failure(call("person"))).code, "ACCESS_DENIED");
    assert.equal((await call("person", {}, who)).data.name, "Ada");
  });

  it("a tool for which accessControl returns no rules is left out", async (t) => {
    const accessControl = ({ name }) => {
      if (name === "echo") return undefined;
      if (name === "person") throw new Error("no idea");
      return admin;
    };
    const { wrapper, tool } = await connected(t, stdio([], { accessControl }));
    assert.deepEqual([tool("echo"), tool("person")], [undefined, undefined]);
    assert.deepEqual(
      wrapper.problems.map(({ tool, field }) => `${tool} ${field}`),
      ["echo accessControl", "person accessControl"],
    );
    assert.deepEqual(tool("fail").accessControl, admin);
  });

  it("an invalid accessControl of an MCP server is refused with its path", async () => {
    const error = await failure(createMCPClient("x", stdio([], { accessControl: { requiredScopes: "a" } })));
    assert.equal(error.code, "VALIDATION_ERROR");
    assert.match(error.message, /accessControl\/requiredScopes/);
  });

  it("accessControl of an MCP server holds for tools that it adds later", async (t) => {
    const { registry, describeAnew } = await inStep(t, { accessControl: admin });
    await describeAnew("juggle", "first");
    assert.equal((await failure(registry.execute("s.juggle", {}, {}))).code, "ACCESS_DENIED");
    await describeAnew("juggle", "second");
    assert.equal((await failure(registry.execute("s.juggle", {}, {}))).code, "ACCESS_DENIED");
    assert.equal((await registry.execute("s.juggle", {}, who)).data[0].text, "juggle works");
  });
});

describe("a rule that was set on an imported tool", { concurrency: true }, () => {
  it("a rule that was set on an imported tool survives a changed description, on the registered operation", async (t) => {
    const { registry, describeAnew } = await inStep(t);
    await describeAnew("juggle", "first");
    registry.register({ ...registry.get("s.juggle"), accessControl: admin });
    await describeAnew("juggle", "second");
    await describeAnew("juggle", "third");
    assert.equal((await failure(registry.execute("s.juggle", {}, {}))).code, "ACCESS_DENIED");
    assert.equal((await registry.execute("s.juggle", {}, who)).data[0].text, "juggle works");
  });

  it("a rule that was set on an imported tool survives a changed description, on the tool of the wrapper", async (t) => {
    const { loader, registry, describeAnew } = await inStep(t);
    await describeAnew("juggle", "first");
    const tool = () => loader.getClient("s").tools.find(({ name }) => name === "juggle");
    tool().accessControl = structuredClone(admin);
    await describeAnew("juggle", "second");
    assert.deepEqual(tool().accessControl, admin);
    assert.equal((await failure(registry.execute("s.juggle", {}, {}))).code, "ACCESS_DENIED");
  });

  it("a rule that was set on an imported tool survives a tool that goes and comes back", async (t) => {
    const { registry, say, describeAnew } = await inStep(t);
    await describeAnew("juggle", "first");
    registry.register({ ...registry.get("s.juggle"), accessControl: admin });
    await say("forget", { name: "juggle" });
    await until(() => registry.getSpec("s.juggle") === undefined, "it is gone");
    await describeAnew("juggle", "second");
    assert.equal((await failure(registry.execute("s.juggle", {}, {}))).code, "ACCESS_DENIED");
  });

  it("a rule that was set on an imported tool does not weaken stricter ones of the function", async (t) => {
    const accessControl = ({ description }) => (description === "dangerous" ? admin : { requiredScopes: [] });
    const { registry, describeAnew } = await inStep(t, { accessControl });
    await describeAnew("juggle", "harmless");
    assert.equal((await registry.execute("s.juggle", {}, {})).data[0].text, "juggle works");
    await describeAnew("juggle", "dangerous");
    assert.equal((await failure(registry.execute("s.juggle", {}, {}))).code, "ACCESS_DENIED");
  });
});
