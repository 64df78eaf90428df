// One trace, from a served call through everything that it calls.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, createMCPClient, FromOpenAPI, OperationRegistry, subscribe } from "@alkdev/operations";
import { instrument } from "@alkdev/operations/otel";
import { serve } from "@alkdev/operations/serve";
import { toTools } from "@alkdev/operations/tools";
import { answers, documentOf, sendJson, serve as upstream } from "../http/support.mjs";
import { skip, useNats } from "../nats/support.mjs";
import { operation, post, serving } from "../serve/support.mjs";
import { CLIENT, exporter, idsOf, parentOf, SERVER, spanOf, spans, useSdk } from "./support.mjs";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: "vendor=1", baggage: "tenant=acme" };

const { measured } = useSdk();

const paths = {
  "/items/{id}": {
    get: {
      operationId: "item",
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      responses: answers(),
    },
  },
  "/events": { get: { operationId: "events", responses: answers("text/event-stream") } },
};

async function api() {
  return upstream((request, response) => {
    if (request.url.startsWith("/items/")) return sendJson(response, { id: 1 });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end("data: 1\n\ndata: 2\n\n");
  });
}

describe("a served call", () => {
  const broker = useNats();

  it("a served call is one trace through local, HTTP, SSE, MCP and NATS", { skip }, async (t) => {
    const items = await api();
    // A server of its own, for the tool.
    const tools = new OperationRegistry();
    tools.register(operation({ namespace: "far", name: "tool", handler: () => ({ done: true }) }));
    instrument(tools);
    const far = await serve(tools, { doors: { mcp: true } });
    const client = await createMCPClient("mcp", { url: `${far.url}/mcp` });
    // And a worker, for the call over NATS.
    const worker = new OperationRegistry();
    worker.register(operation({ namespace: "work", name: "do", handler: (input) => input }));
    instrument(worker);
    const [caller, served] = [await broker.connect(), await broker.connect()];
    await served.serve(worker);
    t.after(async () => {
      await Promise.all([client.close(), caller.close(), served.close()]);
      await far.close({ drain: 0 });
    });

    const { registry, url } = await serving([
      ...FromOpenAPI(documentOf(paths), { namespace: "api", baseUrl: items.url }),
      ...client.tools,
      operation({ namespace: "demo", name: "inner", handler: () => 1 }),
      operation({
        namespace: "demo",
        name: "all",
        type: "mutation",
        handler: async (_, { env, trace }) => {
          assert.deepEqual(trace, headers);
          await env.demo.inner({});
          await env.api.item({ id: "7" });
          for await (const event of subscribe(registry, "api.events", {})) assert.ok(event);
          await env.mcp.far_tool({});
          await caller.callMap.call("work.do", { n: 1 });
          return "done";
        },
      }),
    ]);
    instrument(registry);
    const response = await post(`${url}/api/demo/all`, {}, { headers });
    assert.equal(response.status, 200, await response.text());

    const server = spanOf("POST /api/demo/all");
    assert.equal(parentOf(server), PARENT);
    const { spanId } = idsOf(server);
    for (const name of ["demo.inner", "GET /items/{id}", "GET /events", "tools/call far_tool", "work/do"]) {
      const all = spans().filter((span) => span.name === name);
      assert.ok(all.length > 0, name);
      for (const span of all) assert.equal(idsOf(span).traceId, TRACE, name);
      assert.ok(
        all.some((span) => parentOf(span) === spanId),
        `${name} is a child of the served call`,
      );
    }
    // What left has the span that sent it as its parent, in the form of its protocol.
    const sent = items.received.map(({ url: path, headers: got }) => [path, got.traceparent, got.baggage]);
    const of = (name) => `00-${TRACE}-${idsOf(spanOf(name)).spanId}-01`;
    assert.deepEqual(sent, [
      ["/items/7", of("GET /items/{id}"), "tenant=acme"],
      ["/events", of("GET /events"), "tenant=acme"],
    ]);
    const [outer, inner] = ["CLIENT", "SERVER"].map((kind) =>
      spans().find(
        ({ name, kind: number }) =>
          name === "tools/call far_tool" && number === { CLIENT: 2, SERVER: 1 }[kind],
      ),
    );
    assert.equal(parentOf(inner), idsOf(outer).spanId);
    const rpc = spanOf("work/do", CLIENT);
    assert.equal(parentOf(rpc), spanId);
    assert.equal(parentOf(spanOf("work/do", SERVER)), idsOf(rpc).spanId);
  });
});

