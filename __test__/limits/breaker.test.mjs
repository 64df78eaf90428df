// A breaker against a hostile server, and against callers who would have it open for everybody.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createMCPClient, FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { answers, documentOf, sendJson, serve as upstream } from "../http/support.mjs";
import { startHTTPServer } from "../mcp/support/http-server.mjs";
import { connected, failure } from "../mcp/support/servers.mjs";
import { operation, post } from "../serve/support.mjs";
import { until } from "../support/waiting.mjs";

const document = documentOf({
  "/item/{what}": {
    get: {
      operationId: "item",
      parameters: [{ in: "path", name: "what", required: true, schema: { type: "string" } }],
      responses: answers(),
    },
  },
});

/** A server that does as the last part of the path says. */
async function server() {
  const open = [];
  const api = await upstream((request, response) => {
    const what = request.url.split("/").at(-1);
    if (/^\d+$/.test(what)) return sendJson(response, { what }, Number(what));
    if (what === "drip") {
      response.writeHead(200, { "content-type": "application/json" });
      const drip = setInterval(() => response.write(" "), 5);
      response.on("close", () => clearInterval(drip));
      return undefined;
    }
    open.push(() => sendJson(response, {}));
    return undefined;
  });
  return { ...api, open };
}

/** The operation, called natively through a door and in JavaScript. Each call gives its code, or "ok". */
async function bothWays(config) {
  const ways = [];
  for (const isNative of [true, false]) {
    const registry = new OperationRegistry();
    registry.registerAll(FromOpenAPI(document, { namespace: "api", ...config }));
    const state = () => registry.stats().limits[0].breaker;
    if (!isNative) {
      const call = (what, { signal } = {}) =>
        registry.execute("api.item", { what }, signal === undefined ? {} : { signal }).then(
          () => "ok",
          ({ details, code }) => details?.statusCode ?? details?.reason ?? code,
        );
      ways.push({ call, state });
      continue;
    }
    const served = await serve(registry, { doors: { http: true } });
    after(() => served.close({ drain: 0 }));
    const call = async (what, { signal } = {}) => {
      try {
        const response = await post(`${served.url}/api/api/item`, { what }, { signal });
        const { details, code } = await response.json();
        return response.ok ? "ok" : (details?.statusCode ?? details?.reason ?? code);
      } catch {
        return "aborted";
      }
    };
    ways.push({ call, state });
  }
  return ways;
}

describe("a breaker", () => {
  it("a breaker stays closed for errors that are the caller's fault", async () => {
    const api = await server();
    const config = { baseUrl: api.url, breaker: { failures: 2, window: 60_000, cooldown: 60_000 } };
    for (const { call, state } of await bothWays(config)) {
      for (const status of [400, 401, 403, 404, 409, 413, 422]) assert.equal(await call(`${status}`), status);
      assert.equal(state(), "closed");
      assert.equal(await call("500"), 500);
      assert.equal(await call("404"), 404);
      assert.equal(await call("503"), 503);
      assert.equal(state(), "open", "successes in between do not hide failures");
    }
  });

  it("a breaker opens for a server that answers 429", async () => {
    const api = await server();
    const config = { baseUrl: api.url, breaker: { failures: 2, window: 60_000, cooldown: 60_000 } };
    for (const { call, state } of await bothWays(config)) {
      for (let i = 0; i < 2; i++) assert.equal(await call("429"), 429);
      assert.equal(state(), "open");
    }
  });

  it("a breaker opens for an MCP server that reports -32603, and not for what it refuses", async (t) => {
    let code;
    const { url } = await startHTTPServer(t, {
      before: (_, response, message) => {
        if (message?.method !== "tools/call") return false;
        const answer = { jsonrpc: "2.0", id: message.id, error: { code, message: "no" } };
        sendJson(response, answer);
        return true;
      },
    });
    const breaker = { failures: 2, window: 60_000, cooldown: 60_000 };
    const { call } = await connected(t, { url, breaker });
    const outcome = async () => {
      const { details } = await failure(call("echo", { text: "x" }));
      return details.rpcCode ?? details.reason;
    };
    code = -32602;
    for (let i = 0; i < 4; i++) assert.equal(await outcome(), -32602);
    code = -32603;
    for (let i = 0; i < 2; i++) assert.equal(await outcome(), -32603);
    assert.equal(await outcome(), "circuit-open");
  });

  it("the limits and breaker of an importer are named by its namespace", async () => {
    const api = await server();
    const limits = { rate: { calls: 1, per: 60_000 }, queue: 0 };
    const [item] = FromOpenAPI(document, { namespace: "mail", baseUrl: api.url, limits });
    const registry = new OperationRegistry();
    registry.register(item);
    await registry.execute("mail.item", { what: "200" });
    await assert.rejects(registry.execute("mail.item", { what: "200" }), /\(limits of importer mail\)/);
  });

  it("a breaker opens on a server that sends endless responses byte by byte", async () => {
    const api = await server();
    const config = {
      baseUrl: api.url,
      timeout: 60,
      breaker: { failures: 2, window: 60_000, cooldown: 60_000 },
    };
    for (const { call, state } of await bothWays(config)) {
      for (let i = 0; i < 2; i++) assert.notEqual(await call("drip"), "ok");
      assert.equal(state(), "open");
      assert.equal(await call("drip"), "circuit-open");
    }
  });

  it("a half-open breaker tries the next call when its probe is aborted", async () => {
    const api = await server();
    const config = { baseUrl: api.url, breaker: { failures: 1, window: 60_000, cooldown: 50 } };
    for (const { call, state } of await bothWays(config)) {
      assert.equal(await call("500"), 500);
      await until(() => state() === "half-open");
      // The server hears of an abort a moment later: until then, the next call is refused.
      const probe = async (controller) => {
        for (;;) {
          const outcome = call("hang", controller);
          const first = await Promise.race([outcome, until(() => api.open.length === 1)]);
          if (first !== "circuit-open") return { outcome };
        }
      };
      for (let i = 0; i < 3; i++) {
        const controller = new AbortController();
        const tried = await probe(controller);
        // Of many that come meanwhile, none goes through.
        const others = await Promise.all(Array.from({ length: 20 }, () => call("hang")));
        assert.deepEqual(new Set(others), new Set(["circuit-open"]));
        api.open.pop();
        controller.abort();
        assert.equal(await tried.outcome, "aborted");
        assert.equal(state(), "half-open");
      }
      const last = await probe();
      api.open.pop()();
      assert.equal(await last.outcome, "ok");
      await until(() => state() === "closed");
    }
  });

  it("the breaker of an MCP server stays closed for a caller's own short time-outs", async () => {
    const registry = new OperationRegistry();
    const hangs = (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", reject));
    registry.register(operation({ namespace: "far", name: "hangs", handler: hangs }));
    const served = await serve(registry, { doors: { mcp: true } });
    const client = await createMCPClient("mcp", {
      url: `${served.url}/mcp`,
      breaker: { failures: 1, window: 60_000, cooldown: 60_000 },
    });
    after(async () => {
      await client.close();
      await served.close({ drain: 0 });
    });
    const own = new OperationRegistry();
    own.registerAll(client.tools);
    for (let i = 0; i < 3; i++) {
      const late = own.execute("mcp.far_hangs", {}, { metadata: { timeout: 20 } });
      await assert.rejects(late, { code: "TIMEOUT" });
    }
    assert.equal(own.stats().limits[0].breaker, "closed");
  });
});
