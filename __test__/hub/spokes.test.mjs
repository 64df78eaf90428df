// Spokes: connections that call the hub, serve it, lose it and find it again.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";
import { buildEnv } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { connectHub } from "@alkdev/operations/transport-websocket";
import { configure, reset } from "@logtape/logtape";
import { Type } from "@sinclair/typebox";
import { startProxy } from "../support/proxy.mjs";
import { runModule } from "../support/run-node.mjs";
import { collectData as all } from "../support/waiting.mjs";
import {
  ADA,
  bareSocket,
  deferred,
  eventually,
  failureOf,
  hubOf,
  operation,
  registryOf,
  spokeOf,
  spokeProcess,
  subscription,
} from "./support.mjs";

const greet = operation({
  namespace: "demo",
  name: "greet",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.String(),
  handler: ({ name }) => `Hello, ${name}`,
});
const whoami = operation({
  namespace: "demo",
  name: "whoami",
  handler: (_, { identity, trusted }) => ({ id: identity?.id ?? null, trusted: trusted ?? null }),
});
const numbers = subscription({
  namespace: "demo",
  name: "numbers",
  inputSchema: Type.Object({ to: Type.Number() }),
  outputSchema: Type.Number(),
  handler: async function* ({ to }) {
    for (let n = 0; n < to; n++) yield n;
  },
});
const read = operation({
  namespace: "files",
  name: "read",
  inputSchema: Type.Object({ path: Type.String() }),
  outputSchema: Type.Object({ path: Type.String(), who: Type.Union([Type.String(), Type.Null()]) }),
  handler: ({ path }, { identity }) => ({ path, who: identity?.id ?? null }),
});
const byName = { hub: { accept: (spoke) => ({ namespace: spoke.name }) } };

