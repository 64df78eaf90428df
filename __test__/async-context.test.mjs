// The `AsyncLocalStorage` that handlers and callbacks see: the caller's, or the request's own.

import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { describe, it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { createHandler, serve } from "@alkdev/operations/serve";
import { connectHub } from "@alkdev/operations/transport-websocket";
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
  return async (options) => (await post(`${served.url}/api/test/see`, {}, options)).json();
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

  /** `identify` of callers named by a header, which enters their name. */
  const entering = (answer) => async (request) => {
    const name = request.headers.get("x-name");
    assert.equal(storage.getStore(), undefined);
    storage.enterWith({ name });
    await new Promise(setImmediate);
    return answer({ id: name, scopes: [] });
  };

  it("a served call sees the async context that identify enters, and no other request does", async (t) => {
    const handler = () => {
      const { name } = storage.getStore();
      storage.enterWith({ name: "handler" });
      return name;
    };
    const see = await seeing(t, { identify: entering((identity) => identity), handler });
    const names = ["ada", "bob", "eve", "ada", "bob"];
    assert.deepEqual(await Promise.all(names.map((name) => see({ headers: { "x-name": name } }))), names);
    assert.equal(await see({ headers: { "x-name": "mary" } }), "mary");
  });

  it("a served call does not see what identify has entered for another request, whose answer was kept", async (t) => {
    const see = await seeing(t, {
      identify: entering((identity) => ({ identity, maxAge: 60_000 })),
      handler: () => storage.getStore() ?? "nothing",
    });
    for (let i = 0; i < 3; i++) assert.equal(await see({ headers: { "x-name": "ada" } }), "nothing");
  });

  it("an MCP tool and calls of a spoke see the async context that identify enters", async (t) => {
    const handler = () => storage.getStore()?.name ?? "nothing";
    const identify = entering((identity) => identity);
    const registry = registryOf(operation({ name: "see", handler }));
    const served = await serve(registry, { doors: { mcp: true, hub: true }, identify });
    t.after(() => served.close({ drain: 0 }));
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "test_see", arguments: {} } };
    const headers = { accept: "application/json, text/event-stream", "x-name": "ada" };
    assert.match(await (await post(`${served.url}/mcp`, call, { headers })).text(), /"text":"\\"ada\\""/);
    const address = `${served.url.replace("http", "ws")}/hub`;
    const spoke = await connectHub(address, { name: "laptop", headers: { "x-name": "bob" } });
    t.after(() => spoke.close());
    assert.equal((await spoke.callMap.call("test.see", {})).data, "bob");
  });

  it("what identify has entered is forgotten with its request, whether it led to a call or not", async () => {
    const { stdout, stderr } = await runModule(`
      import { AsyncLocalStorage } from "node:async_hooks";
      import { setFlagsFromString } from "node:v8";
      import { runInNewContext } from "node:vm";
      import { createRegistry } from "@alkdev/operations";
      import { serve } from "@alkdev/operations/serve";
      import { operation } from "../registry/support/operations.mjs";
      setFlagsFromString("--expose-gc");
      const gc = runInNewContext("gc");
      const storage = new AsyncLocalStorage();
      const entered = [];
      const identify = ({ headers }) => {
        const store = { bytes: new Uint8Array(1000) };
        entered.push(new WeakRef(store));
        storage.enterWith(store);
        if (headers.get("x-fail") !== null) throw new Error("refused");
        return { id: "ada", scopes: [] };
      };
      const served = await serve(createRegistry([operation({ name: "see" })]), { doors: { http: true }, identify });
      const ask = async (path, headers = {}) => {
        const init = { method: "POST", headers: { "content-type": "application/json", ...headers }, body: '"x"' };
        await (await fetch(served.url + path, init)).text();
      };
      for (let i = 0; i < 20; i++) {
        await ask("/api/test/see");
        await ask("/api/test/none");
        await ask("/api/test/see", { "x-fail": "1" });
      }
      const left = () => entered.filter((each) => each.deref() !== undefined).length;
      // The last ones may still be on the stack, or in the messages that were taken last.
      for (let i = 0; i < 200 && left() > 3; i++) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        gc();
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      console.log(entered.length, left() <= 3 ? "forgotten" : left());
      await served.close();
    `);
    assert.match(stderr, /^(identify failed.*\n|.*OperationsWarning.*\n|.*--trace-warnings.*\n)*$/);
    assert.equal(stdout.trim(), "60 forgotten");
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
