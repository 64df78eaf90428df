// The `AsyncLocalStorage` that handlers and callbacks see: the caller's, or the request's own.

import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { describe, it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { createHandler, serve } from "@alkdev/operations/serve";
import { connected, stdio } from "./mcp/support/servers.mjs";
import { operation, post } from "./serve/support.mjs";
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

  it("a call through createHandler does not see the async context in which createHandler() was called", async (t) => {
    const registry = new OperationRegistry();
    registry.register(operation({ name: "see", handler: () => storage.getStore() ?? "nothing" }));
    const handler = storage.run("server", () => createHandler(registry, { doors: { http: true } }));
    t.after(() => handler.close({ drain: 0 }));
    const request = new Request("http://127.0.0.1/api/test/see", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    assert.equal(await (await handler.fetch(request)).json(), "nothing");
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