describe("a spoke that calls", () => {
  it("a spoke calls and subscribes with the identity of its token", async () => {
    const { address } = await hubOf([greet, whoami, numbers]);
    const hub = await spokeOf(address, { token: "ada" });
    assert.equal((await hub.callMap.call("demo.greet", { name: "Ada" })).data, "Hello, Ada");
    assert.equal((await hub.callMap.call("demo.whoami", {})).data.id, "ada");
    assert.equal((await all(hub.callMap.subscribe("demo.numbers", { to: 1000 }))).length, 1000);
    assert.equal(hub.callMap.getPendingCount(), 0);
  });

  it("a spoke can have 10,000 calls in flight", async () => {
    const gate = deferred();
    const wait = operation({
      namespace: "demo",
      name: "wait",
      handler: (input) => gate.promise.then(() => input),
    });
    const { address } = await hubOf([wait]);
    const hub = await spokeOf(address);
    const calls = Array.from({ length: 10_000 }, (_, n) => hub.callMap.call("demo.wait", n));
    assert.equal(hub.callMap.getPendingCount(), 10_000);
    gate.resolve();
    const answers = await Promise.all(calls);
    assert.ok(answers.every(({ data }, n) => data === n));
    assert.equal(hub.callMap.getPendingCount(), 0);
  });

  it("a spoke aborts its calls by signal, by deadline and by leaving a stream", async () => {
    const begun = new Map(["signal", "deadline"].map((tag) => [tag, deferred()]));
    const aborted = new Set();
    const hang = operation({
      namespace: "demo",
      name: "hang",
      handler: (tag, { signal }) => {
        signal.addEventListener("abort", () => aborted.add(tag));
        begun.get(tag).resolve(true);
        return new Promise(() => {});
      },
    });
    const endless = subscription({
      namespace: "demo",
      name: "endless",
      handler: async function* () {
        try {
          for (let n = 0; ; n++) yield n;
        } finally {
          aborted.add("stream");
        }
      },
    });
    const { address } = await hubOf([hang, endless]);
    const hub = await spokeOf(address);
    const controller = new AbortController();
    const bySignal = failureOf(hub.callMap.call("demo.hang", "signal", { signal: controller.signal }));
    await begun.get("signal").promise;
    controller.abort();
    assert.equal((await bySignal).code, "ABORTED");
    // What has not begun by its deadline never does: a slow machine needs more time.
    let hasBegun = false;
    for (let time = 100; !hasBegun; time *= 2) {
      const byTime = hub.callMap.call("demo.hang", "deadline", { deadline: Date.now() + time });
      assert.equal((await failureOf(byTime)).code, "TIMEOUT");
      hasBegun = await Promise.race([begun.get("deadline").promise, Promise.resolve(false)]);
    }
    for await (const { data } of hub.callMap.subscribe("demo.endless", {})) if (data === 300) break;
    await eventually(() => aborted.size === 3);
    assert.deepEqual([...aborted].sort(), ["deadline", "signal", "stream"]);
  });

  it("a slow spoke makes the hub buffer no more than a window", async () => {
    let yielded = 0;
    const endless = subscription({
      namespace: "demo",
      name: "endless",
      handler: async function* () {
        for (;;) {
          yielded += 1;
          yield yielded;
        }
      },
    });
    const { address } = await hubOf([endless]);
    const hub = await spokeOf(address);
    const events = hub.callMap.subscribe("demo.endless", {});
    await events.next();
    let before = -1;
    await eventually(async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      const isStill = before === yielded;
      before = yielded;
      return isStill;
    });
    assert.ok(yielded <= 128 + 64 + 2, `${yielded} events were made for one that was read`);
    await events.return();
  });

  it("a spoke that cannot connect says where the hub is missing, or why it was refused", async () => {
    const { address, url } = await hubOf();
    const nowhere = await failureOf(connectHub("ws://127.0.0.1:1/hub", { name: "x" }));
    assert.equal(nowhere.details.reason, "unreachable");
    const wrong = await failureOf(connectHub(address, { name: "x", token: "s3cret" }));
    assert.equal(wrong.code, "ACCESS_DENIED");
    assert.equal(wrong.details.statusCode, 401);
    assert.ok(!JSON.stringify([wrong.message, wrong.details]).includes("s3cret"));
    const path = await failureOf(connectHub(`${url}/other`, { name: "x" }));
    assert.equal(path.details.statusCode, 404);
    for (const [bad, options] of [
      ["ftp://127.0.0.1/hub", { name: "x" }],
      ["ws://user:pass@127.0.0.1/hub", { name: "x" }],
      [address, {}],
      [address, { name: "x", headers: { "bad name": "v" } }],
      [address, { name: "x", tokn: "y" }],
    ]) {
      const error = await failureOf(connectHub(bad, options));
      assert.equal(error.code, "VALIDATION_ERROR", bad);
      assert.ok(!error.message.includes("pass@"), error.message);
    }
  });

  it("a spoke can import the operations of its hub", async () => {
    const hidden = operation({ namespace: "demo", name: "hidden", visibility: "internal" });
    const { address, registry } = await hubOf([greet, whoami, numbers, hidden]);
    const hub = await spokeOf(address, { token: "proxy" });
    const { operations } = await hub.discover();
    assert.deepEqual(
      operations.map(({ name }) => name),
      ["greet", "whoami", "numbers"],
    );
    const mine = registryOf();
    const imported = await hub.import({ namespace: "remote", exclude: ["demo.greet"], keepInStep: mine });
    assert.deepEqual(
      imported.map(({ name }) => name),
      ["whoami", "numbers"],
    );
    assert.equal((await mine.execute("remote.whoami", {}, { identity: ADA, trusted: true })).data.id, "ada");
    assert.equal(
      (await mine.execute("remote.whoami", {}, { identity: ADA, trusted: true })).data.trusted,
      null,
    );
    assert.deepEqual(await all(mine.subscribe("remote.numbers", { to: 3 }, {})), [0, 1, 2]);
    const env = buildEnv({ registry: mine, context: {} });
    assert.equal((await env.remote.whoami({})).data.id, "proxy");
    registry.register(operation({ namespace: "late", name: "one" }));
    registry.unregister("demo.whoami");
    await eventually(() => mine.get("remote.one") !== undefined && mine.get("remote.whoami") === undefined);
    await hub.close();
    assert.deepEqual(mine.list(), []);
  });
});

