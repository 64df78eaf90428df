// With `tokens` or `identify`, every door needs an identity, unless `anonymous` says that open operations stay open.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { createHandler } from "@alkdev/operations/serve";
import { WebSocket } from "ws";
import { operation, post, serving } from "./support.mjs";

const DOORS = { http: true, mcp: true, hub: true, explorer: { path: "/explorer" } };
const tokens = { "ada-token": { id: "ada", scopes: [] } };
const ADA = { authorization: "Bearer ada-token" };
const open = operation({ name: "open", handler: () => "open" });
const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
const ACCEPTED = { accept: "application/json, text/event-stream" };

/** What each door answers: the status of a call, of a list, of the document. */
async function statuses(url, headers = {}) {
  const get = async (path) => (await fetch(url + path, { headers })).status;
  const calls = {
    call: (await post(`${url}/api/test/open`, {}, { headers })).status,
    document: await get("/api/openapi.json"),
    mcp: (await post(`${url}/mcp`, LIST, { headers: { ...ACCEPTED, ...headers } })).status,
    listing: await get("/explorer/operations.json"),
    status: await get("/explorer/status.json"),
    nothing: await get("/no-such-path"),
    upgrade: await upgraded(`${url.replace("http", "ws")}/hub`, headers),
  };
  return calls;
}

/** The status with which an upgrade is answered. */
function upgraded(address, headers) {
  return new Promise((resolve) => {
    const socket = new WebSocket(address, { headers });
    socket.on("unexpected-response", (_, { statusCode }) => {
      socket.terminate();
      resolve(statusCode);
    });
    socket.on("open", () => {
      socket.terminate();
      resolve(101);
    });
    socket.on("error", () => {});
  });
}

const REFUSED = { call: 401, document: 401, mcp: 401, listing: 401, status: 401, nothing: 401, upgrade: 401 };
const LET_IN = { call: 200, document: 200, mcp: 200, listing: 200, status: 200, nothing: 404, upgrade: 101 };

describe("a server that knows identities", () => {
  for (const [how, options] of [
    ["tokens", { tokens }],
    [
      "identify",
      { identify: ({ headers }) => tokens[(headers.get("authorization") ?? "").replace("Bearer ", "")] },
    ],
  ]) {
    describe(how, () => {
      it("a server that knows identities lets no caller in without one, at any door", async () => {
        const { url } = await serving([open], { doors: DOORS, ...options });
        assert.deepEqual(await statuses(url), REFUSED);
        assert.deepEqual(await statuses(url, ADA), LET_IN);
      });

      it(`a server with ${how} keeps open operations open with anonymous: true`, async () => {
        const { url } = await serving([open], { doors: DOORS, anonymous: true, ...options });
        assert.deepEqual(await statuses(url), LET_IN);
        assert.equal((await fetch(`${url}/metrics`)).status, 401, "numbers are for operators");
      });
    });
  }

  it("a refusal for want of an identity says how to get in, and that nothing was done", async () => {
    let calls = 0;
    const counted = operation({ name: "open", handler: () => ++calls });
    const oauth = {
      resource: "https://api.example.com",
      authorizationServers: ["https://login.example.com"],
    };
    const { url, post: call } = await serving([counted], { tokens, oauth });
    const refused = await call("test/open", {});
    assert.match(
      refused.headers.get("www-authenticate"),
      /^Bearer resource_metadata="https:\/\/api\.example\.com/,
    );
    const { code, detail, details, mayHaveRun } = await refused.json();
    assert.deepEqual([code, details.delivery, mayHaveRun, calls], ["ACCESS_DENIED", "none", false, 0]);
    assert.match(detail, /identity required/);
    const metadata = await fetch(`${url}/.well-known/oauth-protected-resource`);
    assert.equal(metadata.status, 200, "whoever has no token yet has to find out where to get one");
  });

  it("a server that needs identities shows its health and the explorer's own files to everyone", async () => {
    const { url } = await serving([open], { doors: DOORS, tokens });
    for (const path of ["/health", "/ready", "/explorer/", "/explorer/main.mjs"]) {
      assert.equal((await fetch(url + path)).status, 200, path);
    }
  });

  it("createHandler with tokens needs an identity, too", async () => {
    const registry = new OperationRegistry();
    registry.register(open);
    const handler = createHandler(registry, { doors: { http: true, mcp: true }, tokens });
    after(() => handler.close({ drain: 0 }));
    const request = (headers) => new Request("http://localhost/api/openapi.json", { headers });
    assert.equal((await handler.fetch(request({}))).status, 401);
    assert.equal((await handler.fetch(request(ADA))).status, 200);
  });

  it("a server without tokens and identify is open to everyone", async () => {
    const { url } = await serving([open], { doors: DOORS });
    assert.deepEqual(await statuses(url), LET_IN);
  });
});

describe("anonymous: false", () => {
  it("anonymous: false is refused where nothing says who callers are", async () => {
    await assert.rejects(serving([open], { anonymous: false }), {
      code: "VALIDATION_ERROR",
      message: /anonymous can be false only with tokens, jwt, introspection or identify/,
    });
  });
});
