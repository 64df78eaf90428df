// What a server bounds: how many calls at a time, and for how long.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildCallHandler, OperationRegistry, PendingRequestMap } from "@alkdev/operations";
import { withTimeEnough } from "../support/time-enough.mjs";
import { query, settled, subscription } from "./support.mjs";

/** Serves operations whose handlers wait until they are let go. */
function server(limits) {
  const registry = new OperationRegistry();
  const started = [];
  const release = [];
  const held = (name) =>
    query(name, (input, { signal }) => {
      started.push(`${name}${input.n ?? ""}`);
      return new Promise((resolve) => release.push(Object.assign(() => resolve(input), { signal })));
    });
  registry.registerAll([
    held("a"),
    held("b"),
    subscription("silent", async function* (_, { signal }) {
      started.push("silent");
      yield 1;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    }),
    subscription("deaf", async function* () {
      yield 1;
      await new Promise((resolve) => release.push(resolve));
    }),
  ]);
  const callMap = new PendingRequestMap();
  const handle = buildCallHandler({ registry, callMap, ...limits });
  const ended = [];
  callMap["call.requested"].subscribe((event) => handle(event).then(() => ended.push(event.requestId)));
  const call = (name, n, options) => callMap.call(`t.${name}`, { n }, options);
  /** Calls, and aborts at once. */
  const aborted = (name, n) => {
    const controller = new AbortController();
    call(name, n, { signal: controller.signal }).catch(() => {});
    controller.abort();
  };
  return { callMap, call, started, release, ended, handler: handle, aborted };
}
const overloaded = (error) => error.code === "EXECUTION_ERROR" && error.details.reason === "overloaded";

