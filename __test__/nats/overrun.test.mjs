// Handlers that do not look at their signal run on when their call has ended. Whoever calls and aborts, again and again,
// has no more of them running than the worker allows.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unwrap } from "@alkdev/operations";
import { assertNoStalls } from "../support/event-loop.mjs";
import { query, skip, subscription, until, useNats } from "./support.mjs";

assertNoStalls();

/** Operations whose handlers do not look at their signal, and end when they are let go. */
function deaf() {
  const running = new Set();
  const started = [];
  const hold = (n) => {
    started.push(n);
    return new Promise((resolve) => {
      const end = () => {
        running.delete(end);
        resolve(n);
      };
      running.add(end);
    });
  };
  const letOneGo = () => [...running][0]();
  return {
    running,
    started,
    letOneGo,
    operations: [
      query("deaf", hold),
      subscription("deafStream", async function* (n) {
        yield n;
        await hold(n);
      }),
    ],
  };
}

/** Calls, and aborts each call as soon as its handler has started. */
function callAndAbort({ callMap }, started, count, options = {}) {
  const aborts = new Map();
  const calls = Array.from({ length: count }, (_, n) => {
    const controller = new AbortController();
    aborts.set(n, controller);
    const outcome = callMap.call("t.deaf", n, { signal: controller.signal, ...options });
    return outcome.then(
      () => assert.fail("a handler that was not let go has answered"),
      (error) => error.code,
    );
  });
  const watch = setInterval(() => {
    for (const n of started) aborts.get(n)?.abort();
  }, 5);
  return Promise.all(calls).finally(() => clearInterval(watch));
}

describe("a caller that calls and aborts", { skip, timeout: 60_000 }, () => {
  const nats = useNats();

  it("a caller that calls and aborts has no more handlers running than `concurrency` and `overrun`, and permits return as they end", async () => {
    const { operations, running, started, letOneGo } = deaf();
    const worker = await nats.worker(operations, { concurrency: 2, overrun: 3, prefix: "bounded" });
    const caller = await nats.connect({ prefix: "bounded" });
    const outcomes = await callAndAbort(caller, started, 20, { deadline: Date.now() + 2_000 });
    assert.equal(started.length, 5);
    assert.deepEqual(
      [
        outcomes.filter((code) => code === "ABORTED").length,
        outcomes.filter((code) => code === "TIMEOUT").length,
      ],
      [5, 15],
    );
    assert.deepEqual([worker.stats().running, worker.stats().overrunning], [2, 5]);
    // One that has its place back makes room for one that has not; then there is a place for a new call.
    letOneGo();
    const next = caller.callMap.call("t.deaf", "next");
    await until(() => started.includes("next"));
    assert.equal(running.size, 5);
    while (running.size > 0) letOneGo();
    assert.equal(unwrap(await next), "next");
    await until(() => worker.stats().overrunning === 0 && worker.stats().running === 0);
  });

  it("with `overrun: 0` a permit over NATS is released when its handler has ended, and not before", async () => {
    const { operations, started, letOneGo } = deaf();
    const worker = await nats.worker(operations, { concurrency: 1, overrun: 0, prefix: "none" });
    const caller = await nats.connect({ prefix: "none" });
    await callAndAbort(caller, started, 3, { deadline: Date.now() + 1_000 });
    assert.equal(started.length, 1);
    assert.deepEqual([worker.stats().running, worker.stats().overrunning], [1, 1]);
    letOneGo();
    const next = caller.callMap.call("t.deaf", "next");
    await until(() => started.includes("next"));
    letOneGo();
    assert.equal(unwrap(await next), "next");
  });

  it("the generators of aborted streams over NATS count as running", async () => {
    const { operations, running, letOneGo } = deaf();
    const worker = await nats.worker(operations, { concurrency: 1, overrun: 1, prefix: "streams" });
    const caller = await nats.connect({ prefix: "streams" });
    for (const n of [1, 2]) {
      const stream = caller.callMap.subscribe("t.deafStream", n);
      assert.equal((await stream.next()).value.data, n);
      await until(() => running.size === n);
      await stream.return();
    }
    await until(() => worker.stats().overrunning === 2);
    await assert.rejects(caller.callMap.call("t.deaf", 3, { deadline: Date.now() + 500 }), {
      code: "TIMEOUT",
    });
    assert.equal(running.size, 2);
    while (running.size > 0) letOneGo();
    await until(() => worker.stats().overrunning === 0);
  });

  it("`serve` again keeps the limits, and refuses a different `overrun`", async () => {
    const { operations, started, letOneGo } = deaf();
    const worker = await nats.worker(operations, { concurrency: 1, overrun: 0, prefix: "again" });
    worker.registry.register(query("later", (input) => input));
    await assert.rejects(worker.serve(worker.registry, { overrun: 5 }), {
      code: "VALIDATION_ERROR",
      message: /overrun cannot be changed/,
    });
    await worker.serve(worker.registry);
    const caller = await nats.connect({ prefix: "again" });
    const held = caller.callMap.call("t.deaf", 1);
    await until(() => started.length === 1);
    await assert.rejects(caller.callMap.call("t.later", 2, { deadline: Date.now() + 500 }), {
      code: "TIMEOUT",
    });
    letOneGo();
    assert.equal(unwrap(await held), 1);
    assert.equal(unwrap(await caller.callMap.call("t.later", 2)), 2);
  });
});
