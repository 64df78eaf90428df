// `await using` closes everything that is opened. Node 20 has the symbol but not the syntax, so these tests do what the
// syntax does; that it compiles is in __test__/types/disposal.test-d.mts.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MessageChannel } from "node:worker_threads";
import {
  createMCPClient,
  createPortEventTarget,
  MCPClientLoader,
  OpenAPIServiceRegistry,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { connectNats } from "@alkdev/operations/transport-nats";
import { createRedisEventTarget } from "@alkdev/operations/transport-redis";
import { subscription as served, serving } from "../call/support.mjs";
import { answers, documentOf, serve } from "../http/support.mjs";
import { untilDead } from "../mcp/support/processes.mjs";
import { failure, stdio } from "../mcp/support/servers.mjs";
import { idOf, subscription } from "../registry/support/operations.mjs";
import { missingBroker, startNats, startRedis } from "../support/brokers.mjs";

/** What `await using resource = ...` does at the end of a block. */
const dispose = (resource) => (resource[Symbol.asyncDispose] ?? resource[Symbol.dispose]).call(resource);

describe("at the end of a block", () => {
  it("`await using` closes an MCP client, and its process is gone", async () => {
    const wrapper = await createMCPClient("test", stdio());
    const { pid } = wrapper.getStatus();
    await dispose(wrapper);
    await untilDead([pid]);
    assert.equal(wrapper.getStatus().state, "closed");
    await dispose(wrapper.client);
  });

  it("`await using` closes all servers of an MCP loader", async () => {
    const loader = new MCPClientLoader();
    const wrappers = await loader.load({ a: stdio(), b: stdio() });
    await dispose(loader);
    for (const wrapper of wrappers) assert.equal(wrapper.getStatus().state, "closed");
    assert.deepEqual(loader.getAllWrappers(), []);
  });

  it("`await using` closes OpenAPI services, and their calls end", async () => {
    const { url, received } = await serve(() => {});
    const services = new OpenAPIServiceRegistry();
    const paths = { "/slow": { get: { operationId: "slow", responses: answers() } } };
    const [{ handler }] = services.add("t", documentOf(paths), { namespace: "t", baseUrl: url });
    const pending = failure(handler({}, {}));
    while (received.length === 0) await new Promise(setImmediate);
    await dispose(services);
    assert.equal((await pending).code, "ABORTED");
    assert.equal(services.size, 0);
  });

  it("`await using` runs the finally of a stream's handler once: of a registry, and of a call map", async () => {
    let ended = 0;
    async function* handler() {
      try {
        for (let i = 0; ; i++) yield i;
      } finally {
        ended += 1;
      }
    }
    const registry = new OperationRegistry();
    const endless = subscription({ handler });
    registry.register(endless);
    const direct = registry.subscribe(idOf(endless), {});
    await direct.next();
    await dispose(direct);
    assert.equal(ended, 1);
    await dispose(direct);
    assert.equal(ended, 1);
    const { callMap } = serving([served("endless", handler)]);
    const remote = callMap.subscribe("t.endless", {});
    await remote.next();
    await dispose(remote);
    while (ended < 2) await new Promise(setImmediate);
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("`using` releases a port", async () => {
    const { port1, port2 } = new MessageChannel();
    const target = createPortEventTarget(port1);
    let heard = 0;
    target.addEventListener("x", () => {
      heard += 1;
    });
    await dispose(target);
    port2.postMessage(JSON.stringify({ type: "x", detail: 1 }));
    await new Promise((resolve) => setTimeout(resolve, 20));
    port1.close();
    assert.equal(heard, 0);
  });

  it("`await using` closes a NATS connection", { skip: missingBroker("nats-server") }, async () => {
    const server = await startNats();
    try {
      const nats = await connectNats({ servers: server.url, name: "test" });
      await dispose(nats);
      await assert.rejects(nats.callMap.call("t.x", {}, { deadline: Date.now() + 10_000 }));
    } finally {
      await server.stop();
    }
  });

  it("`await using` closes a Redis event target", { skip: missingBroker("redis-server") }, async () => {
    const server = await startRedis();
    try {
      const target = createRedisEventTarget({ url: server.url });
      const pending = failure(new PendingRequestMap(target).call("t.x", {}));
      await dispose(target);
      assert.match((await pending).message, /closed|lost|no/i);
    } finally {
      await server.stop();
    }
  });
});
