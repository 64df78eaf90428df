// Calls that are done without JavaScript are in the trace: their spans are made afterwards, under the ids that were sent on.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { createMCPClient, FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { instrument } from "@alkdev/operations/otel";
import { serve } from "@alkdev/operations/serve";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  ParentBasedSampler,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { answers, documentOf, sendJson, serve as upstream } from "../http/support.mjs";
import { skip, until, useNats } from "../nats/support.mjs";
import { operation, post, serving } from "../serve/support.mjs";
import { authorizationServer, SECRET } from "../support/introspection-server.mjs";
import { exporter, idsOf, parentOf, provider, spanOf, spans, useSdk } from "./support.mjs";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: "vendor=1", baggage: "tenant=acme" };

const { measured } = useSdk();

const parameters = [{ name: "id", in: "path", required: true, schema: { type: "string" } }];
const paths = {
  "/items/{id}": { get: { operationId: "item", parameters, responses: answers() } },
  "/events": { get: { operationId: "events", responses: answers("text/event-stream") } },
};

const api = await upstream((request, response) => {
  if (request.url === "/items/missing") return sendJson(response, {}, 404);
  if (request.url.startsWith("/items/")) return sendJson(response, { id: 1 });
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end("data: 1\n\ndata: 2\n\n");
  return undefined;
});
const operations = () => FromOpenAPI(documentOf(paths), { namespace: "api", baseUrl: api.url });

/** Serves a registry that is instrumented, and tells which of its calls were native. */
async function instrumented(given, options) {
  const served = await serving(given);
  const native = [];
  served.registry.on("call", ({ isNative }) => void native.push(isNative));
  const stop = instrument(served.registry, options);
  return Object.assign(served, { native, stop });
}

const attributesOf = ({ attributes }) => {
  const { "operations.request_id": _, "server.port": port, ...rest } = attributes;
  return rest;
};

