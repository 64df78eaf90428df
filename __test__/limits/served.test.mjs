// Limits of operations that are served: natively and by JavaScript, one and the same, told in the terms of each door.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { createMCPClient, FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";
import { answers, documentOf, sendJson, serve as upstream } from "../http/support.mjs";
import { until } from "../support/waiting.mjs";

const document = documentOf({
  "/item/{what}": {
    get: {
      operationId: "item",
      parameters: [{ in: "path", name: "what", required: true, schema: { type: "string" } }],
      responses: answers(),
    },
  },
  "/events/{what}": {
    get: {
      operationId: "events",
      parameters: [{ in: "path", name: "what", required: true, schema: { type: "string" } }],
      responses: answers("text/event-stream"),
    },
  },
});

/** A server whose answers wait until they are let go, and which can fail. */
async function gatedServer() {
  const open = [];
  const state = { failing: false, most: 0 };
  const api = await upstream((request, response) => {
    if (state.failing) return sendJson(response, { why: "down" }, 500);
    if (request.url.startsWith("/events")) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n");
      open.push(() => response.end());
      return undefined;
    }
    const end = () => sendJson(response, request.url.split("/").at(-1));
    if (request.url.endsWith("quick")) return end();
    open.push(end);
    state.most = Math.max(state.most, open.length);
    return undefined;
  });
  return { ...api, open, state };
}