describe("spans", () => {
  it("spans of served calls have the route with its door, the scheme, and the status of the response", async () => {
    const { registry, url } = await serving([
      operation({ namespace: "demo", name: "ok", handler: () => 1 }),
      operation({ namespace: "demo", name: "nothing", handler: () => undefined }),
      operation({ namespace: "demo", name: "closed", accessControl: { requiredScopes: ["s"] } }),
      operation({
        namespace: "demo",
        name: "declared",
        errorSchemas: [{ code: "TEAPOT", httpStatus: 418 }],
        handler: () => {
          throw new CallError("TEAPOT", "short and stout");
        },
      }),
      operation({
        namespace: "demo",
        name: "broken",
        handler: () => {
          throw new CallError("EXECUTION_ERROR", "no");
        },
      }),
    ]);
    instrument(registry);
    for (const name of ["ok", "nothing", "closed", "declared", "broken"]) {
      const response = await post(`${url}/api/demo/${name}`, {});
      await response.text();
      const { attributes, status } = spanOf(`POST /api/demo/${name}`, SERVER);
      assert.equal(attributes["http.response.status_code"], response.status, name);
      assert.equal(attributes["http.route"], `/api/demo/${name}`);
      assert.equal(attributes["url.scheme"], "http");
      assert.equal(attributes["url.path"], `/api/demo/${name}`);
      // Only what is the server's fault is an error of the server.
      assert.equal(status.code, response.status >= 500 ? 2 : 0, name);
      assert.equal(attributes["error.type"], response.status >= 500 ? "EXECUTION_ERROR" : undefined, name);
    }
    const points = (await measured()).get("http.server.request.duration");
    const codes = points.map(({ attributes: of }) => of["http.response.status_code"]);
    for (const code of [200, 204, 401, 418, 500]) assert.ok(codes.includes(code), `${code}`);
  });

  it("spans have the attributes of the conventions", async () => {
    const items = await api();
    const { registry } = await serving(
      FromOpenAPI(documentOf(paths), { namespace: "api", baseUrl: items.url }),
    );
    instrument(registry);
    await registry.execute("api.item", { id: "7" }, { requestId: "r" });
    const port = Number(new URL(items.url).port);
    const client = spanOf("GET /items/{id}");
    assert.equal(client.kind, 2);
    const { "operations.request_id": requestId, ...attributes } = client.attributes;
    assert.equal(typeof requestId, "string");
    assert.deepEqual(attributes, {
      "operations.id": "api.item",
      "operations.kind": "query",
      "http.request.method": "GET",
      "url.template": "/items/{id}",
      "url.full": `${items.url}/items/7`,
      "server.address": "127.0.0.1",
      "server.port": port,
      "http.response.status_code": 200,
    });
    const points = (await measured()).get("http.client.request.duration");
    const [point] = points.filter(({ attributes: of }) => of["server.port"] === port);
    assert.equal(point.value.count, 1);
    assert.equal(point.attributes["operations.request_id"], undefined);
    assert.equal(point.attributes["url.full"], undefined);
  });

  it("spans of requests have a URL without its secrets", async () => {
    const items = await api();
    const parameters = ["q", "api_key", "sig"].map((name) => ({
      name,
      in: "query",
      schema: { type: "string" },
    }));
    const found = { "/items/found": { get: { operationId: "found", parameters, responses: answers() } } };
    const [, host] = items.url.split("//");
    const { registry, url } = await serving(
      FromOpenAPI(documentOf(found), {
        namespace: "api",
        baseUrl: `http://me:hunter21@${host}/?tenant=hunter22`,
        auth: { type: "bearer", token: "hunter23" },
        allowPrivateAddresses: true,
      }),
    );
    const input = { q: "a b", api_key: "hunter24", sig: "hunter25" };
    for (const isNative of [false, true]) {
      const stop = instrument(registry);
      if (isNative) await (await post(`${url}/api/api/found`, input)).text();
      else await registry.execute("api.found", input);
      stop();
      const { attributes } = spanOf("GET /items/found", CLIENT);
      assert.equal(
        attributes["url.full"],
        `${items.url}/items/found?tenant=REDACTED&q=a%20b&api_key=REDACTED&sig=REDACTED`,
      );
      assert.ok(!JSON.stringify(spans().map((span) => span.attributes)).includes("hunter"));
      exporter.reset();
    }
    assert.match(items.received[1].url, /hunter22.*hunter24.*hunter25/);
  });

  it("spans are not made twice: a registry is instrumented once at a time", async () => {
    const registry = new OperationRegistry();
    registry.register(operation({ namespace: "demo", name: "once" }));
    const stop = instrument(registry);
    assert.throws(
      () => instrument(registry),
      (error) =>
        error instanceof CallError &&
        /^instrument: this registry is instrumented already/.test(error.message),
    );
    stop();
    const again = instrument(registry);
    stop();
    assert.throws(() => instrument(registry), CallError, "the first function stops only what it started");
    exporter.reset();
    await registry.execute("demo.once", {});
    assert.equal(spans().length, 1);
    again();
  });

  it("spans of tools have the name that their callers know", async () => {
    const long = "a".repeat(80);
    const { registry, url } = await serving([operation({ namespace: "demo.long", name: long })], {
      doors: { mcp: true },
    });
    instrument(registry);
    const client = await createMCPClient("far", { url: `${url}/mcp` });
    const [{ name, handler }] = client.tools;
    await handler({}, {});
    await client.close();
    assert.notEqual(name, `demo.long_${long}`);
    assert.equal(spanOf(`tools/call ${name}`, SERVER).attributes["gen_ai.tool.name"], name);
    const { tools, call } = toTools(registry, { target: "anthropic" });
    await call(tools[0].name, {});
    const { attributes } = spanOf(`execute_tool ${tools[0].name}`);
    assert.equal(attributes["gen_ai.tool.name"], tools[0].name);
    assert.equal(attributes["operations.id"], `demo.long.${long}`);
  });
});
