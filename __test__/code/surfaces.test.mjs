// Code mode as models meet it: tools of an API, tools of the AI SDK, an MCP door.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { createCodeRunner } from "@alkdev/operations/code";
import { serve } from "@alkdev/operations/serve";
import { toAISDKTools, toTools } from "@alkdev/operations/tools";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Type } from "@sinclair/typebox";
import { programs } from "./support.mjs";

const registry = programs();
const runner = createCodeRunner(registry);
after(() => runner.close());

const options = { target: "json-schema", mode: "code", runner };
const dataOf = async (kit, name, input, context) => {
  const { envelope, isError, content } = await kit.call(name, input, context);
  assert.equal(isError, false, JSON.stringify(content));
  return envelope.data;
};

describe('toTools with mode: "code"', () => {
  it("offers search, describe and run, whose description names every namespace and has signatures", () => {
    const { tools } = toTools(registry, options);
    assert.deepEqual(tools.map(({ name }) => name).sort(), ["describe", "run", "search"]);
    const { description } = tools.find(({ name }) => name === "run");
    for (const name of ["demo", "work", "pay", "JSON"])
      assert.match(description, new RegExp(`${name} \\(\\d`));
    assert.match(description, /demo\.double/);
    assert.doesNotMatch(description, /admin|secret/, "what the identity may not call is not named");
  });

  it("keeps the namespaces where there is no room for signatures", () => {
    const { tools, losses } = toTools(registry, { ...options, target: "openai" });
    const { description } = tools.find(({ name }) => name === "run");
    assert.match(description, /demo \(\d/);
    assert.deepEqual(losses, []);
  });

  it("refuses signatures without what runs them, and a runner of another registry", async () => {
    assert.throws(() => toTools(registry, { target: "openai", mode: "code" }), /needs runner/);
    const other = toTools(new OperationRegistry(), options);
    const { isError, content } = await other.call("run", { code: "return 1" });
    assert.ok(isError);
    assert.match(JSON.stringify(content), /another registry/);
  });

  it("runs a program, and says what failed in one that did not end well", async () => {
    const kit = toTools(registry, options);
    const code = "console.log('hi'); return await demo.double({ n: input })";
    const { status, data, logs } = await dataOf(kit, "run", { code, input: 4 });
    assert.deepEqual([status, data, logs], ["completed", 8, ["info: hi"]]);
    const failed = await dataOf(kit, "run", { code: "return demo.duble({})" });
    assert.equal(failed.status, "failed");
    assert.match(failed.error.message, /Did you mean demo\.double/);
    assert.ok((await kit.call("run", {})).isError);
  });

  it("follows registrations", async () => {
    const growing = programs();
    const kit = toTools(growing, { ...options, runner: createCodeRunner(growing) });
    assert.doesNotMatch(kit.tools.find(({ name }) => name === "run").description, /fresh/);
    growing.register({ ...growing.getSpec("demo.double"), namespace: "fresh", handler: () => 5 });
    assert.match(kit.tools.find(({ name }) => name === "run").description, /fresh \(1\)/);
    assert.equal((await dataOf(kit, "run", { code: "return await fresh.double({})" })).data, 5);
  });

  it("include bounds what a program can find, describe and call", async () => {
    const kit = toTools(registry, { ...options, include: ["work.*"] });
    const code = `const tried = async (run) => { try { return await run() } catch (error) { return error.message } };
      return [Object.keys(operations), await tried(() => operations["demo.double"]({ n: 1 })), await tried(() => describe("demo.double")), (await search("double")).length]`;
    const [ids, called, described, found] = (await dataOf(kit, "run", { code })).data;
    assert.deepEqual(ids, ["work.do"]);
    assert.match(called, /no operation/);
    assert.match(described, /demo\.double/);
    assert.equal(found, 0);
  });

  it("a run is resumed by the identity that it was made for alone", async () => {
    const [ada, bob] = ["ada", "bob"].map((id) =>
      toTools(registry, { ...options, identity: { id, scopes: [] } }),
    );
    const code = "await pay.send({ key: 'a' }); return (await demo.context({})).id";
    const waiting = await dataOf(ada, "run", { code });
    assert.equal(waiting.status, "waiting");
    assert.equal(waiting.approvals[0].operationId, "pay.send");
    const refused = await bob.call("run", { resume: waiting.id });
    assert.ok(refused.isError);
    assert.match(JSON.stringify(refused.content), /There is no run/);
    assert.equal((await dataOf(ada, "run", { resume: waiting.id })).data, "ada");
    assert.ok((await bob.call("run", { resume: waiting.id })).isError, "nor is its result read by others");
    assert.equal((await dataOf(ada, "run", { resume: waiting.id })).data, "ada");
  });

  it("a run that is resumed has the scopes that its caller has then", async () => {
    const code =
      "await pay.send({ key: 'b' }); return await operations['admin.wipe']({}).then(() => 'in', ({ code }) => code)";
    const kit = toTools(registry, options);
    const { id } = await dataOf(kit, "run", { code }, { identity: { id: "eve", scopes: ["admin"] } });
    const later = await dataOf(kit, "run", { resume: id }, { identity: { id: "eve", scopes: [] } });
    assert.equal(later.data, "ACCESS_DENIED");
  });
});

describe('toAISDKTools with mode: "code"', () => {
  it("offers the same three, which run with the identity", async () => {
    const tools = toAISDKTools(registry, { mode: "code", runner, identity: { id: "ada", scopes: [] } });
    assert.deepEqual(Object.keys(tools).sort(), ["describe", "run", "search"]);
    const code = "return (await demo.context({})).id";
    const { data } = await tools.run.execute({ code }, { toolCallId: "1", messages: [] });
    assert.equal(data.data, "ada");
  });
});

describe("an MCP door with code", () => {
  it("has three tools, whose program has the authority of the client", async () => {
    const served = programs();
    served.register({
      ...served.getSpec("demo.double"),
      namespace: "hidden",
      inputSchema: Type.Any(),
      handler: () => "not served",
    });
    const server = await serve(served, {
      port: 0,
      doors: { mcp: { code: true } },
      operations: ({ namespace }) => namespace !== "hidden",
    });
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
    try {
      const { tools } = await client.listTools();
      assert.deepEqual(tools.map(({ name }) => name).sort(), ["code_describe", "code_run", "code_search"]);
      const { description } = tools.find(({ name }) => name === "code_run");
      assert.match(description, /demo \(\d/);
      assert.doesNotMatch(description, /admin|hidden/);
      const call = async (code) => {
        const { content } = await client.callTool({ name: "code_run", arguments: { code } });
        return JSON.parse(content[0].text);
      };
      assert.equal((await call("return await demo.double({ n: 3 })")).data, 6);
      for (const id of ["hidden.double", "admin.wipe", "demo.secret"]) {
        assert.match((await call(`return await operations["${id}"]({})`)).error.message, /no operation/, id);
      }
    } finally {
      await client.close();
      await server.close();
    }
  });

  it("refuses code together with a catalogue", async () => {
    const doors = { mcp: { code: true, catalogue: "search" } };
    await assert.rejects(
      async () => serve(registry, { port: 0, doors }),
      /cannot be combined with catalogue/,
    );
  });
});
