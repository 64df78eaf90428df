import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, unwrap } from "@alkdev/operations";
import { connect as connectRaw } from "nats";
import { assertNoStalls } from "../support/event-loop.mjs";
import { withTimeEnough } from "../support/time-enough.mjs";
import { deferred, query, skip, sleep, subscription, until, useNats } from "./support.mjs";

assertNoStalls();

describe("streams over NATS", { skip, timeout: 60_000 }, () => {
  const nats = useNats();

  /** How far a generator ran, and what became of it. */
  function watched(name, make) {
    const seen = { began: 0, yielded: 0, finals: 0, aborted: 0 };
    const operation = subscription(name, async function* (input, { signal }) {
      seen.began += 1;
      signal.addEventListener("abort", () => {
        seen.aborted += 1;
      });
      try {
        for await (const value of make(input, signal)) {
          seen.yielded += 1;
          yield value;
        }
      } finally {
        seen.finals += 1;
      }
    });
    return Object.assign(seen, { operation });
  }

  async function* endless() {
    for (let i = 1; ; i++) yield i;
  }

  it("streams over NATS deliver every event in order, then end", async () => {
    const count = watched("count", async function* ({ to }) {
      for (let i = 1; i <= to; i++) yield i;
    });
    await nats.worker([count.operation], { prefix: "count" });
    const { callMap } = await nats.connect({ prefix: "count" });
    for (const to of [0, 1, 127, 128, 129, 5_000]) {
      const got = [];
      for await (const envelope of callMap.subscribe("t.count", { to })) got.push(unwrap(envelope));
      assert.deepEqual(
        got,
        Array.from({ length: to }, (_, i) => i + 1),
      );
    }
    assert.equal(count.finals, 6);
    assert.equal(count.aborted, 0);
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("streams over NATS send nothing before the first next()", async () => {
    const ticks = watched("ticks", endless);
    await nats.worker([ticks.operation], { prefix: "lazy" });
    const { callMap } = await nats.connect({ prefix: "lazy" });
    const stream = callMap.subscribe("t.ticks", {});
    assert.equal(callMap.getPendingCount(), 0);
    await stream.return();
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
    assert.equal(ticks.yielded, 0);
  });

  it("a slow consumer over NATS slows the worker's generator", async () => {
    const flood = watched("flood", endless);
    await nats.worker([flood.operation], { prefix: "slow" });
    const { callMap } = await nats.connect({ prefix: "slow" });
    const stream = callMap.subscribe("t.flood", {});
    await stream.next();
    // However long nobody reads: the generator stands still after what it may send ahead.
    await until(() => flood.yielded >= 128);
    await sleep(300);
    assert.equal(flood.yielded, 128);
    let last = 1;
    for (let i = 0; i < 1_000; i++) last = unwrap((await stream.next()).value);
    assert.equal(last, 1_001);
    await sleep(100);
    assert.ok(flood.yielded > 1_001 && flood.yielded <= 1_001 + 128, String(flood.yielded));
    await stream.return();
    await until(() => flood.finals === 1);
  });

  it("a consumer over NATS ends the generator with break, the signal, throw() and abort", async () => {
    const ticks = watched("ticks", async function* () {
      for (let i = 1; ; i++) {
        yield i;
        await sleep(1);
      }
    });
    await nats.worker([ticks.operation], { prefix: "break" });
    const { callMap } = await nats.connect({ prefix: "break" });
    for await (const _ of callMap.subscribe("t.ticks", {})) break;
    await until(() => ticks.finals === 1);
    const controller = new AbortController();
    await assert.rejects(
      async () => {
        for await (const _ of callMap.subscribe("t.ticks", {}, { signal: controller.signal }))
          controller.abort();
      },
      { code: "ABORTED" },
    );
    await until(() => ticks.finals === 2);
    const stream = callMap.subscribe("t.ticks", {});
    await stream.next();
    await assert.rejects(stream.throw(new Error("mine")), { message: "mine" });
    await until(() => ticks.finals === 3);
    assert.equal(ticks.aborted, 3);
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("break while next() is pending over NATS releases it", async () => {
    const silent = watched("silent", async function* (_, signal) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      yield 1;
    });
    await nats.worker([silent.operation], { prefix: "pending" });
    const { callMap } = await nats.connect({ prefix: "pending" });
    const stream = callMap.subscribe("t.silent", {});
    const next = stream.next();
    await until(() => silent.began === 1);
    await stream.return();
    assert.deepEqual(await next, { done: true, value: undefined });
    await until(() => silent.aborted === 1);
  });

  it("errors of a stream over NATS come after the events before them", async () => {
    await nats.worker(
      [
        subscription("fails", async function* () {
          yield 1;
          yield 2;
          throw new CallError("BROKEN", "in the middle", { at: 2 });
        }),
        subscription("large", async function* () {
          yield 1;
          yield "x".repeat(1_100_000);
        }),
      ],
      { prefix: "errors" },
    );
    const { callMap } = await nats.connect({ prefix: "errors" });
    for (const [id, code, values] of [
      ["t.fails", "BROKEN", [1, 2]],
      ["t.large", "EXECUTION_ERROR", [1]],
    ]) {
      const got = [];
      await assert.rejects(
        async () => {
          for await (const envelope of callMap.subscribe(id, {})) got.push(unwrap(envelope));
        },
        { code },
      );
      assert.deepEqual(got, values);
    }
  });

  it("idleTimeout ends a silent stream over NATS, but not one whose consumer is slow", async () => {
    const few = watched("few", async function* (_, signal) {
      yield 1;
      yield 2;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    await nats.worker([few.operation], { prefix: "idle" });
    const { callMap } = await nats.connect({ prefix: "idle" });
    await withTimeEnough(async (idleTimeout) => {
      const stream = callMap.subscribe("t.few", {}, { idleTimeout });
      const late = { code: "TIMEOUT", details: { idleTimeout, delivery: "unknown" } };
      if ((await stream.next().catch(() => undefined)) === undefined) return false;
      // The second event waits: it is this side that is silent.
      await sleep(3 * idleTimeout);
      const second = await stream.next().catch((error) => error);
      // On a busy machine it had not come.
      if (second.code === "TIMEOUT") return false;
      assert.equal(unwrap(second.value), 2);
      await assert.rejects(stream.next(), late);
      return true;
    });
    await until(() => few.finals === few.began);
  });

  it("a query and a subscription work side by side over NATS", async () => {
    await nats.worker(
      [
        query("one", () => 1),
        subscription("three", async function* () {
          yield* [1, 2, 3];
        }),
      ],
      { prefix: "both" },
    );
    const { callMap } = await nats.connect({ prefix: "both" });
    const read = async () => {
      const got = [];
      for await (const envelope of callMap.subscribe("t.three", {})) got.push(unwrap(envelope));
      return got;
    };
    const [a, b, one] = await Promise.all([read(), read(), callMap.call("t.one", {})]);
    assert.deepEqual([a, b, unwrap(one)], [[1, 2, 3], [1, 2, 3], 1]);
  });

  it("lost events of a stream over NATS are an error, not a gap", async () => {
    // A worker that forgets one event.
    const raw = await connectRaw({ servers: nats.broker.url });
    const requests = raw.subscribe("gap.call.*");
    await raw.flush();
    const { callMap } = await nats.connect({ prefix: "gap" });
    const stream = callMap.subscribe("t.gap", {});
    const first = stream.next();
    for await (const message of requests) {
      const { payload, from } = message.json();
      const { requestId } = payload;
      const output = { data: 1, meta: { source: "local", operationId: "t.gap", timestamp: 1 } };
      const event = (number) =>
        raw.publish(
          `gap.peer.${from}.${requestId}`,
          JSON.stringify({ type: "call.responded", id: "", payload: { requestId, output }, number }),
        );
      event(1);
      // A repeated one does no harm.
      event(1);
      event(2);
      event(4);
      break;
    }
    await first;
    await stream.next();
    await assert.rejects(stream.next(), {
      code: "EXECUTION_ERROR",
      message: /number 3 was expected, 4 came/,
    });
    await raw.close();
  });

  it("more events than requested end the stream over NATS: memory is bounded", async () => {
    const raw = await connectRaw({ servers: nats.broker.url });
    const requests = raw.subscribe("greedy.call.*");
    await raw.flush();
    const { callMap } = await nats.connect({ prefix: "greedy" });
    const stream = callMap.subscribe("t.greedy", {});
    const first = stream.next();
    const sent = deferred();
    for await (const message of requests) {
      const { payload, from } = message.json();
      const { requestId } = payload;
      const output = { data: 1, meta: { source: "local", operationId: "t.greedy", timestamp: 1 } };
      for (let number = 1; number <= 1_000; number++) {
        raw.publish(
          `greedy.peer.${from}.${requestId}`,
          JSON.stringify({ type: "call.responded", id: "", payload: { requestId, output }, number }),
        );
      }
      await raw.flush();
      sent.resolve();
      break;
    }
    await first;
    await sent.promise;
    await until(() => callMap.getPendingCount() === 0);
    await assert.rejects(
      async () => {
        for (;;) if ((await stream.next()).done) break;
      },
      { code: "EXECUTION_ERROR", message: /too slow/ },
    );
    await raw.close();
  });
});
