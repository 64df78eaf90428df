// `connectRedis`: which worker runs a call, and what is known when one of both ends disappears.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { OperationRegistry } from "@alkdev/operations";
import { connectRedis } from "@alkdev/operations/transport-redis";
import { query } from "../call/support.mjs";
import { freePort, missingBroker, startRedis } from "../support/brokers.mjs";
import { runModule } from "../support/run-node.mjs";
import { deferred, failureOf, until } from "../support/waiting.mjs";

const folder = new URL("./", import.meta.url);

describe("workers on one Redis", { skip: missingBroker("redis-server"), timeout: 120_000 }, () => {
  let redis;
  const open = [];
  let prefixes = 0;
  before(async () => {
    redis = await startRedis();
  });
  after(async () => {
    await Promise.all(open.map((each) => each.close({ drain: 0 })));
    await redis.stop();
  });

  async function connect(prefix, name) {
    const connection = await connectRedis({ url: redis.url, prefix, name });
    open.push(connection);
    return connection;
  }
  async function serving(prefix, name, operations, options) {
    const connection = await connect(prefix, name);
    const registry = new OperationRegistry();
    registry.registerAll(operations);
    await connection.serve(registry, options);
    return connection;
  }
  const freshPrefix = () => `c${++prefixes}:`;

  it("each call runs at one worker, and the calls are shared", async () => {
    const prefix = freshPrefix();
    const ran = { a: [], b: [], c: [] };
    for (const name of Object.keys(ran)) {
      await serving(prefix, name, [query("note", ({ n }) => void ran[name].push(n))]);
    }
    const { callMap } = await connect(prefix, "caller");
    await Promise.all(Array.from({ length: 300 }, (_, n) => callMap.call("t.note", { n })));
    const all = Object.values(ran).flat();
    assert.deepEqual(
      all.sort((a, b) => a - b),
      [...Array(300).keys()],
    );
    for (const [name, { length }] of Object.entries(ran)) assert.ok(length > 50, `${name} ran ${length}`);
  });

  it("calls in flight while a worker closes are finished, or run at another", async () => {
    const prefix = freshPrefix();
    const pause = () => new Promise((resolve) => setTimeout(resolve, 5));
    const work = query("work", async ({ n }) => pause().then(() => ({ n })));
    const leaving = await serving(prefix, "leaving", [work], { concurrency: 4 });
    const { callMap } = await connect(prefix, "caller");
    await callMap.call("t.work", { n: 0 });
    await serving(prefix, "staying", [work], { concurrency: 4 });
    const calls = Array.from({ length: 200 }, (_, n) => callMap.call("t.work", { n }));
    await leaving.close();
    const answers = await Promise.all(calls);
    assert.ok(answers.every(({ data }, n) => data.n === n));
  });

  it("an overloaded worker passes a call on to another", async () => {
    const prefix = freshPrefix();
    const gate = deferred();
    const wait = query("wait", () => gate.promise);
    const limits = { concurrency: 1, queue: 0 };
    await serving(prefix, "a", [wait], limits);
    const { callMap } = await connect(prefix, "first");
    const first = callMap.call("t.wait", {});
    const other = await connect(prefix, "second");
    await serving(prefix, "b", [wait], limits);
    await until(async () => (await other.discover()).operations[0].workers.length === 2);
    const calls = [0, 1].map(() => other.callMap.call("t.wait", {}).catch(({ details }) => details.reason));
    assert.equal(await Promise.race(calls), "overloaded");
    gate.resolve({});
    await first;
    assert.equal((await Promise.all(calls)).filter((each) => each !== "overloaded").length, 1);
  });

  it("a worker that is killed fails its calls, and the next call runs at another", async () => {
    const prefix = freshPrefix();
    const child = spawn(
      process.execPath,
      [
        "--input-type=module",
        "--eval",
        `
        import { OperationRegistry } from "@alkdev/operations";
        import { connectRedis } from "@alkdev/operations/transport-redis";
        import { query } from "../call/support.mjs";
        const registry = new OperationRegistry();
        registry.register(query("who", () => "child"));
        registry.register(query("hang", () => { console.log("hangs"); return new Promise(() => {}); }));
        const redis = await connectRedis(${JSON.stringify({ url: redis.url, prefix, name: "child" })});
        await redis.serve(registry);
        `,
      ],
      { cwd: fileURLToPath(folder), stdio: ["ignore", "pipe", "inherit"] },
    );
    const ended = once(child, "exit");
    const { callMap } = await connect(prefix, "caller");
    await until(() =>
      callMap.call("t.who", {}).then(
        () => true,
        () => false,
      ),
    );
    const hanging = failureOf(callMap.call("t.hang", {}));
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await ended;
    const error = await hanging;
    assert.deepEqual([error.details.reason, error.details.delivery], ["worker-lost", "unknown"]);
    await serving(prefix, "other", [query("who", () => "other")]);
    assert.equal((await callMap.call("t.who", {})).data, "other");
  });

  it("a process that called ends by itself, and what it left behind is aborted", async () => {
    const prefix = freshPrefix();
    const began = deferred();
    const aborted = deferred();
    await serving(prefix, "worker", [
      query("double", ({ n }) => ({ n: n * 2 })),
      query("hang", (_, { signal }) => {
        signal.addEventListener("abort", () => aborted.resolve());
        began.resolve();
        return new Promise(() => {});
      }),
    ]);
    const connecting = `
      import { connectRedis } from "@alkdev/operations/transport-redis";
      const { callMap } = await connectRedis(${JSON.stringify({ url: redis.url, prefix, name: "caller" })});
    `;
    const { code, stdout, stderr } = await runModule(
      `${connecting} console.log((await callMap.call("t.double", { n: 2 })).data.n);`,
      { cwd: folder },
    );
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "4\n", stderr: "" });
    const child = spawn(
      process.execPath,
      ["--input-type=module", "--eval", `${connecting} await callMap.call("t.hang", {});`],
      { cwd: fileURLToPath(folder), stdio: ["ignore", "inherit", "inherit"] },
    );
    await began.promise;
    child.kill("SIGKILL");
    await aborted.promise;
  });

  it("after Redis was restarted, calls are served again", async () => {
    const own = await startRedis();
    const events = [];
    try {
      const url = own.url;
      const worker = await connectRedis({ url, name: "worker" });
      const registry = new OperationRegistry();
      registry.register(query("double", ({ n }) => ({ n: n * 2 })));
      await worker.serve(registry);
      const caller = await connectRedis({ url, name: "caller" });
      for (const event of ["disconnected", "reconnected", "closed"]) {
        caller.on(event, ({ state }) => events.push([event, state]));
      }
      assert.equal((await caller.callMap.call("t.double", { n: 1 })).data.n, 2);
      await own.restart();
      await until(() => events.length === 2);
      await until(() =>
        caller.callMap.call("t.double", { n: 2 }).then(
          ({ data }) => data.n === 4,
          () => false,
        ),
      );
      await caller.close();
      await worker.close();
    } finally {
      await own.stop();
    }
    assert.deepEqual(events, [
      ["disconnected", "disconnected"],
      ["reconnected", "connected"],
      ["closed", "closed"],
    ]);
  });

  it("an address where no Redis is, and options that do not fit, are refused", async () => {
    const url = `redis://127.0.0.1:${await freePort()}`;
    const unreachable = await failureOf(connectRedis({ url, name: "a", publishTimeout: 200 }));
    assert.equal(unreachable.details.reason, "not-sent");
    assert.match((await failureOf(connectRedis({ url }))).message, /connectRedis: name/);
    assert.match((await failureOf(connectRedis({ url, name: "a", prefx: "" }))).message, /prefix/);
  });

  it("import makes operations that are shared between the workers, without those of this connection", async () => {
    const prefix = freshPrefix();
    for (const name of ["a", "b"]) await serving(prefix, name, [query("who", () => name)]);
    const hub = await serving(prefix, "hub", [query("own", () => "hub")]);
    const registry = new OperationRegistry();
    registry.registerAll(await hub.import({ namespace: "far" }));
    assert.deepEqual(
      registry.list().map(({ name }) => name),
      ["who"],
    );
    const { operations } = await hub.discover();
    assert.equal(operations.find(({ operationId }) => operationId === "t.who").workers.length, 2);
    const said = await Promise.all(Array.from({ length: 10 }, () => registry.execute("far.who", {})));
    assert.deepEqual(new Set(said.map(({ data }) => data)), new Set(["a", "b"]));
  });
});