describe("a native call", () => {
  it("no span has the token of a caller, a claim, or the secret that asks about tokens, whether the call is granted or denied", async () => {
    const server = await authorizationServer({ "token-of-ada": { sub: "ada", tenant: "claim-of-ada" } });
    const registry = new OperationRegistry();
    registry.registerAll(operations());
    registry.protect("api.item", { requiredScopes: [], when: { "input.id": "7" } });
    const stop = instrument(registry);
    const introspection = { ...server.options, claims: { keep: ["tenant"] } };
    const served = await serve(registry, { doors: { http: true }, introspection });
    const statuses = [];
    for (const [token, id] of [
      ["token-of-ada", "7"],
      ["token-of-ada", "8"],
      ["token-of-eve", "7"],
    ]) {
      const authorization = `Bearer ${token}`;
      const response = await post(`${served.url}/api/api/item`, { id }, { headers: { authorization } });
      statuses.push(response.status);
    }
    assert.deepEqual(statuses, [200, 403, 401]);
    await served.close();
    await until(() => spans().length >= 2);
    const text = inspect(spans(), { depth: 8 });
    assert.match(text, /api\.item/);
    for (const secret of ["token-of", "claim-of-ada", SECRET]) assert.ok(!text.includes(secret), text);
    stop();
  });

  it("a native call has a span for what came in and one for what was sent on, with the ids that upstream got", async () => {
    const { url, native, stop } = await instrumented(operations());
    api.received.length = 0;
    const before = Date.now();
    const response = await post(`${url}/api/api/item`, { id: "7" }, { headers });
    assert.equal(response.status, 200, await response.text());
    stop();
    assert.deepEqual(native, [true]);
    const [server, client] = [spanOf("POST /api/api/item"), spanOf("GET /items/{id}")];
    assert.deepEqual([server.kind, client.kind], [1, 2]);
    assert.deepEqual([parentOf(server), parentOf(client)], [PARENT, idsOf(server).spanId]);
    assert.deepEqual([idsOf(server).traceId, idsOf(client).traceId], [TRACE, TRACE]);
    const [{ headers: got }] = api.received;
    assert.equal(got.traceparent, `00-${TRACE}-${idsOf(client).spanId}-01`);
    assert.deepEqual([got.tracestate, got.baggage], ["vendor=1", "tenant=acme"]);
    const millis = ([seconds, nanos]) => seconds * 1e3 + nanos / 1e6;
    const [from, to] = [millis(server.startTime), millis(server.endTime)];
    assert.ok(from >= before - 1 && to <= Date.now() + 1);
    assert.ok(millis(client.startTime) >= from && millis(client.endTime) <= to);
    const points = await measured();
    assert.ok(
      points.get("http.server.request.duration").some((p) => p.attributes["operations.id"] === "api.item"),
    );
    assert.ok(
      points.get("http.client.request.duration").some((p) => p.attributes["operations.id"] === "api.item"),
    );
  });

  it("a native call has the spans and attributes that it has in JavaScript", async () => {
    const calls = async ({ url }) => {
      for (const [path, input] of [
        ["api/item", { id: "7" }],
        ["api/item", { id: "missing" }],
        ["api/events", {}],
      ]) {
        const response = await post(`${url}/api/${path}`, input, { headers });
        await response.text();
      }
    };
    const native = await instrumented(operations());
    await calls(native);
    native.stop();
    assert.deepEqual(native.native, [true, true, true]);
    const natively = spans().map((span) => [span.name, span.kind, span.status, attributesOf(span)]);
    exporter.reset();
    const script = await instrumented(operations());
    script.registry.use((_, next) => next());
    await calls(script);
    script.stop();
    assert.deepEqual(script.native, [false, false, false]);
    assert.deepEqual(
      natively,
      spans().map((span) => [span.name, span.kind, span.status, attributesOf(span)]),
    );
    assert.equal(natively.length, 6);
    const urls = natively
      .map(([, , , attributes]) => attributes["url.full"])
      .filter((url) => url !== undefined);
    assert.deepEqual(urls, [`${api.url}/items/7`, `${api.url}/items/missing`, `${api.url}/events`]);
  });

  it("a native call begins a trace if its caller brings no trace", async () => {
    const { url, stop } = await instrumented(operations());
    api.received.length = 0;
    await (await post(`${url}/api/api/item`, { id: "7" })).text();
    stop();
    const [server, client] = [spanOf("POST /api/api/item"), spanOf("GET /items/{id}")];
    assert.equal(parentOf(server), undefined);
    assert.equal(idsOf(client).traceId, idsOf(server).traceId);
    assert.equal(
      api.received[0].headers.traceparent,
      `00-${idsOf(server).traceId}-${idsOf(client).spanId}-01`,
    );
  });

  it("a native call is sampled like others: once the sampler has dropped a trace, it decides before one begins", async () => {
    const decided = [];
    // Every other new trace is recorded.
    const root = {
      shouldSample: () => ({ decision: decided.push("asked") % 2 === 0 ? 2 : 0 }),
      toString: () => "",
    };
    const memory = new InMemorySpanExporter();
    const sampled = new BasicTracerProvider({
      sampler: new ParentBasedSampler({ root }),
      spanProcessors: [new SimpleSpanProcessor(memory)],
    });
    const { url, native, registry, stop } = await instrumented(operations(), {
      tracer: sampled.getTracer("t"),
    });
    const call = async (given) => {
      api.received.length = 0;
      await (await post(`${url}/api/api/item`, { id: "7" }, { headers: given })).text();
      return api.received[0].headers.traceparent;
    };
    // Nobody knows of the sampler yet.
    assert.match(await call({}), /-01$/);
    await until(() => native.length === 1);
    await until(() => decided.length === 1);
    // A server looks now and then who wants to know what.
    for (;;) {
      const before = native.length;
      await call({});
      await until(() => native.length > before);
      if (native.at(-1) === false) break;
    }
    memory.reset();
    const parents = [];
    for (let i = 0; i < 10; i++) parents.push(await call({}));
    const recorded = parents.filter((parent) => parent.endsWith("-01"));
    assert.equal(recorded.length, 5);
    // What is recorded upstream is recorded here, under the same ids.
    const sent = memory.getFinishedSpans().filter(({ name }) => name === "GET /items/{id}");
    assert.deepEqual(
      sent.map((span) => `00-${idsOf(span).traceId}-${idsOf(span).spanId}-01`),
      recorded,
    );
    // A call that brings a trace needs no decision, and is native as before.
    const asked = decided.length;
    assert.match(await call({ traceparent: `00-${TRACE}-${PARENT}-00` }), /-00$/);
    await until(() => native.at(-1) === true);
    stop();
    assert.equal(decided.length, asked);
    assert.equal(registry.stats().unreported ?? 0, 0);
    await sampled.shutdown();
  });

  it("the trace of a native call goes on to MCP in the fields of its protocol, and comes over NATS", {
    skip,
  }, async (t) => {
    const tools = new OperationRegistry();
    tools.register(operation({ namespace: "far", name: "tool", handler: () => ({ done: true }) }));
    instrument(tools);
    const far = await serve(tools, { doors: { mcp: true } });
    const client = await createMCPClient("mcp", { url: `${far.url}/mcp` });
    const worker = new OperationRegistry();
    worker.registerAll(client.tools);
    const native = [];
    worker.on("call", ({ isNative }) => void native.push(isNative));
    const stop = instrument(worker);
    const [caller, served] = [await broker.connect(), await broker.connect()];
    await served.serve(worker);
    t.after(async () => {
      await Promise.all([client.close(), caller.close(), served.close()]);
      await far.close({ drain: 0 });
    });
    await provider.getTracer("x").startActiveSpan("caller", async (span) => {
      await caller.callMap.call("mcp.far_tool", {});
      span.end();
    });
    await until(() => native.length === 1);
    stop();
    assert.deepEqual(native, [true]);
    const root = spanOf("caller");
    const rpc = spans().find(({ name, kind }) => name === "mcp/far_tool" && kind === 1);
    assert.equal(idsOf(rpc).traceId, idsOf(root).traceId);
    const [sent, received] = [2, 1].map((wanted) =>
      spans().find(({ name, kind }) => name === "tools/call far_tool" && kind === wanted),
    );
    assert.equal(parentOf(sent), idsOf(rpc).spanId);
    assert.equal(parentOf(received), idsOf(sent).spanId);
  });

  const broker = useNats();

  it("a native call is left to JavaScript if inputs or outputs are recorded", async () => {
    const { url, native, stop } = await instrumented(operations(), { record: { inputs: true } });
    await (await post(`${url}/api/api/item`, { id: "7" })).text();
    stop();
    assert.deepEqual(native, [false]);
    assert.equal(spanOf("GET /items/{id}").attributes["operations.input"], '{"id":"7"}');
  });

  it("a native call is left to JavaScript if the ids of spans cannot be chosen", async () => {
    const tracer = provider.getTracer("stubborn");
    const stubborn = {
      startSpan: (...given) => {
        const span = tracer.startSpan(...given);
        const own = Object.freeze({ ...span.spanContext() });
        return new Proxy(span, {
          get: (target, name) =>
            name === "spanContext"
              ? () => own
              : typeof target[name] === "function"
                ? target[name].bind(target)
                : target[name],
        });
      },
    };
    const { url, registry, native, stop } = await instrumented(operations(), { tracer: stubborn });
    await (await post(`${url}/api/api/item`, { id: "7" })).text();
    await until(() => native.length === 1);
    registry.nativeMirror().refresh();
    await (await post(`${url}/api/api/item`, { id: "7" })).text();
    await until(() => native.length === 2);
    stop();
    assert.deepEqual(native, [true, false]);
  });
});
