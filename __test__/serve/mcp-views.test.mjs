// Several MCP doors of one server, each with operations of its own.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createMCPClient, OperationRegistry, OperationType } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { failureOf, until } from "../support/waiting.mjs";
import { operation, serving } from "./support.mjs";

const read = operation({ namespace: "files", name: "read", handler: () => "read" });
const write = operation({ namespace: "files", name: "write", handler: () => "written" });
const search = operation({ namespace: "web", name: "search", handler: () => "found" });
const page = operation({
  namespace: "web",
  name: "page",
  handler: () => "a page",
  type: OperationType.QUERY,
  _meta: { mcp: { resource: { uri: "web://page" } } },
});

const doors = {
  mcp: [
    { name: "all", instructions: "Everything." },
    { path: "/mcp/files", name: "files", instructions: "Files only.", operations: ["files.*"] },
    { path: "/mcp/read", operations: ({ name }) => name === "read" },
    { path: "/mcp/none", operations: [] },
  ],
};

async function clientAt(url, path) {
  const client = await createMCPClient("hub", { url: `${url}${path}` });
  after(() => client.close());
  return client;
}

const idsOf = ({ tools }) => tools.map(({ name }) => name).sort();

describe("several MCP doors", { timeout: 60_000 }, () => {
  it("each door has its own list, name and instructions", async () => {
    const { url } = await serving([read, write, search], { doors });
    const all = await clientAt(url, "/mcp");
    const files = await clientAt(url, "/mcp/files");
    const one = await clientAt(url, "/mcp/read");
    assert.deepEqual(idsOf(all), ["files_read", "files_write", "web_search"]);
    assert.deepEqual(idsOf(files), ["files_read", "files_write"]);
    assert.deepEqual(idsOf(one), ["files_read"]);
    assert.deepEqual(idsOf(await clientAt(url, "/mcp/none")), []);
    assert.deepEqual(
      [all, files, one].map(({ client }) => [client.serverInfo.name, client.instructions]),
      [
        ["all", "Everything."],
        ["files", "Files only."],
        ["all", undefined],
      ],
    );
  });

  it("what is not offered at a door cannot be called or read there, in either generation", async () => {
    const { url } = await serving([read, write, search, page], { doors });
    const files = await clientAt(url, "/mcp/files");
    const error = await failureOf(files.client.callTool({ name: "web_search", arguments: {} }));
    assert.match(error.message, /Unknown tool: web_search/);
    assert.ok(!error.message.includes("Did you mean web"));
    await assert.rejects(files.readResource("web://page"));
    const all = await clientAt(url, "/mcp");
    assert.equal((await all.readResource("web://page")).contents[0].text, "a page");
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "web_search" } };
    const response = await fetch(`${url}/mcp/files`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2025-06-18",
      },
      body: JSON.stringify(message),
    });
    assert.match((await response.json()).error.message, /Unknown tool/);
  });

  it("a change is announced at the doors that it concerns", async () => {
    const { url, registry } = await serving([read], { doors });
    const all = await clientAt(url, "/mcp");
    const files = await clientAt(url, "/mcp/files");
    let changes = 0;
    files.onToolsChanged(() => changes++);
    registry.register(search);
    await until(() => all.tools.length === 2, "all has it");
    registry.register(write);
    await until(() => files.tools.length === 2, "files has it");
    assert.equal(changes, 1);
  });

  it("a list that changes and changes back is announced, if a client may have read it in between", async () => {
    const { url, registry } = await serving([read, search], { doors });
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
    };
    const ask = (method, params = {}) => {
      const prefix = "io.modelcontextprotocol/";
      const _meta = { [`${prefix}protocolVersion`]: "2026-07-28", [`${prefix}clientCapabilities`]: {} };
      const message = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } };
      const body = JSON.stringify(message);
      return fetch(`${url}/mcp`, { method: "POST", headers: { ...headers, "mcp-method": method }, body });
    };
    const list = async () => (await (await ask("tools/list")).json()).result.tools.length;
    assert.equal(await list(), 2);
    const listening = await ask("subscriptions/listen", { notifications: { toolsListChanged: true } });
    const events = listening.body.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
    after(() => events.return());
    assert.match((await events.next()).value, /acknowledged/);
    registry.unregister("web.search");
    assert.equal(await list(), 1);
    registry.register(search);
    assert.match((await events.next()).value, /notifications\/tools\/list_changed/);
  });

  it("one door can choose its operations", async () => {
    const { url } = await serving([read, search], { doors: { mcp: { operations: ["web.*"] } } });
    assert.deepEqual(idsOf(await clientAt(url, "/mcp")), ["web_search"]);
  });

  it("a function that throws offers nothing", async () => {
    const operations = ({ name }) => {
      if (name === "write") throw new Error("no");
      return true;
    };
    const { url } = await serving([read, write], { doors: { mcp: { operations } } });
    assert.deepEqual(idsOf(await clientAt(url, "/mcp")), ["files_read"]);
  });

  it("doors that cannot be are refused by their place", async () => {
    for (const [mcp, words] of [
      [[], /doors\.mcp must have 1 to 31 doors, and has 0/],
      [[{}, {}], /doors\.mcp\.path is \/mcp, which is also the path of the door mcp/],
      [[{}, { path: "/b", tasks: false }], /doors\.mcp\[1\]\.tasks is the same at all MCP doors/],
      [[{ catalogue: "search" }, { path: "/b" }], /doors\.mcp\[0\]\.catalogue cannot be combined/],
      [{ catalogue: "search", operations: [] }, /doors\.mcp\.catalogue cannot be combined/],
      [[true], /doors\.mcp\[0\]/],
      [[{ operations: "files.*" }], /doors\.mcp\[0\]\.operations must be a list of ids and patterns/],
    ]) {
      const error = await failureOf(serve(new OperationRegistry(), { doors: { mcp } }));
      assert.equal(error.code, "VALIDATION_ERROR");
      assert.match(error.message, words);
    }
  });
});