describe("a spoke that serves", () => {
  it("the operations of a spoke are in the hub's registry until it leaves", async () => {
    const { address, registry, spokes, url } = await hubOf([], byName);
    const heard = [];
    for (const event of ["joined", "registered", "left"]) {
      spokes.on(event, ({ name }) => heard.push(`${event} ${name}`));
    }
    const spoke = await spokeOf(address, { name: "laptop", token: "bob" });
    assert.deepEqual(await spoke.serve(registryOf(read, numbers)), {
      operations: ["laptop.read", "laptop.numbers"],
    });
    const [there] = spokes.list();
    assert.equal(there.name, "laptop");
    assert.equal(there.identity.id, "bob");
    assert.deepEqual(there.registered, ["laptop.read", "laptop.numbers"]);
    assert.deepEqual((await registry.execute("laptop.read", { path: "/a" }, { identity: ADA })).data, {
      path: "/a",
      who: "ada",
    });
    // The input is checked before anything is sent.
    assert.equal((await failureOf(registry.execute("laptop.read", {}))).code, "VALIDATION_ERROR");
    assert.deepEqual(await all(registry.subscribe("laptop.numbers", { to: 3 }, {})), [0, 1, 2]);
    const served = await fetch(`${url}/api/laptop/read?path=/b`, {
      headers: { authorization: "Bearer ada" },
    });
    assert.deepEqual(await served.json(), { path: "/b", who: "ada" });
    assert.equal((await there.callMap.call("files.read", { path: "/c" })).data.path, "/c");
    await spoke.close();
    await eventually(() => registry.get("laptop.read") === undefined);
    assert.deepEqual(heard, ["joined laptop", "registered laptop", "left laptop"]);
    assert.deepEqual(spokes.list(), []);
  });

  it("a spoke is called by other spokes through the hub, with their identities", async () => {
    const { address } = await hubOf([], byName);
    const laptop = await spokeOf(address, { name: "laptop", token: "bob" });
    await laptop.serve(registryOf(read));
    const caller = await spokeOf(address, { name: "caller", token: "ada" });
    const { data } = await caller.callMap.call("laptop.read", { path: "/a" });
    assert.deepEqual(data, { path: "/a", who: "ada" });
    // It does not see its own operations in the hub's list.
    assert.deepEqual((await laptop.discover()).operations, []);
    assert.deepEqual(
      (await caller.discover()).operations.map(({ name }) => name),
      ["read"],
    );
  });

  it("a spoke is called while the JavaScript thread of the hub is busy", async () => {
    const { address, url, registry } = await hubOf([], byName);
    const spoke = await spokeProcess(address, "laptop");
    await eventually(() => registry.get("laptop.pid") !== undefined);
    const ask = `process.stdout.write(await (await fetch("${url}/api/laptop/pid", { method: "POST" })).text())`;
    // The list of operations is JavaScript's to tell, once.
    const { stdout } = await runModule(ask);
    assert.equal(stdout, String(spoke.pid));
    // Our event loop does not turn before the answer is there.
    const options = { encoding: "utf8", timeout: 20_000 };
    const answer = execFileSync(process.execPath, ["--input-type=module", "--eval", ask], options);
    assert.equal(answer, String(spoke.pid));
    spoke.kill("SIGKILL");
  });

  it("a spoke's offer is refused if the hub denies it, or names collide", async () => {
    const accept = ({ name }) => name !== "stranger" && { namespace: "shared" };
    const { address, registry } = await hubOf([operation({ namespace: "shared", name: "taken" })], {
      hub: { accept },
    });
    const stranger = await spokeOf(address, { name: "stranger" });
    const refused = await failureOf(stranger.serve(registryOf(read)));
    assert.equal(refused.code, "ACCESS_DENIED");
    assert.equal(refused.details.reason, "not-accepted");
    const first = await spokeOf(address, { name: "first" });
    await first.serve(registryOf(read));
    const second = await spokeOf(address, { name: "second" });
    const collision = await failureOf(second.serve(registryOf(read)));
    assert.equal(collision.details.reason, "collision");
    assert.match(collision.message, /shared\.read/);
    const third = await spokeOf(address, { name: "third" });
    const taken = await failureOf(third.serve(registryOf(operation({ namespace: "x", name: "taken" }))));
    assert.match(taken.message, /shared\.taken/);
    const twice = await failureOf(
      third.serve(
        registryOf(operation({ namespace: "x", name: "same" }), operation({ namespace: "y", name: "same" })),
      ),
    );
    assert.match(twice.message, /x\.same and y\.same/);
    assert.deepEqual(
      registry.list().map(({ name }) => name),
      ["taken", "read"],
    );
  });

  it("a call of an unknown operation gets the nearest that the caller may call, at the hub and at the spoke", async () => {
    const secret = operation({
      namespace: "vault",
      name: "stock",
      accessControl: { requiredScopes: ["read"] },
    });
    const { address, spokes } = await hubOf([operation({ namespace: "shop", name: "stock" }), secret]);
    const bob = await spokeOf(address, { name: "bob", token: "bob" });
    const ada = await spokeOf(address, { name: "ada", token: "ada" });
    const told = async (map, id) => {
      const { code, message, details } = await failureOf(map.call(id, {}));
      assert.equal(code, "OPERATION_NOT_FOUND");
      assert.deepEqual([details.operationId, details.delivery], [id, "none"]);
      return [message, details.reason, details.nearest];
    };
    const none = "The hub serves no such operation";
    assert.deepEqual(await told(bob.callMap, "shop.stok"), [
      `Operation not found: shop.stok. ${none}. Did you mean shop.stock?`,
      "no-such-operation",
      "shop.stock",
    ]);
    assert.equal((await told(ada.callMap, "vault.stok"))[2], "vault.stock");
    assert.deepEqual(await told(bob.callMap, "vault.stok"), [
      `Operation not found: vault.stok. ${none}`,
      "no-such-operation",
      undefined,
    ]);
    const [toBob] = spokes.list().filter(({ name }) => name === "bob");
    assert.deepEqual(await told(toBob.callMap, "notes.read"), [
      "Operation not found: notes.read. The spoke serves no operations",
      "no-worker",
      undefined,
    ]);
    await bob.serve(registryOf(operation({ namespace: "notes", name: "read" })));
    assert.equal(
      (await told(toBob.callMap, "notes.raed"))[0],
      "Operation not found: notes.raed. The spoke serves no such operation. Did you mean notes.read?",
    );
  });

  it("an accept that returns nonsense is reported to the spoke and in the hub's log", async () => {
    const logged = [];
    await configure({
      sinks: { memory: (record) => logged.push(record.message.join("")) },
      loggers: [
        { category: ["operations"], sinks: ["memory"], lowestLevel: "error" },
        { category: ["logtape", "meta"], sinks: [] },
      ],
    });
    try {
      for (const [returned, why] of [
        [undefined, /returned undefined; expected false or an object/],
        [true, /returned true; expected false or an object/],
        [{ namespce: "laptop" }, /returned an object; .*Did you mean namespace\?/],
      ]) {
        const { address } = await hubOf([], { hub: { accept: () => returned } });
        const spoke = await spokeOf(address, { name: "laptop" });
        const error = await failureOf(spoke.serve(registryOf(read)));
        assert.equal(error.details.reason, "not-accepted");
        assert.match(error.message, why);
        await eventually(() => logged.some((line) => line.includes(error.message)));
      }
    } finally {
      await reset();
    }
  });

  it("a spoke whose registry is refused can serve another one", async () => {
    let offers = 0;
    const accept = () => ++offers > 1 && { namespace: "laptop" };
    const { address, registry } = await hubOf([], { hub: { accept } });
    const spoke = await spokeOf(address, { name: "laptop" });
    const refused = await failureOf(spoke.serve(registryOf(read)));
    assert.equal(refused.details.reason, "not-accepted");
    await spoke.serve(registryOf(greet));
    const { data } = await registry.execute("laptop.greet", { name: "Ada" });
    assert.equal(data, "Hello, Ada");
  });

  it("a spoke whose offer is refused does no harm to the one before it", async () => {
    const { address, registry } = await hubOf([], { hub: { accept: () => ({ namespace: "laptop" }) } });
    const first = await spokeOf(address, { name: "laptop", token: "bob" });
    await first.serve(registryOf(read));
    const again = await spokeOf(address, { name: "laptop", token: "bob" });
    const refused = await failureOf(
      again.serve(
        registryOf(operation({ namespace: "x", name: "same" }), operation({ namespace: "y", name: "same" })),
      ),
    );
    assert.equal(refused.details.reason, "collision");
    assert.equal((await registry.execute("laptop.read", { path: "/" })).data.path, "/");
  });

  it("the hub follows what a spoke registers later", async () => {
    const { address, registry } = await hubOf([], byName);
    const spoke = await spokeOf(address, { name: "laptop" });
    const mine = registryOf(read);
    await spoke.serve(mine);
    mine.register(operation({ namespace: "files", name: "write" }));
    mine.unregister("files.read");
    await eventually(
      () => registry.get("laptop.write") !== undefined && registry.get("laptop.read") === undefined,
    );
  });

  it("a page with nothing but a WebSocket can be a spoke", async () => {
    const { address, registry } = await hubOf([], byName);
    const page = await bareSocket(`${address}?name=page`);
    page.send("hub.offer", { operations: [{ namespace: "tab", name: "title", type: "query" }] }, "1");
    const accepted = await page.until(({ type }) => type === "hub.accepted");
    assert.deepEqual(accepted.payload.operations, ["page.title"]);
    const calling = registry.execute("page.title", {});
    const { payload } = await page.until(({ type }) => type === "call.requested");
    assert.equal(payload.operationId, "tab.title");
    const meta = { source: "local", operationId: "tab.title", timestamp: Date.now() };
    page.send("call.responded", { requestId: payload.requestId, output: { data: "Hello", meta } });
    assert.equal((await calling).data, "Hello");
  });

  it("calls to a spoke that disconnects fail with peer-lost", async () => {
    const begun = deferred();
    const hang = operation({
      namespace: "files",
      name: "hang",
      handler: () => {
        begun.resolve();
        return new Promise(() => {});
      },
    });
    const { address, registry } = await hubOf([], byName);
    const proxy = await startProxy(Number(new URL(address).port));
    const spoke = await spokeOf(`ws://127.0.0.1:${proxy.port}/hub`, { name: "laptop", reconnect: false });
    await spoke.serve(registryOf(hang));
    const failing = failureOf(registry.execute("laptop.hang", {}));
    await begun.promise;
    await proxy.stop();
    const error = await failing;
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.equal(error.details.reason, "peer-lost");
    assert.equal(error.details.delivery, "unknown");
    assert.match(error.message, /laptop/);
    await eventually(() => registry.get("laptop.hang") === undefined);
  });
});

