// A registry as an MCP server: an independent client (the SDK), ours, and messages by hand.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { CallError, createMCPClient } from "@alkdev/operations";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { Type } from "@sinclair/typebox";
import { connected } from "./support/mcp-client.mjs";
import { deferred, operation, serving, subscription } from "./support.mjs";

const OPERATION = "alkdev.operations/operation";
const ERROR = "alkdev.operations/error";

const add = operation({
  namespace: "math",
  name: "add",
  description: "Adds",
  inputSchema: Type.Object({ a: Type.Number(), b: Type.Number() }),
  outputSchema: Type.Object({ sum: Type.Number() }),
  handler: ({ a, b }) => ({ sum: a + b }),
});

const list = operation({
  namespace: "math",
  name: "list",
  type: "mutation",
  inputSchema: Type.Object({ count: Type.Integer() }),
  outputSchema: Type.Array(Type.Integer()),
  handler: ({ count }) => Array.from({ length: count }, (_, index) => index),
});

/** Serves operations at the MCP door. */
function mcp(operations, options = {}) {
  return serving(operations, { doors: { mcp: { name: "test", version: "1.2.3" } }, ...options });
}

describe("the MCP door, with the SDK's client", () => {
  it("the MCP door lists tools and calls them", async () => {
    const served = await mcp([add, list, subscription({ namespace: "math", name: "stream" })]);
    const client = await connected(served);
    assert.deepEqual(client.getServerVersion(), { name: "test", version: "1.2.3" });
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["math_add", "math_list"],
    );
    const [added] = tools;
    assert.equal(added.annotations.readOnlyHint, true);
    assert.equal(added._meta[OPERATION].id, "math.add");
    assert.deepEqual(added.inputSchema, JSON.parse(JSON.stringify(add.inputSchema)));
    const result = await client.callTool({ name: "math_add", arguments: { a: 1, b: 2 } });
    assert.deepEqual(result.structuredContent, { sum: 3 });
    assert.deepEqual(result.content, [{ type: "text", text: '{"sum":3}' }]);
    // The client checks this against the declared schema.
    const wrapped = await client.callTool({ name: "math_list", arguments: { count: 2 } });
    assert.deepEqual(wrapped.structuredContent, { result: [0, 1] });
    await client.ping();
  });

  it("the MCP door shows a model what is wrong with its arguments", async () => {
    const served = await mcp([add]);
    const client = await connected(served);
    const result = await client.callTool({ name: "math_add", arguments: { a: "x", b: 2 } });
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /\/a/);
    assert.equal(result._meta[ERROR].code, "VALIDATION_ERROR");
    await assert.rejects(client.callTool({ name: "no_such" }), { code: -32602 });
  });

  it("the MCP door masks errors that were not declared", async () => {
    const handler = ({ code }) => {
      // What is no error has no message that was meant for anybody.
      throw code === undefined ? { password: "s3cret" } : new CallError(code, "it is gone");
    };
    const fails = operation({
      namespace: "x",
      name: "fails",
      handler,
      errorSchemas: [{ code: "GONE", schema: {} }],
    });
    const client = await connected(await mcp([fails]));
    const masked = await client.callTool({ name: "x_fails", arguments: {} });
    assert.equal(masked.isError, true);
    assert.ok(!JSON.stringify(masked).includes("s3cret"));
    const declared = await client.callTool({ name: "x_fails", arguments: { code: "GONE" } });
    assert.equal(declared._meta[ERROR].code, "GONE");
    assert.equal(declared.content[0].text, "it is gone");
  });

  it("the MCP door shows callers what they may call, and refuses the rest by status", async () => {
    const open = operation({ namespace: "x", name: "open" });
    const closed = operation({
      namespace: "x",
      name: "closed",
      accessControl: { requiredScopes: ["admin"] },
    });
    const tokens = { ada: { id: "ada", scopes: ["admin"] }, bob: { id: "bob", scopes: [] } };
    const served = await mcp([open, closed], { tokens, anonymous: true });
    const names = async (headers) =>
      (await (await connected(served, headers)).listTools()).tools.map(({ name }) => name);
    assert.deepEqual(await names({}), ["x_open"]);
    assert.deepEqual(await names({ authorization: "Bearer bob" }), ["x_open"]);
    assert.deepEqual(await names({ authorization: "Bearer ada" }), ["x_open", "x_closed"]);
    const call = (headers) => post(served, "tools/call", { name: "x_closed", arguments: {} }, headers);
    assert.equal((await call({})).status, 401);
    const refused = await call({ authorization: "Bearer bob" });
    assert.equal(refused.status, 403);
    assert.match(refused.headers.get("www-authenticate"), /insufficient_scope.*scope="admin"/);
    assert.equal((await call({ authorization: "Bearer ada" })).status, 200);
  });

  it("the MCP door follows rules that are replaced or added", async () => {
    const changing = operation({
      namespace: "x",
      name: "changing",
      accessControl: { requiredScopes: ["a"] },
    });
    const served = await mcp([changing]);
    const client = await connected(served);
    assert.deepEqual((await client.listTools()).tools, []);
    served.registry.register({ ...changing, accessControl: { requiredScopes: [] } });
    assert.equal((await client.listTools()).tools.length, 1);
    const take = served.registry.protect("x.*", { requiredScopes: [], requiredScopesAny: ["b"] });
    assert.deepEqual((await client.listTools()).tools, []);
    take();
    assert.equal((await client.listTools()).tools.length, 1);
  });

  it("the MCP door notifies clients when the list changes", async () => {
    const served = await mcp([add]);
    const client = await connected(served);
    const { promise, resolve } = deferred();
    client.setNotificationHandler(ToolListChangedNotificationSchema, resolve);
    // The client opens its stream when it has connected, and does not say when that stands.
    const again = setInterval(() => {
      served.registry.unregister("math.list");
      served.registry.register(list);
    }, 300);
    try {
      await promise;
    } finally {
      clearInterval(again);
    }
    const { tools } = await client.listTools();
    assert.equal(tools.length, 2);
  });

  it("the MCP door notifies clients of the progress of a call", async () => {
    const handler = (_, { onProgress }) => {
      onProgress(1, 2, "half");
      onProgress({ progress: 2 });
      return "done";
    };
    const client = await connected(await mcp([operation({ namespace: "x", name: "slow", handler })]));
    const heard = [];
    const result = await client.callTool({ name: "x_slow", arguments: {} }, undefined, {
      onprogress: (progress) => heard.push(progress),
    });
    assert.deepEqual(heard, [{ progress: 1, total: 2, message: "half" }, { progress: 2 }]);
    assert.deepEqual(result.structuredContent, { result: "done" });
  });

  it("the MCP door ends a call that the client cancels", async () => {
    const began = deferred();
    const ended = deferred();
    const handler = (_, { signal }) => {
      signal.addEventListener("abort", ended.resolve);
      began.resolve();
      return ended.promise;
    };
    const client = await connected(await mcp([operation({ namespace: "x", name: "waits", handler })]));
    const controller = new AbortController();
    const call = client.callTool({ name: "x_waits", arguments: {} }, undefined, {
      signal: controller.signal,
    });
    call.catch(() => {});
    await began.promise;
    controller.abort();
    await ended.promise;
    await assert.rejects(call);
  });
});

