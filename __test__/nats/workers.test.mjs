// Workers and callers in processes of their own.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OperationRegistry, unwrap } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { runNode } from "../support/run-node.mjs";
import { query, skip, sleep, subscription, until, useNats } from "./support.mjs";

const worker = "./worker-process.mjs";
const caller = "./caller-process.mjs";

describe("many processes", { skip, timeout: 240_000 }, () => {
  const nats = useNats();

  it("with three workers and two callers every call has the right outcome, and all workers share", async () => {
    const workers = await Promise.all(
      [1, 2, 3].map((i) => nats.process(worker, { name: `w${i}`, concurrency: 8 })),
    );
    const callers = await Promise.all([
      nats.process(caller, { calls: 2_000 }),
      nats.process(caller, { calls: 2_000 }),
    ]);
    for (const process of callers) {
      const { right, settled, pending } = await process.until((line) => "settled" in line);
      assert.deepEqual({ right, settled, pending }, { right: 2_000, settled: 2_000, pending: 0 });
      // With nothing pending, an open connection keeps no process alive.
      assert.deepEqual(await process.exited, [0, null]);
    }
    const { callMap } = await nats.connect();
    const pids = new Set();
    for (let i = 0; i < 100; i++) pids.add(unwrap(await callMap.call("t.whoami", {})).pid);
    assert.deepEqual([...pids].sort(), workers.map(({ pid }) => pid).sort());
    await Promise.all(workers.map((process) => process.kill()));
  });

  it("no worker is overloaded while another idles", async () => {
    const workers = await Promise.all(
      [1, 2, 3].map((i) => nats.process(worker, { name: `w${i}`, concurrency: 1 })),
    );
    const { callMap } = await nats.connect();
    const began = () => workers.flatMap(({ lines }) => lines.filter((line) => "began" in line)).length;
    for (let round = 1; round <= 5; round++) {
      // As many long calls as there are places: all must begin before any has ended.
      const before = began();
      const calls = [1, 2, 3].map((i) => callMap.call("t.work", { ms: 500, tag: `${round}-${i}` }));
      const first = Promise.race(calls).then(() => began());
      assert.equal((await first) - before, 3, `round ${round}`);
      const pids = (await Promise.all(calls)).map((envelope) => unwrap(envelope).pid);
      assert.equal(new Set(pids).size, 3);
    }
    // More than there are places: each has its turn, and no worker ever has two.
    const many = await Promise.all(
      Array.from({ length: 30 }, (_, i) => callMap.call("t.work", { ms: 20, tag: `many-${i}` })),
    );
    assert.deepEqual(
      many.map((envelope) => unwrap(envelope).tag),
      Array.from({ length: 30 }, (_, i) => `many-${i}`),
    );
    for (const { lines } of workers) {
      let running = 0;
      for (const line of lines) {
        if ("began" in line) running += 1;
        if ("ended" in line) running -= 1;
        assert.ok(running <= 1);
      }
    }
    await Promise.all(workers.map((process) => process.kill()));
  });

  it("a worker killed in mid-call fails its calls only, and waiting ones move on", async () => {
    const [victim, other] = await Promise.all([
      nats.process(worker, { name: "victim", concurrency: 2 }),
      nats.process(worker, { name: "other", concurrency: 2 }),
    ]);
    const connection = await nats.connect();
    const { callMap } = connection;
    const hanging = Array.from({ length: 4 }, () => callMap.call("t.hang", {}));
    const outcomes = hanging.map((call) => call.catch((error) => error));
    const hangs = (process) => process.lines.filter((line) => line.hanging).length;
    await until(() => hangs(victim) === 2 && hangs(other) === 2);
    // All places are taken: this one waits at the caller.
    const waiting = callMap.call("t.echo", "waited");
    // Messages keep their order: when both workers have answered this, whoever got the request has sent it back.
    await until(async () => (await connection.discover()).workers.length === 2);
    await victim.kill("SIGKILL");
    const lost = [];
    await until(async () => {
      const done = await Promise.all(outcomes.map((outcome) => Promise.race([outcome, undefined])));
      lost.splice(0, lost.length, ...done.filter((error) => error !== undefined));
      return lost.length === 2;
    });
    for (const error of lost) {
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.match(error.message, /^The worker victim .* has disappeared/);
      assert.deepEqual(error.details, {
        operationId: "t.hang",
        reason: "worker-lost",
        delivery: "unknown",
        worker: "victim",
      });
    }
    assert.equal(callMap.getPendingCount(), 3);
    const replacement = await nats.process(worker, { name: "replacement" });
    assert.equal(unwrap(await waiting), "waited");
    await other.kill();
    await Promise.all(outcomes);
    assert.equal(callMap.getPendingCount(), 0);
    await replacement.kill();
    // Now nobody is left, and that is said at once.
    await until(async () => (await nats.connect().then((c) => c.discover())).workers.length === 0);
    await assert.rejects(callMap.call("t.echo", 1), { code: "OPERATION_NOT_FOUND" });
  });

  it("calls of a caller that vanishes are aborted, and its streams end at the workers", async () => {
    const server = await nats.process(worker);
    const vanishing = await nats.process(caller, { hang: true, stream: true });
    await vanishing.until((line) => line.streaming);
    await server.until((line) => line.hanging);
    await vanishing.kill("SIGKILL");
    await server.until((line) => line.aborted === "ticks");
    await server.until((line) => line.finally === "ticks");
    await server.until((line) => line.aborted === "hang");
    await server.kill();
  });

  it("nested calls over NATS are aborted with their parent, across processes", async () => {
    const processes = await Promise.all([
      nats.process(worker, { concurrency: 1 }),
      nats.process(worker, { concurrency: 1 }),
    ]);
    const { callMap } = await nats.connect();
    const controller = new AbortController();
    const call = callMap.call("t.outer", {}, { signal: controller.signal });
    await until(() => processes.some(({ lines }) => lines.some((line) => line.hanging)));
    controller.abort();
    await assert.rejects(call, { code: "ABORTED" });
    const aborted = () =>
      processes.flatMap(({ lines }) => lines.filter((line) => line.aborted).map((l) => l.aborted));
    await until(() => aborted().length === 2);
    assert.deepEqual(aborted().sort(), ["hang", "outer"]);
    await Promise.all(processes.map((process) => process.kill()));
  });

  it("closing a worker drains: running calls are finished, no new ones are taken, the process ends", async () => {
    const leaving = await nats.process(worker, { name: "leaving", concurrency: 4 });
    const { callMap } = await nats.connect();
    const running = [1, 2, 3].map((tag) => callMap.call("t.work", { ms: 400, tag }));
    await until(() => leaving.lines.filter((line) => "began" in line).length === 3);
    leaving.tell({ close: true });
    // Those that come while it leaves go to others, or are told that there is nobody.
    let refused = 0;
    await until(async () => {
      const late = await callMap.call("t.echo", 1).catch((error) => error.code);
      if (late === "OPERATION_NOT_FOUND") refused += 1;
      return refused > 0;
    });
    assert.deepEqual(
      (await Promise.all(running)).map((envelope) => unwrap(envelope).tag),
      [1, 2, 3],
    );
    await leaving.until((line) => line.closed);
    assert.deepEqual(await leaving.exited, [0, null]);
    assert.equal(callMap.getPendingCount(), 0);
  });
});