describe("a connection that is lost", () => {
  it("a half-open connection is detected, and made again", async () => {
    const { address, registry } = await hubOf([greet], { hub: { ...byName.hub, heartbeat: 100 } });
    const proxy = await startProxy(Number(new URL(address).port));
    const spoke = await spokeOf(`ws://127.0.0.1:${proxy.port}/hub`, {
      name: "laptop",
      heartbeat: 500,
      reconnect: { minDelay: 10, maxDelay: 50 },
    });
    await spoke.serve(registryOf(read));
    const heard = [];
    spoke.on("disconnected", () => heard.push("disconnected"));
    spoke.on("reconnected", () => heard.push("reconnected"));
    // On a busy machine the hub may have missed a sign of life: then the spoke has just come back.
    await eventually(() => spoke.status().state === "connected");
    proxy.cut();
    // Sent into a connection that is dead, and nobody knows it.
    const error = await failureOf(spoke.callMap.call("demo.greet", { name: "Ada" }));
    assert.equal(error.details.reason, "peer-lost");
    assert.equal(error.details.delivery, "unknown");
    await eventually(() => registry.get("laptop.read") === undefined);
    proxy.mend();
    await eventually(() => heard.includes("reconnected"));
    assert.equal((await spoke.callMap.call("demo.greet", { name: "Ada" })).data, "Hello, Ada");
    await eventually(() => registry.get("laptop.read") !== undefined);
    assert.equal((await registry.execute("laptop.read", { path: "/" })).data.path, "/");
    assert.equal(spoke.stats().reconnections >= 1, true);
    await proxy.stop();
  });

  it("calls wait while the hub is away", async () => {
    const first = await hubOf([greet], byName);
    const port = Number(new URL(first.url).port);
    const spoke = await spokeOf(first.address, { name: "laptop", reconnect: { minDelay: 10, maxDelay: 50 } });
    await spoke.serve(registryOf(read));
    await first.served.close();
    await eventually(() => spoke.status().state === "disconnected");
    const waiting = spoke.callMap.call("demo.greet", { name: "Ada" });
    const impatient = await failureOf(
      spoke.callMap.call("demo.greet", { name: "Ada" }, { deadline: Date.now() + 30 }),
    );
    assert.equal(impatient.code, "TIMEOUT");
    assert.equal(impatient.details.delivery, "none");
    const registry = registryOf(greet);
    const again = await serve(registry, { port, doors: { hub: byName.hub } });
    assert.equal((await waiting).data, "Hello, Ada");
    await eventually(() => registry.get("laptop.read") !== undefined);
    await spoke.close();
    await again.close();
  });

  it("a reconnected spoke offers again what the hub had accepted, although it has refused a change since", async (t) => {
    const first = await hubOf([], byName);
    const port = Number(new URL(first.url).port);
    const reconnect = { minDelay: 10, maxDelay: 50 };
    const spoke = await spokeOf(first.address, { name: "laptop", reconnect });
    const mine = registryOf(read);
    await spoke.serve(mine);
    const logged = [];
    await configure({
      sinks: { memory: ({ message }) => logged.push(message.join("")) },
      loggers: [
        { category: ["operations"], sinks: ["memory"] },
        { category: ["logtape", "meta"], sinks: [] },
      ],
    });
    t.after(() => reset());
    // Two operations that would have the same name at the hub.
    mine.register(operation({ namespace: "notes", name: "read" }));
    await eventually(() => logged.some((line) => line.includes("did not accept operations")));
    await first.served.close();
    const registry = registryOf();
    const again = await serve(registry, { port, doors: { hub: byName.hub } });
    await eventually(() => registry.get("laptop.read") !== undefined);
    assert.equal((await registry.execute("laptop.read", { path: "/" })).data.path, "/");
    await spoke.close();
    await again.close();
  });

  it("a lost connection is not made again without reconnect", async () => {
    const { served, address } = await hubOf([greet]);
    const spoke = await spokeOf(address, { reconnect: false });
    await served.close();
    await eventually(() => spoke.status().state === "closed");
    const error = await failureOf(spoke.callMap.call("demo.greet", { name: "Ada" }));
    assert.equal(error.details.delivery, "none");
  });
});

