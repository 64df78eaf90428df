// The door `explorer`: its files, what they may do, and what it tells to whom.

import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { CallError, createMCPClient, OperationRegistry } from "@alkdev/operations";
import { createHandler, serve } from "@alkdev/operations/serve";
import { stdio } from "../mcp/support/servers.mjs";
import { callError, operation } from "../registry/support/operations.mjs";
import { post as postTo, serving } from "../serve/support.mjs";

const doors = { http: true, explorer: true };
const folder = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), "dist", "explorer");
const get = (url, headers = {}, more = {}) => fetch(url, { headers, redirect: "manual", ...more });
const listed = async (url, headers) =>
  (await (await get(`${url}/operations.json`, headers)).json()).operations;

describe("the files of the explorer", () => {
  it("the files of the explorer are under 200 KB in all", () => {
    const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
    const all = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(sizes.length > 10 && all < 200_000, `${sizes.length} files, ${all} bytes`);
  });

  it("the files of the explorer are served with their types and a strict policy", async () => {
    const { url } = await serving([], { doors });
    for (const [path, type] of [
      ["/", "text/html; charset=utf-8"],
      ["/index.html", "text/html; charset=utf-8"],
      ["/main.mjs", "text/javascript; charset=utf-8"],
      ["/style.css", "text/css; charset=utf-8"],
      ["/icon.svg", "image/svg+xml"],
    ]) {
      const response = await get(`${url}${path}`);
      assert.equal(response.status, 200, path);
      assert.equal(response.headers.get("content-type"), type);
      assert.equal(response.headers.get("x-content-type-options"), "nosniff");
      assert.equal(response.headers.get("x-frame-options"), "DENY");
      assert.equal(response.headers.get("referrer-policy"), "no-referrer");
      const policy = response.headers.get("content-security-policy");
      for (const rule of [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
      ]) {
        assert.ok(policy.split("; ").includes(rule), rule);
      }
      // Images of results are in the page; nothing else is.
      assert.doesNotMatch(policy.replace("img-src 'self' data:;", ""), /unsafe|\*|https?:|data:|blob:/);
    }
  });

  it("the page of the explorer has no inline script or style, and names no other host", async () => {
    const { url } = await serving([], { doors });
    const page = await (await get(`${url}/`)).text();
    assert.doesNotMatch(page, /<style|style=|\son\w+=|https?:|<script(?![^>]* src=)/);
  });

  it("the files of the explorer are not sent again to clients that have them", async () => {
    const { url } = await serving([], { doors });
    const etag = (await get(`${url}/main.mjs`)).headers.get("etag");
    const again = await get(`${url}/main.mjs`, { "if-none-match": etag });
    assert.equal(again.status, 304);
    assert.equal(await again.text(), "");
  });

  it("the explorer serves its own files only", async () => {
    const { url } = await serving([], { doors });
    for (const path of [
      "/nothing",
      "/package.json",
      "/../package.json",
      "/%2e%2e/package.json",
      "/main.mjs/",
      "/explorer/main.mjs",
    ]) {
      assert.equal((await get(`${url}${path}`)).status, 404, path);
    }
    const posted = await get(`${url}/main.mjs`, {}, { method: "POST" });
    assert.equal(posted.status, 405);
    assert.equal(posted.headers.get("allow"), "GET, HEAD");
    const head = await get(`${url}/`, {}, { method: "HEAD" });
    assert.equal(head.status, 200);
    assert.equal(await head.text(), "");
  });

  it("the files of the explorer are below the path of its door", async () => {
    const { url } = await serving([], {
      doors: { http: { path: "/v1/api" }, explorer: { path: "/tools/explorer" } },
    });
    const response = await get(`${url}/tools/explorer`);
    assert.equal(response.status, 308);
    assert.equal(
      new URL(response.headers.get("location"), `${url}/tools/explorer`).href,
      `${url}/tools/explorer/`,
    );
    assert.equal((await get(`${url}/tools/explorer/`)).status, 200);
    const { api } = await (await get(`${url}/tools/explorer/status.json`)).json();
    assert.equal(new URL(api, `${url}/tools/explorer/`).href, `${url}/v1/api`);
    assert.equal((await get(`${url}/`)).status, 404);
  });

  it("the files of the explorer are served for names of this machine only", async () => {
    const registry = new OperationRegistry();
    const handler = createHandler(registry, { doors });
    const answered = async (host) => (await handler.fetch(new Request(`http://${host}/`))).status;
    assert.deepEqual([await answered("localhost"), await answered("rebound.example")], [200, 403]);
    await handler.close();
  });

  it("the files of the explorer are served without a token: that is where one is typed", async () => {
    const identify = () => {
      throw new CallError("ACCESS_DENIED", "A token is needed");
    };
    const { url } = await serving([operation()], { doors, identify });
    assert.equal((await get(`${url}/`)).status, 200);
    assert.equal((await get(`${url}/main.mjs`)).status, 200);
    for (const path of ["status.json", "operations.json", "operation.json?namespace=test&name=x"]) {
      assert.equal((await get(`${url}/${path}`)).status, 401, path);
    }
  });
});

