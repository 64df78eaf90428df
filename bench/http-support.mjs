// What the http and sse benchmarks share: a server, a document, and the same pipeline twice.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { FromOpenAPI, httpEnvelope, OperationRegistry } from "@alkdev/operations";
import { EventSourceParserStream } from "eventsource-parser/stream";

/** Starts the server; `stop` ends it. */
export async function startServer() {
  const file = fileURLToPath(new URL("http-server.mjs", import.meta.url));
  const child = fork(file, { stdio: ["ignore", "pipe", "inherit", "ipc"] });
  const [line] = await once(child.stdout, "data");
  return { baseUrl: `http://127.0.0.1:${Number(line)}`, stop: () => child.disconnect() };
}

const json = { 200: { description: "fine", content: { "application/json": { schema: {} } } } };
const stream = { 200: { description: "fine", content: { "text/event-stream": { schema: {} } } } };
const count = { name: "count", in: "query", schema: { type: "integer" } };
const body = { content: { "application/json": { schema: { type: "object" } } } };
const spec = {
  openapi: "3.1.0",
  info: { title: "bench", version: "1" },
  paths: {
    "/small": {
      get: { operationId: "small", responses: json },
      post: { operationId: "post", requestBody: body, responses: json },
    },
    "/large": { get: { operationId: "large", responses: json } },
    "/events": { get: { operationId: "events", parameters: [count], responses: stream } },
  },
};

/** Two registries with the same operations: ours, and the same ones with handlers on Node's `fetch`. */
export function registries(baseUrl) {
  const operations = FromOpenAPI(spec, { namespace: "bench", baseUrl });
  const native = new OperationRegistry();
  native.registerAll(operations);
  const reference = new OperationRegistry();
  for (const operation of operations) {
    const { method, path } = operation._meta;
    const handler = operation.type === "subscription" ? streamHandler : callHandler;
    reference.register({ ...operation, handler: handler(`${baseUrl}${path}`, method) });
  }
  return { native, reference };
}

/** What the TypeScript package does. */
function callHandler(url, method) {
  return async (input) => {
    const { body: content, ...query } = input;
    const search = new URLSearchParams(query).toString();
    const response = await fetch(search === "" ? url : `${url}?${search}`, {
      method,
      headers: { accept: "application/json", ...(content && { "content-type": "application/json" }) },
      body: content && JSON.stringify(content),
    });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return httpEnvelope(await response.json(), metaOf(response));
  };
}

/** `fetch` and the parser that most packages use. */
function streamHandler(url) {
  return async function* (input) {
    const search = new URLSearchParams(input).toString();
    const response = await fetch(`${url}?${search}`, { headers: { accept: "text/event-stream" } });
    const meta = metaOf(response);
    const events = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream());
    for await (const { data, event, id } of events) {
      yield httpEnvelope(parsed(data), { ...meta, sse: { event: event ?? "message", id: id ?? "" } });
    }
  };
}

function parsed(data) {
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}

function metaOf(response) {
  const headers = Object.fromEntries(response.headers);
  return { statusCode: response.status, headers, contentType: headers["content-type"] ?? "" };
}
