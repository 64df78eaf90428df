// `meta.notes` wherever a result comes from, and on whatever way it takes.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MessageChannel } from "node:worker_threads";
import {
  buildCallHandler,
  createPortEventTarget,
  FromOpenAPI,
  isResponseEnvelope,
  OperationRegistry,
  PendingRequestMap,
  ResponseEnvelopeSchema,
} from "@alkdev/operations";
import { serve as serveRegistry } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { documentOf, sendJson, serve } from "../http/support.mjs";
import { connected, stdio } from "../mcp/support/servers.mjs";
import { isServed } from "../redis/support.mjs";
import { missingBroker, startNats, startRedis } from "../support/brokers.mjs";
import { operation, subscription } from "./support/operations.mjs";

const declared = { type: "object", required: ["count"], properties: { count: { type: "integer" } } };
const MADE_UP = [
  { path: "/count", message: "a required value is missing; the empty value of its type was made up for it" },
];

/** A registry that makes up a count, and has a note about it, from four sources. */
async function registryOfAll() {
  const { url } = await serve((request, response) => {
    if (request.url !== "/events") return sendJson(response, {});
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end("data: {}\n\n");
  });
  const of = (mediaType) => ({ 200: { description: "", content: { [mediaType]: { schema: declared } } } });
  const registry = new OperationRegistry();
  const outputSchema = Type.Object({ count: Type.Integer() });
  registry.registerAll([
    operation({ namespace: "t", name: "double" }),
    operation({ namespace: "t", name: "local", outputSchema, handler: () => ({}) }),
    subscription({
      namespace: "t",
      name: "stream",
      outputSchema,
      handler: async function* () {
        yield {};
      },
    }),
    ...FromOpenAPI(
      documentOf({
        "/http": { get: { operationId: "http", responses: of("application/json") } },
        "/events": { get: { operationId: "sse", responses: of("text/event-stream") } },
      }),
      { namespace: "t", baseUrl: url },
    ),
  ]);
  return registry;
}

const first = async (stream) => {
  for await (const envelope of stream) return envelope;
};

/** Asks for all of them, through whatever `call` and `subscribe` are. */
async function assertNoted({ call, subscribe }) {
  for (const envelope of [
    await call("t.local"),
    await call("t.http"),
    await first(subscribe("t.stream")),
    await first(subscribe("t.sse")),
  ]) {
    assert.deepEqual(envelope.data, { count: 0 });
    assert.deepEqual(envelope.meta.notes, MADE_UP);
    assert.ok(isResponseEnvelope(envelope) && Value.Check(ResponseEnvelopeSchema, envelope));
    assert.deepEqual(JSON.parse(JSON.stringify(envelope)), envelope);
  }
}

const through = (callMap) => ({
  call: (id) => callMap.call(id, {}),
  subscribe: (id) => callMap.subscribe(id, {}),
});

describe("what was made up is noted", () => {
  it("a value that was made up is noted in results of a function, a generator, an HTTP server and an event stream", async () => {
    const registry = await registryOfAll();
    await assertNoted({
      call: (id) => registry.execute(id, {}),
      subscribe: (id) => registry.subscribe(id, {}),
    });
  });

  it("a value that was made up is noted in results of an MCP server", async (t) => {
    const { registry } = await connected(t, stdio());
    const outputSchema = Type.Object({ name: Type.String(), count: Type.Integer() });
    registry.registerSpec({ ...registry.getSpec("test.person"), outputSchema });
    const { data, meta } = await registry.execute("test.person", {});
    assert.equal(meta.source, "mcp");
    assert.deepEqual([data, meta.notes], [{ name: "Ada", count: 0 }, MADE_UP]);
  });

  it("notes reach the caller in one process, over the call protocol", async () => {
    const callMap = new PendingRequestMap();
    callMap["call.requested"].subscribe(buildCallHandler({ registry: await registryOfAll(), callMap }));
    await assertNoted(through(callMap));
  });

  it("notes reach the caller over a port", async () => {
    const { port1, port2 } = new MessageChannel();
    const there = new PendingRequestMap(createPortEventTarget(port1));
    there["call.requested"].subscribe(buildCallHandler({ registry: await registryOfAll(), callMap: there }));
    await assertNoted(through(new PendingRequestMap(createPortEventTarget(port2))));
    port1.close();
  });

  it("notes reach the caller over Redis", { skip: missingBroker("redis-server") }, async () => {
    const { createRedisEventTarget } = await import("@alkdev/operations/transport-redis");
    const redis = await startRedis();
    const [server, client] = [1, 2].map(() => createRedisEventTarget({ url: redis.url }));
    const there = new PendingRequestMap(server);
    there["call.requested"].subscribe(buildCallHandler({ registry: await registryOfAll(), callMap: there }));
    const here = new PendingRequestMap(client);
    try {
      await isServed(here);
      await assertNoted(through(here));
    } finally {
      await Promise.all([client.close(), server.close()]);
      await redis.stop();
    }
  });

  it("notes reach the caller over NATS", { skip: missingBroker("nats-server") }, async () => {
    const { connectNats } = await import("@alkdev/operations/transport-nats");
    const broker = await startNats();
    const [worker, caller] = await Promise.all(
      ["worker", "caller"].map((name) => connectNats({ servers: broker.url, name })),
    );
    await worker.serve(await registryOfAll());
    try {
      await assertNoted(through(caller.callMap));
    } finally {
      await Promise.all([caller.close(), worker.close()]);
      await broker.stop();
    }
  });

  it("notes reach an HTTP caller that accepts the envelope", async (t) => {
    const served = await serveRegistry(await registryOfAll(), { port: 0, doors: { http: true } });
    t.after(() => served.close());
    const headers = { accept: "application/vnd.alkdev.envelope+json", "content-type": "application/json" };
    const response = await fetch(`${served.url}/api/t/local`, { method: "POST", body: "{}", headers });
    const answer = await response.text();
    assert.equal(response.status, 200, answer);
    const { data, meta } = JSON.parse(answer);
    assert.deepEqual([data, meta.notes], [{ count: 0 }, MADE_UP]);
  });
});
