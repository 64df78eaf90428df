// Servers that speak HTTP+SSE of 2024-11-05.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { describe, it } from "node:test";
import { createMCPClient } from "@alkdev/operations";
import { defer } from "./support/defer.mjs";
import { startHTTPServer } from "./support/http-server.mjs";
import { until } from "./support/processes.mjs";
import { Conversation } from "./support/protocol.mjs";
import { connected, failure } from "./support/servers.mjs";

const require = createRequire(import.meta.url);

async function listening(test, handle) {
  const requests = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url.replace(/=.*/, "")}`);
    handle(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  defer(test, () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${server.address().port}/sse`, requests, server };
}

/** A server by hand, which can say anything. `endpoint` is what it names as the address for messages. */
async function legacy(test, { traits = [], endpoint = "/messages?session=1", headers = () => true } = {}) {
  let stream;
  const open = new Set();
  const send = (message) => stream.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  const conversation = new Conversation({ traits: new Set(traits), send });
  const started = await listening(test, async (request, response) => {
    if (!headers(request.headers)) return response.writeHead(403).end();
    if (request.method === "GET" && request.url === "/sse") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      stream = response;
      open.add(response);
      response.on("close", () => open.delete(response));
      return endpoint !== null && response.write(`event: endpoint\ndata: ${endpoint}\n\n`);
    }
    if (request.method !== "POST" || !request.url.startsWith("/messages")) {
      return response.writeHead(404).end(`Cannot ${request.method} ${request.url}`);
    }
    let body = "";
    for await (const piece of request) body += piece;
    response.writeHead(202).end("Accepted");
    conversation.take(JSON.parse(body));
  });
  return { ...started, conversation, open, cut: () => stream.destroy() };
}

describe("HTTP+SSE", { timeout: 60_000 }, () => {
  it("a server that asks without reading the answers does not use up the connections of the host", async (t) => {
    let stream;
    let answers = 0;
    const send = (message) => stream.write(`data: ${JSON.stringify(message)}\n\n`);
    const conversation = new Conversation({ traits: new Set(), send });
    const { url } = await listening(t, async (request, response) => {
      if (request.method === "GET") {
        stream = response.writeHead(200, { "content-type": "text/event-stream" });
        return stream.write("event: endpoint\ndata: /messages\n\n");
      }
      if (request.url === "/sse") return response.writeHead(404).end();
      let body = "";
      for await (const piece of request) body += piece;
      const message = JSON.parse(body);
      // An answer to a ping is left without a response.
      if (message.method === undefined) answers += 1;
      else {
        response.writeHead(202).end();
        conversation.take(message);
      }
    });
    const { call } = await connected(t, { url });
    for (let id = 0; id < 2_000; id++) send({ jsonrpc: "2.0", id: `p${id}`, method: "ping" });
    assert.equal((await call("echo", { text: "x" })).data[0].text, "x");
    assert.ok(answers >= 1 && answers <= 64, `${answers}`);
  });

  it("HTTP+SSE is found by itself: a server of the official SDK", async (t) => {
    const { McpServer } = require("@modelcontextprotocol/sdk/server/mcp.js");
    const { SSEServerTransport } = require("@modelcontextprotocol/sdk/server/sse.js");
    const transports = new Map();
    const { url, requests } = await listening(t, async (request, response) => {
      const { pathname, searchParams } = new URL(request.url, "http://x");
      if (request.method === "GET" && pathname === "/sse") {
        const server = new McpServer({ name: "old", version: "1.0.0" });
        server.registerTool("greet", { description: "Greets" }, () => ({
          content: [{ type: "text", text: "hello" }],
        }));
        const transport = new SSEServerTransport("/messages", response);
        transports.set(transport.sessionId, transport);
        return server.connect(transport);
      }
      if (request.method !== "POST" || pathname !== "/messages") return response.writeHead(404).end("no");
      return transports.get(searchParams.get("sessionId")).handlePostMessage(request, response);
    });
    const { call } = await connected(t, { url });
    assert.equal((await call("greet")).data[0].text, "hello");
    assert.deepEqual(requests.slice(0, 3), ["POST /sse", "POST /sse", "GET /sse"]);
  });

  it("HTTP+SSE carries progress, questions, changes and headers, and closes its stream", async (t) => {
    const headers = ({ authorization }) => authorization === "Bearer x";
    const server = await legacy(t, { headers });
    const config = {
      url: server.url,
      transport: "sse",
      headers: { authorization: "Bearer x" },
      onElicitation: () => ({ action: "accept", content: { name: "Ada" } }),
    };
    const { wrapper, call, ask } = await connected(t, config);
    assert.equal(server.requests[0], "GET /sse");
    const seen = [];
    await call("wait", { steps: 2 }, { onProgress: ({ progress }) => seen.push(progress) });
    assert.deepEqual(seen, [1, 2]);
    assert.equal((await ask("elicit")).result.content.name, "Ada");
    await call("learn", { name: "juggle", description: "new" });
    await until(() => wrapper.tools.some(({ name }) => name === "juggle"), "the tool is there");
    await wrapper.close();
    await until(() => server.open.size === 0, "the stream is closed");
  });

  it("a stream that ends is a lost connection, and the next call opens another", async (t) => {
    const server = await legacy(t);
    const { call } = await connected(t, { url: server.url });
    const waiting = failure(call("never"));
    await until(
      () => server.conversation.received.some(({ params }) => params?.name === "never"),
      "it is there",
    );
    server.cut();
    const error = await waiting;
    assert.deepEqual([error.details.reason, error.details.delivery], ["connection-lost", "unknown"]);
    assert.equal((await call("echo", { text: "again" })).data[0].text, "again");
  });

  it("an address for messages at another server gets nothing", async (t) => {
    const thief = await listening(t, (_, response) => response.end());
    const server = await legacy(t, { endpoint: thief.url });
    const error = await failure(createMCPClient("s", { url: server.url, transport: "sse" }));
    assert.match(error.message, /at another server/);
    assert.deepEqual(thief.requests, []);
    await until(() => server.open.size === 0, "the stream is closed");
  });

  it("a server that speaks neither is reported by what it answered to the newer one", async (t) => {
    const { url } = await listening(t, (_, response) => response.writeHead(404).end("nothing here"));
    const error = await failure(createMCPClient("s", { url }));
    assert.match(error.message, /404.*nothing here/);
  });

  it("`transport` forces one", async (t) => {
    const old = await legacy(t);
    assert.match((await failure(createMCPClient("s", { url: old.url, transport: "http" }))).message, /404/);
    assert.ok(!old.requests.includes("GET /sse"));
    const { url, requests } = await startHTTPServer(t);
    await connected(t, { url, transport: "http" });
    const before = requests.length;
    await failure(createMCPClient("s", { url, transport: "sse" }));
    assert.deepEqual(
      requests.slice(before).map(({ method }) => method),
      ["GET"],
    );
  });

  it("a stream that names no address, or says too much, does not hold us up", async (t) => {
    const silent = await legacy(t, { endpoint: null });
    const config = { url: silent.url, transport: "sse", connectTimeout: 500 };
    assert.equal((await failure(createMCPClient("s", config))).code, "TIMEOUT");
    await until(() => silent.open.size === 0, "the stream is closed");
    const large = await listening(t, (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`data: ${"x".repeat(100_000)}`);
    });
    const small = { url: large.url, transport: "sse", maxResultBytes: 2_048 };
    assert.match((await failure(createMCPClient("s", small))).message, /does not begin with the address/);
  });
});