describe("a server that limits its calls", () => {
  it("calls beyond the concurrency limit wait in their order, and those beyond the queue are refused", async () => {
    const { call, started, release, callMap, ended } = server({ concurrency: 2, queue: 2 });
    const calls = [1, 2, 3, 4].map((n) => call("a", n));
    await assert.rejects(call("a", 5), overloaded);
    await settled();
    assert.deepEqual(started, ["a1", "a2"]);
    for (let i = 0; i < 4; i++) {
      release[i]();
      await settled();
    }
    assert.deepEqual(started, ["a1", "a2", "a3", "a4"]);
    await Promise.all(calls);
    assert.equal(callMap.getPendingCount(), 0);
    await settled();
    assert.equal(ended.length, 5);
  });

  it("calls of one operation at its limit do not delay another operation", async () => {
    const { call, started } = server({ perOperation: 1 });
    for (const [name, n] of [
      ["a", 1],
      ["a", 2],
      ["b", 1],
    ])
      call(name, n).catch(() => {});
    await settled();
    assert.deepEqual(started, ["a1", "b1"]);
  });

  it("calls of one caller at its limit do not delay another caller", async () => {
    const { call, started, release } = server({ perCaller: 1 });
    const as = (id) => ({ identity: { id, scopes: [] } });
    for (const [n, who] of [
      [1, "x"],
      [2, "x"],
      [3, "y"],
      [4, undefined],
      [5, undefined],
    ]) {
      call("a", n, who && as(who)).catch(() => {});
    }
    await settled();
    assert.deepEqual(started, ["a1", "a3", "a4"]);
    release[0]();
    await settled();
    assert.deepEqual(started, ["a1", "a3", "a4", "a2"]);
  });

  it("one permit that is released can be what several queues waited for", async () => {
    const { call, started, release } = server({ perOperation: 1, perCaller: 1 });
    const as = (id) => ({ identity: { id, scopes: [] } });
    for (const [name, n, who] of [
      ["a", 1, "x"],
      ["a", 2, "y"],
      ["b", 3, "x"],
    ]) {
      call(name, n, as(who)).catch(() => {});
    }
    await settled();
    assert.deepEqual(started, ["a1"]);
    release[0]();
    await settled();
    assert.deepEqual(started, ["a1", "a2", "b3"]);
  });

  it("a call that is aborted while it waits never begins, and frees its slot in the queue", async () => {
    const { call, started, release, ended } = server({ concurrency: 1, queue: 1 });
    const first = call("a", 1);
    const controller = new AbortController();
    const second = call("a", 2, { signal: controller.signal });
    await assert.rejects(call("a", 3), overloaded);
    controller.abort();
    await assert.rejects(second, { code: "ABORTED" });
    const fourth = call("a", 4);
    await settled();
    release[0]();
    await first;
    await settled();
    release[1]();
    await fourth;
    assert.deepEqual(started, ["a1", "a4"]);
    await settled();
    assert.equal(ended.length, 4);
  });

  it("a handler that never ends holds its permit no longer than the time limit or the deadline", async () => {
    for (const isDeadline of [false, true]) {
      // The time limit is that of the next call too.
      await withTimeEnough(async (time) => {
        const { call, started, release } = server({ concurrency: 1, ...(!isDeadline && { timeout: time }) });
        const options = isDeadline ? { deadline: Date.now() + time } : {};
        await assert.rejects(call("a", 1, options), { code: "TIMEOUT" });
        const next = call("b", 1).then(
          () => true,
          (error) => {
            if (isDeadline || error.code !== "TIMEOUT") throw error;
            return false;
          },
        );
        while (!started.includes("b1")) await settled();
        const [first] = release;
        release.at(-1)();
        // On a slow machine its time is over before it can begin.
        if (!started.includes("a1")) {
          await next;
          return false;
        }
        assert.equal(first.signal.aborted, true);
        return next;
      }, 20);
    }
  });

  it("handlers that run on after their call has ended are bounded, and counted", async () => {
    const { callMap, started, release, handler, aborted } = server({ concurrency: 2, overrun: 3 });
    for (let n = 0; n < 20; n++) aborted("a", n);
    await settled();
    assert.deepEqual(handler.stats(), { running: 0, waiting: 0, overrunning: 5 });
    assert.equal(started.length, 5);
    // All places are held: what comes waits, until as many have ended as are above the bound.
    const next = callMap.call("t.b", {});
    await settled();
    assert.deepEqual(handler.stats(), { running: 0, waiting: 1, overrunning: 5 });
    release[0]();
    await settled();
    assert.deepEqual(handler.stats(), { running: 1, waiting: 0, overrunning: 4 });
    assert.equal(started.at(-1), "b");
    for (const end of release) end();
    await next;
    await settled();
    assert.deepEqual(handler.stats(), { running: 0, waiting: 0, overrunning: 0 });
  });

  it("with `overrun: 0` a permit is released when its handler has ended", async () => {
    const { call, started, release, aborted } = server({ perCaller: 1, overrun: 0 });
    aborted("a", 1);
    const next = call("a", 2);
    await settled();
    assert.deepEqual(started, ["a1"]);
    release[0]();
    await settled();
    assert.deepEqual(started, ["a1", "a2"]);
    release[1]();
    await next;
  });

  it("the generator of an aborted stream counts until it has ended", async () => {
    const { callMap, handler, release } = server({ concurrency: 1, overrun: 0 });
    const stream = callMap.subscribe("t.deaf", {});
    assert.equal((await stream.next()).value.data, 1);
    await settled();
    await stream.return();
    await settled();
    assert.deepEqual(handler.stats(), { running: 0, waiting: 0, overrunning: 1 });
    release[0]();
    await settled();
    assert.deepEqual(handler.stats(), { running: 0, waiting: 0, overrunning: 0 });
  });

  it("a stream that is silent for too long is ended", async () => {
    const { callMap } = server({ timeout: 20 });
    const stream = callMap.subscribe("t.silent", {});
    assert.equal((await stream.next()).value.data, 1);
    await assert.rejects(stream.next(), { code: "TIMEOUT", message: /took longer than 20 ms/ });
  });
});