describe("what the explorer is told", () => {
  const tokens = {
    "token-of-ada": { id: "ada", scopes: ["admin"] },
    "token-of-bob": { id: "bob", scopes: [] },
  };
  const ada = { authorization: "Bearer token-of-ada" };
  const rules = { requiredScopes: ["admin"] };

  it("the explorer's data has only what the caller may call", async () => {
    const hub = [
      operation({ name: "open" }),
      operation({ name: "guarded", accessControl: rules }),
      operation({ name: "internal", visibility: "internal" }),
      operation({ name: "hidden" }),
    ];
    const { url } = await serving(hub, {
      doors,
      tokens,
      anonymous: true,
      operations: ({ name }) => name !== "hidden",
    });
    const names = async (headers) => (await listed(url, headers)).map(({ name }) => name);
    assert.deepEqual(await names({}), ["open"]);
    assert.deepEqual(await names(ada), ["open", "guarded"]);
    assert.equal((await get(`${url}/operations.json`, { authorization: "Bearer wrong" })).status, 401);
    const one = (name, headers) => get(`${url}/operation.json?namespace=test&name=${name}`, headers);
    // As for a call: 401 without an identity, and what is missing with one.
    assert.equal((await one("guarded")).status, 401);
    const denied = await one("guarded", { authorization: "Bearer token-of-bob" });
    assert.equal(denied.status, 403);
    assert.deepEqual((await denied.json()).details.missingScopes, ["admin"]);
    assert.equal((await one("internal", ada)).status, 404);
    assert.equal((await one("hidden", ada)).status, 404);
    const guarded = await (await one("guarded", ada)).json();
    assert.deepEqual(
      [guarded.name, guarded.isOpen, guarded.method, guarded.path],
      ["guarded", false, "POST", "/test/guarded"],
    );
    assert.equal(JSON.stringify(guarded).includes("admin"), false, "rules stay with the server");
  });

  it("the explorer's data has who calls, and what the server has counted", async () => {
    const { url } = await serving([], {
      doors: { http: { info: { title: "Mine", version: "1" } }, explorer: true },
      tokens,
      anonymous: true,
    });
    const status = async (headers) => (await get(`${url}/status.json`, headers)).json();
    assert.equal((await status({})).caller, null);
    const { caller, title, api, stats } = await status(ada);
    assert.deepEqual([caller, title, api], ["ada", "Mine", "api"]);
    assert.deepEqual(Object.keys(stats).sort(), [
      "connections",
      "failed",
      "refused",
      "requests",
      "running",
      "waiting",
    ]);
  });

  it("the explorer's data has the state of each MCP server, for callers who may read counters", async (t) => {
    const client = await createMCPClient("files", stdio());
    t.after(() => client.close());
    const { url } = await serving(client.tools, { doors, tokens, anonymous: true });
    const sources = async (headers) => (await (await get(`${url}/status.json`, headers)).json()).sources;
    assert.deepEqual(await sources({}), []);
    const connected = { kind: "mcp", name: "files", state: "connected", isUsable: true };
    assert.deepEqual(await sources(ada), [connected]);
    await client.close();
    assert.deepEqual(await sources(ada), [{ ...connected, state: "closed", isUsable: false }]);
  });

  it("the explorer's data follows the registry", async () => {
    const { url, registry } = await serving([operation({ name: "first" })], { doors });
    const before = await (await get(`${url}/status.json`)).json();
    registry.register(operation({ name: "second" }));
    assert.deepEqual(
      (await listed(url)).map(({ name }) => name),
      ["first", "second"],
    );
    const after = await (await get(`${url}/status.json`)).json();
    assert.notEqual(after.revision, before.revision);
  });

  it("the explorer's data has schemas, errors and the full description of one operation, and short descriptions of all", async () => {
    const description = "word ".repeat(200);
    const errorSchemas = [{ code: "GONE", description: "It is gone", httpStatus: 410, schema: {} }];
    const { url } = await serving([operation({ namespace: "a b", name: "c&d", description, errorSchemas })], {
      doors,
    });
    const [short] = await listed(url);
    assert.equal(short.description, description.slice(0, 240));
    const response = await get(`${url}/operation.json?namespace=a%20b&name=c%26d`);
    const whole = await response.json();
    assert.equal(whole.description, description);
    assert.deepEqual(whole.errors, [{ code: "GONE", description: "It is gone", httpStatus: 410 }]);
    assert.deepEqual([whole.input, whole.output], [{}, {}]);
    assert.match(response.headers.get("content-security-policy"), /sandbox/);
    assert.match(response.headers.get("cache-control"), /no-store/);
  });
});

describe("the door explorer", () => {
  it("the door explorer needs the HTTP door, and says so", async () => {
    const registry = new OperationRegistry();
    for (const closed of [{ explorer: true }, { explorer: {}, http: false }, { explorer: true, mcp: true }]) {
      await assert.rejects(
        serve(registry, { doors: closed }),
        callError("VALIDATION_ERROR", "doors.explorer needs the HTTP door", "{ http: true, explorer: true }"),
      );
    }
    await assert.rejects(
      serve(registry, { doors: { http: true, explorer: { path: "explorer/" } } }),
      callError("VALIDATION_ERROR", "doors.explorer.path", "without a slash at its end"),
    );
  });

  it("the door explorer is closed unless it is named", async () => {
    const { url } = await serving([], { doors: { http: true } });
    for (const path of ["/", "/main.mjs", "/status.json"])
      assert.equal((await get(`${url}${path}`)).status, 404);
  });

  it("the door explorer leaves the other doors alone", async () => {
    const { url, post } = await serving([operation({ name: "echo" })], { doors: { ...doors, mcp: true } });
    assert.deepEqual(await (await post("test/echo", { a: 1 })).json(), { a: 1 });
    assert.equal((await get(`${url}/api/openapi.json`)).status, 200);
    assert.equal((await get(`${url}/health`)).status, 200);
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const accept = "application/json, text/event-stream";
    const response = await postTo(`${url}/mcp`, ping, { headers: { accept } });
    assert.equal(response.status, 200);
  });
});
