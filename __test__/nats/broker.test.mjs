// What happens when the broker goes, when very much is asked of it, and when somebody sends rubbish through it.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unwrap } from "@alkdev/operations";
import { connect as connectRaw } from "nats";
import { startNats } from "../support/brokers.mjs";
import { assertNoStalls } from "../support/event-loop.mjs";
import { query, skip, sleep, subscription, until, useNats } from "./support.mjs";

assertNoStalls();

const seed = Number(process.env.OPERATIONS_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** A small generator of random numbers (mulberry32). */
function random(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe("a broker that is restarted", { skip, timeout: 120_000 }, () => {
  const nats = useNats();

  it("a broker that is restarted loses no call: each has one outcome, and running ones are answered afterwards", async () => {
    let began = 0;
    const server = await nats.worker(
      [
        query("echo", (input) => input),
        query("work", async ({ tag }) => {
          began += 1;
          await sleep(1_500);
          return { tag };
        }),
        subscription("ticks", async function* () {
          for (let i = 1; i <= 300; i++) {
            yield i;
            await sleep(10);
          }
        }),
      ],
      { prefix: "restart" },
    );
    const connection = await nats.connect({ prefix: "restart" });
    const { callMap } = connection;
    const running = Promise.all([1, 2, 3].map((tag) => callMap.call("t.work", { tag })));
    running.catch(() => {});
    await until(() => began === 3);
    // Confirmed: the worker has them, and says so within milliseconds.
    await sleep(200);
    let outcomes = 0;
    let right = 0;
    let made = 0;
    let isOver = false;
    const traffic = (async () => {
      const all = [];
      while (!isOver) {
        made += 1;
        all.push(
          callMap.call("t.echo", { i: made }).then(
            () => {
              outcomes += 1;
              right += 1;
            },
            (error) => {
              outcomes += 1;
              assert.equal(error.code, "EXECUTION_ERROR");
              assert.ok(
                ["unconfirmed", "answer-lost", "worker-lost"].includes(error.details.reason),
                error.message,
              );
            },
          ),
        );
        await sleep(1);
      }
      await Promise.all(all);
    })();
    const got = [];
    const stream = (async () => {
      for await (const envelope of callMap.subscribe("t.ticks", {})) got.push(unwrap(envelope));
    })().catch((error) => error);
    await until(() => got.length > 10);
    await nats.broker.kill();
    await sleep(300);
    await nats.broker.start();
    assert.deepEqual(
      (await running).map((envelope) => unwrap(envelope).tag),
      [1, 2, 3],
    );
    const before = right;
    await until(() => right > before + 20);
    isOver = true;
    await traffic;
    assert.equal(outcomes, made);
    // A stream either goes on without a gap, or says that it could not.
    const lost = await stream;
    if (lost === undefined)
      assert.deepEqual(
        got,
        Array.from({ length: 300 }, (_, i) => i + 1),
      );
    else assert.equal(lost.details.reason, "events-lost");
    assert.equal(callMap.getPendingCount(), 0);
    assert.equal(connection.stats().reconnections, 1);
    assert.equal(server.stats().reconnections, 1);
  });

  it("calls made while the broker is away are sent when it is back", async () => {
    await nats.worker([query("echo", (input) => input)], { prefix: "away" });
    const connection = await nats.connect({ prefix: "away" });
    assert.equal(unwrap(await connection.callMap.call("t.echo", 0)), 0);
    await nats.broker.kill();
    await sleep(100);
    const calls = Array.from({ length: 100 }, (_, i) => connection.callMap.call("t.echo", i));
    const hopeless = connection.callMap.call("t.echo", "late", { deadline: Date.now() + 50 });
    await assert.rejects(hopeless, { code: "TIMEOUT" });
    await nats.broker.start();
    assert.deepEqual(
      (await Promise.all(calls)).map(unwrap),
      Array.from({ length: 100 }, (_, i) => i),
    );
  });

  it("calls fail and say that nothing was sent if the broker stays away", async () => {
    const broker = await startNats();
    const connection = await nats.connect({ servers: broker.url });
    await broker.stop();
    await sleep(100);
    await assert.rejects(connection.callMap.call("t.x", 1), (error) => {
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.deepEqual(error.details, { operationId: "t.x", reason: "not-connected", delivery: "none" });
      return true;
    });
    assert.equal(connection.callMap.getPendingCount(), 0);
    await connection.close();
  });
});

describe("much at once", { skip, timeout: 120_000 }, () => {
  const nats = useNats();

  it("each of 10,000 calls in flight gets its own response", async () => {
    await nats.worker([query("echo", async (input) => input)], { prefix: "many", concurrency: 64 });
    await nats.worker([query("echo", async (input) => input)], { prefix: "many", concurrency: 64 });
    const { callMap } = await nats.connect({ prefix: "many" });
    const calls = Array.from({ length: 10_000 }, (_, i) => callMap.call("t.echo", i));
    assert.equal(callMap.getPendingCount(), 10_000);
    const answers = await Promise.all(calls);
    answers.forEach((envelope, i) => {
      assert.equal(envelope.data, i);
    });
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("aborting thousands of waiting calls leaves nothing behind", async () => {
    let running = 0;
    await nats.worker(
      [
        query("never", (_, { signal }) => {
          running += 1;
          return new Promise((_, reject) => {
            signal.addEventListener("abort", () => {
              running -= 1;
              reject(new Error("stopped"));
            });
          });
        }),
        query("echo", (input) => input),
      ],
      { prefix: "mass", concurrency: 16 },
    );
    const { callMap } = await nats.connect({ prefix: "mass" });
    const controller = new AbortController();
    const calls = Array.from({ length: 3_000 }, () =>
      callMap.call("t.never", {}, { signal: controller.signal }).catch(({ code }) => code),
    );
    await until(() => running === 16);
    controller.abort();
    assert.deepEqual(new Set(await Promise.all(calls)), new Set(["ABORTED"]));
    await until(() => running === 0);
    assert.equal(callMap.getPendingCount(), 0);
    assert.equal(unwrap(await callMap.call("t.echo", "still here")), "still here");
  });
});

describe("rubbish", { skip, timeout: 120_000 }, () => {
  const nats = useNats();

  it(`a flood of malformed messages is dropped and counted (OPERATIONS_SEED=${seed})`, async () => {
    const server = await nats.worker(
      [
        query("echo", (input) => input),
        subscription("ticks", async function* () {
          for (let i = 1; i <= 500; i++) yield i;
        }),
      ],
      { prefix: "flood" },
    );
    const connection = await nats.connect({ prefix: "flood" });
    const raw = await connectRaw({ servers: nats.broker.url });
    const next = random(seed);
    const pick = (list) => list[Math.floor(next() * list.length)];
    const { id: worker } = server;
    const { id: caller } = connection;
    const strange = [
      "",
      "x",
      "null",
      "[]",
      "{}",
      "[".repeat(10_000),
      '{"type":"call.requested"}',
      '{"type":"call.requested","id":"","payload":{"requestId":"a.b.>","operationId":"t.echo"},"from":"x"}',
      '{"type":"call.requested","id":"","payload":{"requestId":"r","operationId":"t.echo"},"from":"*"}',
      '{"type":"call.requested","id":"","payload":{"requestId":7,"operationId":"t.echo"},"from":"x"}',
      '{"type":"call.responded","id":"","payload":{"requestId":"r","output":5}}',
      '{"type":"call.other","id":"","payload":{"requestId":"r"}}',
      '{"type":"nats.slots","from":"x","operation":"t.echo","count":-1}',
      '{"type":"nats.pong","from":"x","calls":[1],"serving":[]}',
      '{"type":"nats.taken","from":"a b","ids":[]}',
      '{"type":"nats.ping","from":"x","calls":"no","serving":[]}',
      Buffer.from([0xff, 0xfe, 0x00, 0x80]),
      JSON.stringify({ type: "call.error", payload: { requestId: "r" } }).slice(0, -3),
    ];
    // Well formed, but from nobody, or about nothing.
    const senseless = [
      { type: "nats.slots", from: "nobody", operation: "t.echo", count: 1e15 },
      { type: "nats.pass", from: "nobody", operation: "t.echo", count: 1e15 },
      { type: "nats.who", from: "nobody", operation: "t.none", count: 1e15 },
      { type: "nats.credit", from: "nobody", id: "r", upTo: 1e15 },
      { type: "nats.pong", from: worker, calls: ["r"], serving: ["r"] },
      { type: "nats.busy", from: worker, id: "r" },
      { type: "nats.taken", from: "nobody", ids: ["r"] },
      { type: "nats.hello", from: "nobody" },
      { type: "call.aborted", id: "", payload: { requestId: "r" }, from: "nobody" },
    ].map((message) => JSON.stringify(message));
    const subjects = [
      "flood.call.t=2Eecho",
      "flood.who.t=2Eecho",
      "flood.hello",
      "flood.discover",
      ...[worker, caller].flatMap((peer) =>
        ["call", "note", "r", "gone-x"].map((about) => `flood.peer.${peer}.${about}`),
      ),
    ];
    const answers = [];
    for (let i = 0; i < 20_000; i++) {
      raw.publish(pick(subjects), pick(next() < 0.8 ? strange : senseless));
      if (i % 200 === 0) {
        answers.push(
          connection.callMap.call("t.echo", i).then((envelope) => assert.equal(unwrap(envelope), i)),
        );
        await raw.flush();
      }
    }
    await raw.flush();
    await Promise.all(answers);
    const got = [];
    for await (const envelope of connection.callMap.subscribe("t.ticks", {})) got.push(unwrap(envelope));
    assert.equal(got.length, 500);
    assert.equal(connection.callMap.getPendingCount(), 0);
    for (const { malformed, malformedBy } of [server.stats(), connection.stats()]) {
      assert.ok(malformed > 1_000, String(malformed));
      assert.equal(
        Object.values(malformedBy).reduce((a, b) => a + b),
        malformed,
      );
    }
    await raw.close();
  });
});