describe("workers", { skip, timeout: 60_000 }, () => {
  const nats = useNats();

  it("workers are discovered, with what they serve", async () => {
    const many = Array.from({ length: 1_200 }, (_, i) => query(`op${String(i).padStart(4, "0")}`, () => i));
    const a = await nats.worker([query("shared", () => 1, { description: "Both" })], {
      prefix: "found",
      name: "a",
      concurrency: 7,
    });
    const b = await nats.worker(
      [query("shared", () => 1, { description: "Both" }), subscription("s", async function* () {}), ...many],
      { prefix: "found", name: "b" },
    );
    const asking = await nats.connect({ prefix: "found" });
    // Long enough for a machine that has other things to do.
    const { operations, workers } = await asking.discover({ timeout: 3_000 });
    assert.deepEqual(
      workers.map(({ id, name, concurrency, running, operations }) => [
        id,
        name,
        concurrency,
        running,
        operations.length,
      ]),
      [
        [a.id, "a", 7, 0, 1],
        [b.id, "b", 256, 0, 1_202],
      ],
    );
    const shared = operations.find(({ operationId }) => operationId === "t.shared");
    assert.deepEqual(
      { ...shared, workers: shared.workers.sort() },
      {
        ...{ operationId: "t.shared", namespace: "t", name: "shared", version: "1", type: "query" },
        ...{ description: "Both", inputSchema: {}, outputSchema: {}, workers: [a.id, b.id].sort() },
      },
    );
    assert.equal(operations.find(({ operationId }) => operationId === "t.s").type, "subscription");
    assert.equal(operations.length, 1_202);
    await a.close();
    assert.deepEqual(
      (await asking.discover()).workers.map(({ name }) => name),
      ["b"],
    );
    const elsewhere = await nats.connect({ prefix: "elsewhere" });
    assert.deepEqual(await elsewhere.discover(), { operations: [], workers: [] });
  });

  it("workers list what a trusted caller may call, without schemas too large for a message", async () => {
    const secret = { accessControl: { requiredScopes: ["admin"] } };
    const large = Type.Object({ text: Type.String({ description: "x".repeat(2_000_000) }) });
    const operations = [
      query("open", () => 1),
      query("secret", () => 1, secret),
      query("large", () => 1, { inputSchema: large }),
    ];
    const root = { id: "root", scopes: ["admin"] };
    const tokens = new Map([["t0ken", root]]);
    const verifyIdentity = (_, { metadata, operationId, from }) => {
      assert.equal(operationId, "hub.discover");
      assert.equal(typeof from, "string");
      return tokens.get(metadata?.token);
    };
    await nats.worker(operations, { prefix: "believes" });
    await nats.worker(operations, { prefix: "verifies", verifyIdentity });
    const names = async (prefix, options) => {
      const { operations, workers } = await (await nats.connect({ prefix })).discover(options);
      assert.equal(workers.length, 1);
      assert.deepEqual(
        workers[0].operations.sort(),
        operations.map(({ operationId }) => operationId),
      );
      return operations.map(({ name }) => name);
    };
    assert.deepEqual(await names("believes"), ["large", "open"]);
    assert.deepEqual(await names("believes", { identity: root }), ["large", "open", "secret"]);
    assert.deepEqual(await names("verifies", { identity: root }), ["large", "open"]);
    assert.deepEqual(await names("verifies", { metadata: { token: "t0ken" } }), ["large", "open", "secret"]);
    const connection = await nats.connect({ prefix: "believes" });
    const [found] = (await connection.discover()).operations;
    assert.deepEqual(found.inputSchema, {});
  });

  it("workers do not serve what they have imported from each other", async () => {
    const worker = await nats.worker([query("far", () => 1)], { prefix: "loop" });
    const registry = new OperationRegistry();
    const relay = await nats.connect({ prefix: "loop", name: "relay" });
    await relay.import({ keepInStep: registry });
    registry.register(query("near", () => 2));
    await relay.serve(registry);
    const { workers } = await relay.discover();
    assert.deepEqual(workers.find(({ name }) => name === "relay").operations, ["t.near"]);
    await worker.close();
    await until(() => registry.get("t.far") === undefined);
  });

  it("a worker releases a permit when no caller waits any more, although its handler never ends", async () => {
    const { callMap } = await nats.connect({ prefix: "hung" });
    const hung = () => new Promise(() => {});
    await nats.worker(
      [
        query("hang", hung),
        query("echo", (input) => input),
        subscription("silent", async function* () {
          yield 1;
          await hung();
        }),
      ],
      { prefix: "hung", concurrency: 1 },
    );
    for (let i = 0; i < 3; i++) {
      await assert.rejects(callMap.call("t.hang", {}, { deadline: Date.now() + 50 }), { code: "TIMEOUT" });
      await assert.rejects(callMap.call("t.hang", {}, { signal: AbortSignal.timeout(50) }), {
        code: "ABORTED",
      });
      for await (const _ of callMap.subscribe("t.silent", {})) break;
      assert.equal(unwrap(await callMap.call("t.echo", i)), i);
    }
  });

  it("the methods of a NATS connection can be destructured", async () => {
    const { callMap, serve, discover, stats, close } = await nats.connect({ prefix: "apart" });
    const registry = new OperationRegistry();
    registry.register(query("x", () => 1));
    await serve(registry);
    assert.equal(unwrap(await callMap.call("t.x", {})), 1);
    assert.equal((await discover()).workers.length, 1);
    assert.equal(stats().malformed, 0);
    await close();
  });

  it("workers serve what is registered later, with or without another call of serve, one registry each", async () => {
    const server = await nats.worker([query("first", () => 1)], { prefix: "later" });
    const { callMap } = await nats.connect({ prefix: "later" });
    server.registry.register(query("second", () => 2));
    await server.serve(server.registry);
    assert.equal(unwrap(await callMap.call("t.second", {})), 2);
    server.registry.register(query("third", () => 3));
    await until(() =>
      callMap.call("t.third", {}).then(
        ({ data }) => data === 3,
        () => false,
      ),
    );
    assert.equal(unwrap(await callMap.call("t.first", {})), 1);
    await assert.rejects(server.serve(new OperationRegistry()), {
      code: "VALIDATION_ERROR",
      message: /another/,
    });
    await assert.rejects(server.serve({}), { code: "VALIDATION_ERROR", message: /OperationRegistry/ });
    for (const concurrency of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      await assert.rejects(server.serve(server.registry, { concurrency }), {
        code: "VALIDATION_ERROR",
        message: /concurrency/,
      });
    }
  });

  it("workers with different operations get the calls of their own operations", async () => {
    await nats.worker([query("a", () => "a")], { prefix: "different", concurrency: 1 });
    await nats.worker([query("b", () => "b")], { prefix: "different", concurrency: 1 });
    const { callMap } = await nats.connect({ prefix: "different" });
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) => callMap.call(i % 2 === 0 ? "t.a" : "t.b", {})),
    );
    answers.forEach((envelope, i) => {
      assert.equal(unwrap(envelope), i % 2 === 0 ? "a" : "b");
    });
  });

  it("workers that are closed without drain notify their callers", async () => {
    let aborted = 0;
    const hasty = await nats.worker(
      [
        query("never", (_, { signal }) => {
          signal.addEventListener("abort", () => {
            aborted += 1;
          });
          return new Promise(() => {});
        }),
        subscription("ticks", async function* () {
          for (let i = 1; ; i++) {
            yield i;
            await sleep(1);
          }
        }),
      ],
      { prefix: "hurry" },
    );
    const { callMap } = await nats.connect({ prefix: "hurry" });
    const call = callMap.call("t.never", {});
    const stream = callMap.subscribe("t.ticks", {});
    await stream.next();
    await Promise.all([
      assert.rejects(call, { code: "EXECUTION_ERROR", message: /was closed before it had finished/ }),
      assert.rejects(
        async () => {
          for (;;) if ((await stream.next()).done) break;
        },
        { code: "EXECUTION_ERROR", message: /was closed/ },
      ),
      hasty.close({ drain: 50 }),
    ]);
    await until(() => aborted === 1);
  });
});

describe("connections that nobody holds", { skip, timeout: 60_000 }, () => {
  const nats = useNats();

  it("connections that are not referenced stay while something is pending, and are collected afterwards", async () => {
    await nats.worker([query("later", () => sleep(200).then(() => "answered"))]);
    const { code, stdout, stderr } = await runNode([
      "--expose-gc",
      "--input-type=module",
      "--eval",
      `
      import { connectNats } from "@alkdev/operations/transport-nats";
      const options = { servers: ${JSON.stringify(nats.broker.url)}, name: "forgotten" };
      const pending = (await connectNats(options)).callMap.call("t.later", {});
      const collect = async () => {
        // What a turn of the event loop has looked at stays until its end.
        await new Promise((resolve) => setImmediate(resolve));
        globalThis.gc();
      };
      for (let i = 0; i < 20; i++) await collect();
      console.log((await pending).data);
      // In a function of its own: the stack of this one would hold it.
      const idle = await connectNats(options).then((connection) => new WeakRef(connection));
      for (let i = 0; i < 1000 && idle.deref() !== undefined; i++) await collect();
      console.log(idle.deref() === undefined ? "collected" : "held");
    `,
    ]);
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "answered\ncollected\n", stderr: "" });
  });
});