async function served(operations, options = {}, registryOptions = {}) {
  const registry = new OperationRegistry(registryOptions);
  registry.registerAll(operations);
  const tokens = { ada: { id: "ada", scopes: [] }, bob: { id: "bob", scopes: [] } };
  const server = await serve(registry, {
    doors: { http: true, mcp: true },
    tokens,
    anonymous: true,
    ...options,
  });
  after(() => server.close({ drain: 0 }));
  const call = (operation, what, { token = "ada", ...init } = {}) =>
    fetch(`${server.url}/api/api/${operation}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ what }),
      ...init,
    });
  return { registry, server, call };
}

/** The same operations as they are, which Rust serves, and with a rule that only JavaScript can ask. */
async function bothPaths(make) {
  const native = await served(make({ requiredScopes: [] }));
  const customAuth = { everybody: () => true };
  const javascript = await served(make({ requiredScopes: [], customAuth: "everybody" }), {}, { customAuth });
  return [native, javascript];
}

describe("the HTTP door", () => {
  it("the HTTP door responds 503 and 429 with Retry-After, from native code and from JavaScript", async () => {
    const api = await gatedServer();
    const make = (accessControl) =>
      FromOpenAPI(document, {
        namespace: "api",
        baseUrl: api.url,
        accessControl,
        limits: { concurrency: 1, queue: 0, rate: { calls: 2, per: 60_000 } },
      });
    const told = [];
    for (const { call, registry } of await bothPaths(make)) {
      const first = call("item", "a");
      await until(() => api.open.length === 1);
      const refused = await call("item", "b");
      const busy = {
        status: refused.status,
        after: refused.headers.get("retry-after"),
        problem: await refused.json(),
      };
      api.open.pop()();
      assert.equal(await (await first).json(), "a");
      assert.equal((await call("item", "quick")).status, 200);
      const late = await call("item", "c");
      const limited = {
        status: late.status,
        after: late.headers.get("retry-after"),
        problem: await late.json(),
      };
      for (const { problem } of [busy, limited]) {
        delete problem.requestId;
        assert.equal(problem.mayHaveRun, false);
      }
      assert.equal(busy.status, 503);
      assert.equal(busy.after, "1");
      assert.equal(busy.problem.details.reason, "overloaded");
      assert.equal(limited.status, 429);
      assert.ok(Number(limited.after) > 30 && Number(limited.after) <= 60, limited.after);
      assert.equal(limited.problem.details.reason, "rate-limited");
      delete limited.problem.details.retryAfter;
      delete limited.problem.detail;
      delete limited.after;
      told.push([busy, limited, registry.stats()]);
    }
    assert.deepEqual(told[0], told[1]);
  });

  it("a stream at the HTTP door holds its permit as long as it runs", async () => {
    const api = await gatedServer();
    const make = (accessControl) =>
      FromOpenAPI(document, {
        namespace: "api",
        baseUrl: api.url,
        accessControl,
        limits: { concurrency: 1, queue: 0 },
      });
    for (const { call, registry } of await bothPaths(make)) {
      const controller = new AbortController();
      const response = await call("events", "a", { signal: controller.signal });
      assert.equal(response.status, 200);
      const reader = response.body.getReader();
      await reader.read();
      assert.equal((await call("item", "quick")).status, 503);
      controller.abort();
      await reader.closed.catch(() => {});
      await until(() => registry.stats().limits[0].running === 0);
      assert.equal((await call("item", "quick")).status, 200);
      api.open.length = 0;
    }
  });

  it("a client that disconnects while it waits leaves the queue", async () => {
    const api = await gatedServer();
    const make = (accessControl) =>
      FromOpenAPI(document, {
        namespace: "api",
        baseUrl: api.url,
        accessControl,
        limits: { concurrency: 1 },
      });
    for (const { call, registry } of await bothPaths(make)) {
      const first = call("item", "a");
      await until(() => api.open.length === 1);
      const controller = new AbortController();
      const second = call("item", "b", { signal: controller.signal });
      second.catch(() => {});
      await until(() => registry.stats().limits[0].waiting === 1);
      controller.abort();
      await until(() => registry.stats().limits[0].waiting === 0);
      api.open.pop()();
      assert.equal(await (await first).json(), "a");
      assert.equal(api.open.length, 0);
    }
  });
});

describe("one limit for both pipelines", () => {
  it("calls in JavaScript and native ones share the permits of an adapter", async () => {
    const api = await gatedServer();
    const operations = FromOpenAPI(document, {
      namespace: "api",
      baseUrl: api.url,
      limits: { concurrency: 4, queue: 1_000 },
    });
    const { registry, call } = await served(operations);
    let isOver = false;
    const letGo = (async () => {
      while (!isOver) {
        api.open.shift()?.();
        await wait(1);
      }
    })();
    const direct = Array.from(
      { length: 60 },
      async (_, i) => (await registry.execute("api.item", { what: `d${i}` })).data,
    );
    const remote = Array.from({ length: 60 }, async (_, i) => (await call("item", `r${i}`)).json());
    const found = await Promise.all([...direct, ...remote]);
    isOver = true;
    await letGo;
    assert.deepEqual(found, [
      ...Array.from({ length: 60 }, (_, i) => `d${i}`),
      ...Array.from({ length: 60 }, (_, i) => `r${i}`),
    ]);
    assert.ok(api.state.most <= 4, `${api.state.most} at a time`);
    const [stats] = registry.stats().limits;
    assert.deepEqual([stats.scope, stats.name, stats.admitted, stats.running], ["adapter", "api", 120, 0]);
  });

  it("native calls wait in turn, caller by caller", async () => {
    const api = await gatedServer();
    const operations = FromOpenAPI(document, {
      namespace: "api",
      baseUrl: api.url,
      limits: { concurrency: 1 },
    });
    const { registry, call } = await served(operations);
    const waiting = (count) => until(() => registry.stats().limits[0].waiting === count);
    const calls = [call("item", "ada0")];
    await until(() => api.open.length === 1);
    for (let i = 1; i <= 4; i++) {
      calls.push(call("item", `ada${i}`));
      await waiting(i);
    }
    for (let i = 0; i < 3; i++) {
      calls.push(call("item", `bob${i}`, { token: "bob" }));
      await waiting(5 + i);
    }
    for (let i = 0; i < calls.length; i++) {
      await until(() => api.open.length === 1);
      api.open.pop()();
    }
    await Promise.all(calls);
    assert.deepEqual(
      api.received.map(({ url }) => url.split("/").at(-1)),
      ["ada0", "ada1", "bob0", "ada2", "bob1", "ada3", "bob2", "ada4"],
    );
  });
});

describe("a breaker", () => {
  it("a breaker opens, half-opens and closes on a server that fails and recovers, natively and in JavaScript", async () => {
    const api = await gatedServer();
    const make = (accessControl) =>
      FromOpenAPI(document, {
        namespace: "api",
        baseUrl: api.url,
        accessControl,
        breaker: { failures: 3, window: 60_000, cooldown: 1_000 },
      });
    for (const { call, registry } of await bothPaths(make)) {
      const state = () => registry.stats().limits[0].breaker;
      const before = api.received.length;
      assert.equal((await call("item", "quick")).status, 200);
      api.state.failing = true;
      // What the caller does wrong is no failure of the server.
      assert.equal((await call("item", 7)).status, 400);
      for (let i = 0; i < 3; i++) {
        assert.equal(state(), "closed");
        assert.equal((await call("item", "quick")).status, 502);
      }
      assert.equal(state(), "open");
      const refused = await call("item", "quick");
      assert.equal(refused.status, 503);
      assert.ok(Number(refused.headers.get("retry-after")) >= 1);
      assert.equal((await refused.json()).details.reason, "circuit-open");
      assert.equal(api.received.length - before, 4, "nobody was asked");
      // One is tried, and fails.
      await until(() => state() === "half-open");
      assert.equal((await call("item", "quick")).status, 502);
      assert.equal(state(), "open");
      api.state.failing = false;
      await until(() => state() === "half-open");
      // Of several, one is tried.
      const statuses = [];
      const several = [1, 2, 3].map(async () => statuses.push((await call("item", "slow")).status));
      await until(() => api.open.length === 1 && statuses.length === 2);
      api.open.pop()();
      await Promise.all(several);
      assert.deepEqual(statuses, [503, 503, 200]);
      assert.equal(state(), "closed");
      assert.equal((await call("item", "quick")).status, 200);
      assert.equal(registry.stats().limits[0].opened, 2);
    }
  });

  it("a breaker opens when the server is down, and stays closed for a caller's own short deadlines", async () => {
    const api = await gatedServer();
    const config = {
      namespace: "api",
      baseUrl: api.url,
      breaker: { failures: 2, window: 60_000, cooldown: 60_000 },
    };
    const registry = new OperationRegistry();
    registry.registerAll(FromOpenAPI(document, config));
    for (let i = 0; i < 4; i++) {
      const late = registry.execute("api.item", { what: "slow" }, { deadline: Date.now() + 15 });
      await assert.rejects(late, { code: "TIMEOUT" });
    }
    assert.equal(registry.stats().limits[0].breaker, "closed");
    await api.stop();
    for (let i = 0; i < 2; i++)
      await assert.rejects(registry.execute("api.item", { what: "quick" }), { code: "EXECUTION_ERROR" });
    await assert.rejects(registry.execute("api.item", { what: "quick" }), (error) => {
      assert.equal(error.details.reason, "circuit-open");
      assert.ok(error.details.retryAfter > 30_000);
      return true;
    });
  });
});

describe("the MCP door", () => {
  it("the MCP door says what to do to a model, and how long to wait to programs", async () => {
    const api = await gatedServer();
    const operations = FromOpenAPI(document, {
      namespace: "api",
      baseUrl: api.url,
      limits: { rate: { calls: 1, per: 60_000 }, queue: 0 },
    });
    const { server } = await served(operations);
    const wrapper = await createMCPClient("hub", {
      url: `${server.url}/mcp`,
      headers: { authorization: "Bearer ada" },
    });
    after(() => wrapper.close());
    const { handler } = wrapper.tools.find(({ name }) => name === "api_item");
    assert.equal((await handler({ what: "quick" }, {})).meta.isError, false);
    const { meta } = await handler({ what: "quick" }, {});
    assert.equal(meta.isError, true);
    assert.match(meta.content[0].text, /Nothing was done\. Wait \d+ seconds before you call this tool again/);
    const { details } = meta._meta["alkdev.operations/error"];
    assert.equal(details.reason, "rate-limited");
    assert.ok(details.retryAfter > 30_000);
  });

  it("an MCP server's tools are limited, and its breaker opens when the server is gone", async () => {
    const registry = new OperationRegistry();
    registry.register({
      namespace: "demo",
      name: "echo",
      version: "1.0.0",
      type: "query",
      description: "Gives back what it got",
      inputSchema: Type.Object({}),
      outputSchema: Type.Unknown(),
      accessControl: { requiredScopes: [] },
      handler: (input) => input,
    });
    const upstreamServer = await serve(registry, { doors: { mcp: true } });
    const wrapper = await createMCPClient("up", {
      url: `${upstreamServer.url}/mcp`,
      limits: { concurrency: 2 },
      breaker: { failures: 2, window: 60_000, cooldown: 60_000 },
    });
    after(() => wrapper.close());
    const mine = new OperationRegistry();
    mine.registerAll(wrapper.tools);
    assert.deepEqual((await mine.execute("up.demo_echo", { a: 1 })).data, { a: 1 });
    await upstreamServer.close({ drain: 0 });
    for (let i = 0; i < 2; i++)
      await assert.rejects(mine.execute("up.demo_echo", {}), { code: "EXECUTION_ERROR" });
    await assert.rejects(
      mine.execute("up.demo_echo", {}),
      (error) => error.details.reason === "circuit-open",
    );
  });
});