describe("two spokes of one name", () => {
  it("two anonymous spokes of one name are two, and the second is refused", async () => {
    const { address, registry, spokes } = await hubOf([], byName);
    const first = await spokeOf(address, { name: "laptop" });
    await first.serve(registryOf(read));
    const second = await spokeOf(address, { name: "laptop" });
    const refused = await failureOf(second.serve(registryOf(read)));
    assert.equal(refused.details.reason, "collision");
    assert.match(refused.message, /laptop\.read/);
    // The first is as it was.
    assert.equal((await registry.execute("laptop.read", { path: "/" })).data.path, "/");
    assert.deepEqual(
      spokes.list().map(({ registered }) => registered),
      [["laptop.read"], []],
    );
    const page = await bareSocket(`${address}?name=laptop`);
    page.send("hub.offer", { operations: [{ namespace: "x", name: "read", type: "query" }] }, "1");
    const answer = await page.until(({ type }) => type === "hub.error");
    assert.equal(answer.payload.details.reason, "collision");
  });

  it("an identified spoke that reconnects replaces its old connection before the hub has noticed its loss", async () => {
    for (const token of [undefined, "bob"]) {
      const { address, registry, url } = await hubOf([], byName);
      const proxy = await startProxy(Number(new URL(url).port));
      const through = address.replace(/:\d+/, `:${proxy.port}`);
      const spoke = await spokeOf(through, {
        name: "laptop",
        ...(token && { token }),
        heartbeat: 300,
        reconnect: { minDelay: 5, maxDelay: 10 },
      });
      await spoke.serve(registryOf(read));
      const before = registry.getHandler("laptop.read");
      // Only the spoke notices: the hub waits for half a minute.
      proxy.cut();
      await eventually(() => spoke.status().state === "disconnected");
      proxy.mend();
      await eventually(() => ![undefined, before].includes(registry.getHandler("laptop.read")));
      await eventually(async () => {
        const asked = registry.execute("laptop.read", { path: "/" }, { deadline: Date.now() + 1_000 });
        return (await asked.catch(() => undefined))?.data.path === "/";
      });
      await spoke.close({ drain: 0 });
      await proxy.stop();
    }
  });
});