describe("the MCP door, with our own client", () => {
  it("schemas and data come back unchanged through our own MCP client", async () => {
    const served = await mcp([add, list]);
    const client = await createMCPClient("far", { url: `${served.url}/mcp`, keepIds: true });
    after(() => client.close());
    const byName = new Map(client.tools.map((tool) => [tool.name, tool]));
    for (const original of [add, list]) {
      const tool = byName.get(original.name);
      for (const field of ["inputSchema", "outputSchema"]) {
        assert.deepEqual(
          JSON.parse(JSON.stringify(tool[field])),
          JSON.parse(JSON.stringify(original[field])),
        );
      }
      assert.equal(tool.description, original.description);
      assert.equal(tool.namespace, "math");
      assert.equal(tool.type, original.type);
    }
    const { data } = await byName.get("list").handler({ count: 3 }, {});
    assert.deepEqual(data, [0, 1, 2]);
  });
});

describe("serveStdio", () => {
  it("serveStdio talks with the SDK's client until that disconnects", async () => {
    const program = fileURLToPath(new URL("./support/stdio-server.mjs", import.meta.url));
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [program] }));
    assert.deepEqual(client.getServerVersion(), { name: "stdio", version: "0.1.0" });
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["demo_greet", "demo_who"],
    );
    const greeted = await client.callTool({ name: "demo_greet", arguments: { name: "Ada" } });
    assert.deepEqual(greeted.structuredContent, { text: "Hello, Ada" });
    const who = await client.callTool({ name: "demo_who", arguments: {} });
    assert.deepEqual(who.structuredContent, { result: "me" });
    await client.close();
  });

  it("serveStdio finishes running calls when it is closed, and begins no more", async () => {
    const script = `
      import { OperationRegistry } from "@alkdev/operations";
      import { serveStdio } from "@alkdev/operations/serve";
      import { Type } from "@sinclair/typebox";
      const registry = new OperationRegistry();
      const served = await serveStdio(registry, { name: "stdio", version: "1" });
      registry.register({
        namespace: "demo", name: "close", version: "1.0.0", type: "query", description: "Closes the server",
        inputSchema: Type.Object({}), outputSchema: Type.String(), accessControl: { requiredScopes: [] },
        handler: async () => {
          const closed = served.close().then(() => process.stderr.write("closed"));
          await new Promise((resolve) => setTimeout(resolve, 50));
          return "done";
        },
      });
    `;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      cwd: fileURLToPath(new URL("../..", import.meta.url)),
    });
    const message = (id, method, params) => `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
    child.stdin.write(message(1, "initialize", { protocolVersion: "2025-06-18" }));
    child.stdin.write(message(2, "tools/call", { name: "demo_close", arguments: {} }));
    let [said, errors] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (data) => {
      said += data;
    });
    child.stderr.setEncoding("utf8").on("data", (data) => {
      errors += data;
    });
    // Its input stays open: it ends because it was closed.
    const [code] = await once(child, "close");
    assert.equal(code, 0, errors);
    assert.equal(errors, "closed");
    const answers = said
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(answers.find(({ id }) => id === 2).result.structuredContent, { result: "done" });
  });
});

/** One message by hand. */
function post(served, method, params, headers = {}) {
  return fetch(`${served.url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
}
