// The `AsyncLocalStorage` that handlers and callbacks see: the caller's, or the request's own.

import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { describe, it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { createHandler, serve } from "@alkdev/operations/serve";
import { hubOf, spokeOf } from "./hub/support.mjs";
import { connected, stdio } from "./mcp/support/servers.mjs";
import { operation, post } from "./serve/support.mjs";
import { registryOf } from "./support/registry.mjs";
import { runModule } from "./support/run-node.mjs";

const storage = new AsyncLocalStorage();

/** Serves an operation that returns what it sees, from within the context "server". */
async function seeing(t, { use, handler = () => storage.getStore() ?? "nothing", ...options } = {}) {
  const registry = new OperationRegistry();
  registry.register(operation({ name: "see", handler }));
  if (use !== undefined) registry.use(use);
  const served = await storage.run("server", () => serve(registry, { doors: { http: true }, ...options }));
  t.after(() => served.close({ drain: 0 }));
  return async () => (await post(`${served.url}/api/test/see`, {})).json();
}

describe("the async context of a served call", () => {
  it("a served call does not see the async context in which serve() was called", async (t) => {
    const see = await seeing(t);
    assert.equal(await see(), "nothing");
  });

  it("a served call sees the async context that middleware enters", async (t) => {
    const see = await seeing(t, { use: (_, next) => storage.run("middleware", next) });
    assert.equal(await see(), "middleware");
  });

  it("an async context that a handler or identify enters is not seen by the next request", async (t) => {
    const seen = [];
    const see = await seeing(t, {
      identify: ({ headers }) => {
        seen.push(storage.getStore());
        storage.enterWith("identify");
        return { id: String(headers.get("x-none")), scopes: [] };
      },
      handler: () => {
        seen.push(storage.getStore());
        storage.enterWith("handler");
        return "done";
      },
    });
    for (let i = 0; i < 3; i++) assert.equal(await see(), "done");
    await Promise.all([see(), see(), see()]);
    assert.deepEqual(new Set(seen), new Set([undefined]));
  });

  /** A handler whose operations return what they see, made in the context "server", and a way to ask it. */
  function handling(t, options) {
    const registry = new OperationRegistry();
    const see = (_, { metadata }) => ({ sees: storage.getStore(), headers: Object.keys(metadata.headers) });
    registry.register(operation({ name: "see", handler: see }));
    registry.register(
      operation({
        name: "watch",
        type: "subscription",
        handler: async function* (_, context) {
          yield see(_, context);
          await new Promise(setImmediate);
          yield see(_, context);
        },
      }),
    );
    const handler = storage.run("server", () =>
      createHandler(registry, { doors: { http: true, mcp: true }, requestHeaders: ["x-mine"], ...options }),
    );
    t.after(() => handler.close({ drain: 0 }));
    return (path, body = {}, headers = {}) => {
      const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const init = { method: "POST", headers: { ...json, ...headers }, body: JSON.stringify(body) };
      return handler.fetch(new Request(`http://127.0.0.1${path}`, init));
    };
  }

  it("a call through createHandler sees the async context in which fetch was called", async (t) => {
    const ask = handling(t);
    const see = async (user, headers) =>
      (await storage.run(user, () => ask("/api/test/see", {}, headers))).json();
    const seen = await Promise.all(["ada", "bob", undefined].map((user) => see(user)));
    assert.deepEqual(
      seen.map(({ sees }) => sees),
      ["ada", "bob", undefined],
    );
    const forged = { "x-mine": "1", "operations-async-context": "1" };
    assert.deepEqual(await see("eve", forged), { sees: "eve", headers: ["x-mine"] });
  });

  it("a stream and an MCP tool through createHandler see the async context in which fetch was called", async (t) => {
    const ask = handling(t);
    const watched = await storage.run("ada", () => ask("/api/test/watch"));
    const text = await watched.text();
    assert.equal(text.match(/"sees":"ada"/g).length, 2, text);
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "test_see", arguments: {} } };
    const called = await storage.run("bob", () => ask("/mcp", call));
    assert.match(await called.text(), /"sees":"bob"/);
  });

  it("a handler on a spoke sees the declared headers of a call through createHandler, and no other", async (t) => {
    const hub = { accept: ({ name }) => ({ namespace: name }) };
    const { address, registry } = await hubOf([], { hub });
    const spoke = await spokeOf(address, { name: "laptop", token: "bob" });
    const handler = (_, { metadata }) => Object.keys(metadata.headers);
    await spoke.serve(registryOf(operation({ name: "see", handler })));
    const { fetch, close } = createHandler(registry, { doors: { http: true }, requestHeaders: ["x-mine"] });
    t.after(() => close({ drain: 0 }));
    const headers = { "content-type": "application/json", "x-mine": "1" };
    const request = new Request("http://127.0.0.1/api/laptop/see", { method: "POST", headers, body: "{}" });
    assert.deepEqual(await (await fetch(request)).json(), ["x-mine"]);
  });

  it("a call through createHandler sees the async context that identify enters, and the next one does not", async (t) => {
    const seen = [];
    const ask = handling(t, {
      identify: async ({ headers }) => {
        seen.push([storage.getStore(), headers.get("operations-async-context")]);
        storage.enterWith(`${storage.getStore()}'s session`);
        await new Promise(setImmediate);
        return { id: "ada", scopes: [] };
      },
    });
    for (const user of ["ada", "bob"]) {
      const response = await storage.run(user, () => ask("/api/test/see"));
      assert.equal((await response.json()).sees, `${user}'s session`);
    }
    assert.deepEqual(seen, [
      ["ada", null],
      ["bob", null],
    ]);
  });

  it("a served call does not see the async context in which the package was loaded", async () => {
    const { stdout, stderr } = await runModule(`
      import { AsyncLocalStorage } from "node:async_hooks";
      const storage = new AsyncLocalStorage();
      const { OperationRegistry, serve, operation } = await storage.run("loading", async () => ({
        ...(await import("@alkdev/operations")),
        ...(await import("@alkdev/operations/serve")),
        ...(await import("../registry/support/operations.mjs")),
      }));
      const registry = new OperationRegistry();
      registry.register(operation({ name: "see", handler: () => storage.getStore() ?? "nothing" }));
      const served = await serve(registry, { doors: { http: true } });
      const init = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
      console.log(await (await fetch(served.url + "/api/test/see", init)).json());
      await served.close();
    `);
    assert.equal(stderr, "");
    assert.equal(stdout.trim(), "nothing");
  });
});

describe("the async context of a caller", () => {
  it("the async context of a caller reaches the handler of a direct call, through limits that make it wait", async () => {
    const registry = new OperationRegistry({ limits: { concurrency: 1 } });
    const handler = async () => {
      await new Promise(setImmediate);
      return storage.getStore();
    };
    registry.register(operation({ name: "see", handler }));
    const call = (user) => storage.run(user, () => registry.execute("test.see", {}));
    const envelopes = await Promise.all(["ada", "bob", "eve"].map(call));
    assert.deepEqual(
      envelopes.map(({ data }) => data),
      ["ada", "bob", "eve"],
    );
  });

  it("the async context of a caller reaches onProgress of a call of an MCP tool", async (t) => {
    const { call } = await connected(t, stdio());
    const seen = [];
    const onProgress = () => seen.push(storage.getStore());
    await storage.run("caller", () => call("wait", { steps: 2 }, { onProgress }));
    assert.deepEqual(seen, ["caller", "caller"]);
  });
});