describe("the end", () => {
  it("closing lets running calls finish, on either side", async () => {
    const gate = deferred();
    const begun = deferred();
    const work = operation({
      namespace: "demo",
      name: "work",
      handler: async () => {
        begun.resolve();
        await gate.promise;
        return "done";
      },
    });
    const { address, served } = await hubOf([work]);
    const spoke = await spokeOf(address, { reconnect: false });
    const working = spoke.callMap.call("demo.work", {});
    await begun.promise;
    const closing = served.close();
    setTimeout(() => gate.resolve(), 50);
    assert.equal((await working).data, "done");
    await closing;
  });

  it("closing a spoke fails calls without a response", async () => {
    const begun = deferred();
    const hang = operation({
      namespace: "demo",
      name: "hang",
      handler: () => {
        begun.resolve();
        return new Promise(() => {});
      },
    });
    const { address } = await hubOf([hang]);
    const spoke = await spokeOf(address);
    const failing = failureOf(spoke.callMap.call("demo.hang", {}));
    await begun.promise;
    await spoke.close();
    const error = await failing;
    assert.equal(error.details.reason, "closed");
    assert.equal(error.details.delivery, "unknown");
    assert.equal(spoke.status().state, "closed");
    const late = await failureOf(spoke.callMap.call("demo.hang", {}));
    assert.equal(late.details.delivery, "none");
  });
});

describe("a spoke whose registry changes", () => {
  it("a spoke offers what is registered while its first offer is on its way", async () => {
    const { address, registry } = await hubOf([], byName);
    const laptop = await spokeOf(address, { name: "laptop" });
    const own = registryOf(read);
    const served = laptop.serve(own);
    own.register(greet);
    await served;
    await eventually(() => registry.get("laptop.greet") !== undefined);
  });

  it("a spoke offers what is registered under a mocked clock", async (t) => {
    const { address, registry } = await hubOf([], byName);
    const laptop = await spokeOf(address, { name: "laptop" });
    const own = registryOf(read);
    await laptop.serve(own);
    t.mock.timers.enable({ apis: ["setTimeout"] });
    own.register(greet);
    t.mock.timers.reset();
    await eventually(() => registry.get("laptop.greet") !== undefined);
  });
});
