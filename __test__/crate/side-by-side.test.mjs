// The hub of the crate for Rust programs next to that of the npm package: one list of requests, and the answers of both.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { connectHub } from "@alkdev/operations/transport-websocket";
import { Type } from "@sinclair/typebox";
import { compileExample, script, start, withoutCargo } from "./programs.mjs";

const PET = { type: "object", properties: { id: { type: "integer" }, name: { type: "string" } } };

/** An API with one operation that answers, and one that fails. */
const document = (url) => ({
  openapi: "3.1.0",
  info: { title: "Shop", version: "2.0.0" },
  servers: [{ url }],
  paths: {
    "/pets/{id}": {
      get: {
        operationId: "getPet",
        summary: "Get a pet",
        tags: ["pets"],
        parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
        responses: { 200: { description: "A pet", content: { "application/json": { schema: PET } } } },
      },
    },
    "/orders": {
      post: {
        operationId: "addOrder",
        requestBody: {
          content: { "application/json": { schema: { type: "object", properties: { pet: PET } } } },
        },
        responses: { 201: { description: "Added" }, 409: { description: "Sold out" } },
      },
    },
  },
});

async function startShop() {
  const server = createServer((request, response) => {
    const { port } = server.address();
    const answer = (status, value) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    };
    if (request.url === "/openapi.json") answer(200, document(`http://127.0.0.1:${port}`));
    else if (request.url === "/pets/1") answer(200, { id: 1, name: "Ada" });
    else answer(409, { reason: "sold out" });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}/openapi.json`, close: () => server.close() };
}

const SHOWN = ["content-type", "www-authenticate", "allow", "cache-control", "link", "retry-after", "vary"];
const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g;

/** An answer without what differs from one process, or one request, to the next. */
async function answerOf(origin, path, { body, ...options } = {}) {
  const response = await fetch(origin + path, {
    method: body === undefined ? "GET" : "POST",
    ...options,
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...options.headers,
    },
  });
  const text = asJsonSchema(await response.text())
    .replaceAll(origin, "http://hub")
    .replaceAll(UUID, "<id>")
    .replaceAll(/"timestamp":\d+(\.\d+)?/g, '"timestamp":0')
    .replaceAll(/"date":"[^"]*"/g, '"date":""');
  const headers = SHOWN.map((name) => [name, response.headers.get(name)]);
  return { status: response.status, headers: Object.fromEntries(headers), body: parsed(text) };
}

/** Of a property that is missing, TypeBox says that, and that it is not of its type. JSON Schema says it once. */
function asJsonSchema(text) {
  return text
    .replaceAll(/(\\n {2}- (\/\w+): Expected required property)\\n {2}- \2: Expected \w+/g, "$1")
    .replaceAll(
      /(\{"path":"(\/\w+)","message":"Expected required property"\}),\{"path":"\2","message":"Expected \w+"\}/g,
      "$1",
    );
}

/** JSON, and JSON in events, as values: the order of members means nothing. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text.split("\n").map((line) => {
      const [, field, value] = /^(data): ?(.*)$/.exec(line) ?? [];
      return field === undefined ? line : { [field]: parsed(value) };
    });
  }
}

const ada = { authorization: "Bearer ada-token" };
const bob = { authorization: "Bearer bob-token" };

const HTTP = {
  "a call": ["/api/tasks/add", { headers: ada, body: { title: "Water the plants" } }],
  "a query": ["/api/tasks/get?id=1"],
  "an error that is declared": ["/api/tasks/get", { body: { id: 99 } }],
  "an error that callers should not read": ["/api/tasks/fail", { body: { to: 1 } }],
  "an input that does not fit": ["/api/tasks/get", { body: { id: "one" } }],
  "an input with several mistakes": ["/api/tasks/add", { headers: ada, body: { title: "" } }],
  "no input": ["/api/tasks/get", { body: "" }],
  "an input without a property": ["/api/tasks/get", { body: {} }],
  "an input that is no JSON": ["/api/tasks/get", { body: "{" }],
  "an input of another type": ["/api/tasks/get", { body: "id=1", headers: { "content-type": "text/plain" } }],
  "a caller without a token": ["/api/tasks/add", { body: { title: "x" } }],
  "a caller without the scope": ["/api/tasks/add", { headers: bob, body: { title: "x" } }],
  "a token that is none": ["/api/tasks/get?id=1", { headers: { authorization: "Bearer unknown" } }],
  "an operation that is not there": ["/api/tasks/gets", { body: {} }],
  "a mutation by GET": ["/api/tasks/add?title=x", { headers: ada }],
  "a method that is not spoken": ["/api/tasks/get", { method: "DELETE" }],
  "a path that is not there": ["/elsewhere"],
  "a stream": ["/api/tasks/count?to=3"],
  "a stream with an input that does not fit": ["/api/tasks/count?to=x"],
  "a tool": ["/api/notes/find_notes", { body: { text: "letter" } }],
  "a tool with an input that does not fit": ["/api/notes/find_notes", { body: { text: 1 } }],
  "a tool that fails": ["/api/notes/tick_note", { body: { id: 99 } }],
  "an imported operation": ["/api/shop/getPet", { body: { id: 1 } }],
  "an imported operation that fails": ["/api/shop/addOrder", { body: { body: {} } }],
  "an operation of a spoke": ["/api/laptop/read", { body: { path: "/a" } }],
  "an operation of a spoke that fails": ["/api/laptop/read", { body: { path: "" } }],
  "the document": ["/api/openapi.json"],
  "the document for a caller with scopes": ["/api/openapi.json", { headers: ada }],
};

const call = (name, input, more) => ({ method: "tools/call", params: { name, arguments: input, ...more } });
const MCP = {
  initialize: {
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    },
  },
  ping: { method: "ping" },
  "the tools": { method: "tools/list" },
  "the resources": { method: "resources/list" },
  "the prompts": { method: "prompts/list" },
  "a call of a tool": call("tasks_get", { id: 1 }),
  "a tool that is not allowed": call("tasks_add", { title: "x" }),
  "a tool that is not there": call("tasks_gets", {}),
  "a tool with an input that does not fit": call("tasks_get", { id: "one" }),
  "a tool without an input": call("tasks_get"),
  "an error that is declared": call("tasks_get", { id: 99 }),
  "an error that callers should not read": call("tasks_fail", { to: 1 }),
  "a tool of an MCP server": call("notes_find_notes", { text: "letter" }),
  "a tool of an MCP server that fails": call("notes_tick_note", { id: 99 }),
  "an imported operation": call("shop_getPet", { id: 1 }),
  "an imported operation that fails": call("shop_addOrder", { body: {} }),
  "an operation of a spoke": call("laptop_read", { path: "/a" }),
  "a method that is not there": { method: "tools/lists" },
  "parameters that are none": { method: "tools/call", params: { name: 1 } },
};

describe("the hub in Rust and the hub of the npm package", { skip: withoutCargo() }, () => {
  let shop;
  const hubs = [];
  const spokes = [];

  before(async () => {
    shop = await startShop();
    const args = [script("mcp-server.mjs"), shop.url];
    hubs.push(await start(compileExample("hub"), args));
    hubs.push(await start(process.execPath, [script("hub.mjs"), ...args]));
    for (const { line } of hubs) {
      const spoke = await connectHub(`${line}/hub`.replace("http", "ws"), {
        name: "laptop",
        token: "ada-token",
      });
      spokes.push(spoke);
      assert.deepEqual(await spoke.serve(laptop()), { operations: ["laptop.read"] });
    }
  });

  after(async () => {
    for (const spoke of spokes) await spoke.close();
    const ends = await Promise.all(hubs.map((hub) => hub.stop()));
    shop?.close();
    if (process.platform !== "win32") {
      for (const end of ends) assert.deepEqual(end, { code: 0, signal: null });
    }
  });

  async function compare(path, options) {
    const [rust, npm] = await Promise.all(hubs.map(({ line }) => answerOf(line, path, options)));
    assert.deepEqual(rust, npm);
    return rust;
  }

  for (const [title, [path, options]] of Object.entries(HTTP)) {
    it(`${title} has the same answer over HTTP`, async () => {
      const { body } = await compare(path, options);
      assert.ok(!JSON.stringify(body).includes("hunter2"));
    });
  }

  for (const [title, message] of Object.entries(MCP)) {
    it(`${title} has the same answer over MCP`, async () => {
      const body = { jsonrpc: "2.0", id: 1, ...message };
      const headers = message.method === "initialize" ? {} : { "mcp-protocol-version": "2025-06-18" };
      const { body: answer } = await compare("/mcp", { body, headers });
      assert.equal(answer.jsonrpc, "2.0");
    });
  }
});

function laptop() {
  const registry = new OperationRegistry();
  registry.register({
    namespace: "files",
    name: "read",
    version: "1.2.0",
    type: "query",
    description: "Reads a file",
    inputSchema: Type.Object({ path: Type.String() }),
    outputSchema: Type.Object({ text: Type.String() }),
    accessControl: { requiredScopes: [] },
    handler({ path }) {
      if (path === "") throw new Error("ENOENT: the secret path");
      return { text: `content of ${path}` };
    },
  });
  return registry;
}
