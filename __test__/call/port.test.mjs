// A hub in this thread and spokes in worker threads.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MessageChannel, Worker } from "node:worker_threads";
import { createPortEventTarget, PendingRequestMap, unwrap } from "@alkdev/operations";
import { withTimeEnough } from "../support/time-enough.mjs";
import { query, serving, settled } from "./support.mjs";

const spoke = new URL("./spoke-worker.mjs", import.meta.url);

function withSpoke(test) {
  return async () => {
    const { port1, port2 } = new MessageChannel();
    const worker = new Worker(spoke, { workerData: { port: port2 }, transferList: [port2] });
    try {
      await new Promise((resolve, reject) => {
        worker.once("message", resolve);
        worker.once("error", reject);
      });
      await test(new PendingRequestMap(createPortEventTarget(port1)), worker);
    } finally {
      await worker.terminate();
      port1.close();
    }
  };
}

describe("across worker threads", () => {
  it(
    "calls, streams, errors and aborts cross worker threads",
    withSpoke(async (map) => {
      assert.deepEqual(unwrap(await map.call("spoke.double", { n: 21 })), { n: 42 });
      const values = [];
      for await (const envelope of map.subscribe("spoke.count", { to: 5 })) values.push(unwrap(envelope));
      assert.deepEqual(values, [1, 2, 3, 4, 5]);
      await assert.rejects(map.call("spoke.fail", {}), {
        code: "TEAPOT",
        message: "TEAPOT: short and stout",
      });
      await assert.rejects(map.call("spoke.none", {}), { code: "OPERATION_NOT_FOUND" });
      await withTimeEnough(async (time) => {
        await assert.rejects(map.call("spoke.sleep", {}, { deadline: Date.now() + time }), {
          code: "TIMEOUT",
        });
        // None where it could not begin in time.
        return unwrap(await map.call("spoke.abortedCalls", {})) === 1;
      }, 30);
      assert.equal(map.getPendingCount(), 0);
    }),
  );

  it(
    "identity crosses worker threads, trust does not",
    withSpoke(async (map) => {
      await assert.rejects(map.call("spoke.secret", {}, { trusted: true }), { code: "ACCESS_DENIED" });
      const identity = { id: "ada", scopes: ["admin"] };
      assert.equal(unwrap(await map.call("spoke.secret", {}, { identity })), "for ada");
    }),
  );

  it(
    "a generator that never waits can be left across threads, and other calls are served meanwhile",
    withSpoke(async (map) => {
      const staying = map.subscribe("spoke.endless", {});
      assert.equal(unwrap((await staying.next()).value), 0);
      assert.deepEqual(unwrap(await map.call("spoke.double", { n: 21 })), { n: 42 });
      await staying.return();
      while (unwrap(await map.call("spoke.endedStreams", {})) === 0);
    }),
  );

  it("a Worker works as a port", async () => {
    const worker = new Worker(spoke, { workerData: {} });
    const target = createPortEventTarget(worker);
    try {
      const map = new PendingRequestMap(target);
      assert.deepEqual(unwrap(await map.call("spoke.double", { n: 21 })), { n: 42 });
      assert.equal(worker.listenerCount("message"), 1);
      target.close();
      assert.equal(worker.listenerCount("message"), 0);
    } finally {
      await worker.terminate();
    }
  });

  it("messages on a port that are no events are dropped", async () => {
    const { port1, port2 } = new MessageChannel();
    const target = createPortEventTarget(port1);
    serving([query("x", () => 1)], { target });
    for (const message of [1, null, "no json", "[]", "{}", '{"type":7}', { type: "call.requested" }]) {
      port2.postMessage(message);
    }
    const caller = new PendingRequestMap(createPortEventTarget(port2));
    assert.equal(unwrap(await caller.call("t.x", {})), 1);
    target.close();
    port1.close();
    port2.close();
    await settled();
  });
});
