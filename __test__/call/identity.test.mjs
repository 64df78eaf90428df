// `buildCallHandler({ verifyIdentity })`, which every transport shares. What it decides is in nats/identity.test.mjs.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildCallHandler, OperationRegistry, PendingRequestMap, unwrap } from "@alkdev/operations";
import { query, settled } from "./support.mjs";

function server(operations, options) {
  const registry = new OperationRegistry();
  registry.registerAll(operations);
  const callMap = new PendingRequestMap();
  const handle = buildCallHandler({ registry, callMap, ...options });
  callMap["call.requested"].subscribe(handle);
  return { callMap, handle };
}

describe("buildCallHandler with verifyIdentity", () => {
  it("concurrency limits count calls by the verified identity, not by the claimed one", async () => {
    const started = [];
    const { callMap } = server([query("held", (n) => new Promise((resolve) => started.push([n, resolve])))], {
      perCaller: 1,
      verifyIdentity: () => ({ id: "mallory", scopes: [] }),
    });
    const calls = [1, 2].map((n) => callMap.call("t.held", n, { identity: { id: `name-${n}`, scopes: [] } }));
    await settled();
    assert.deepEqual(
      started.map(([n]) => n),
      [1],
    );
    for (const at of [0, 1]) {
      started[at][1](at);
      await settled();
    }
    assert.deepEqual((await Promise.all(calls)).map(unwrap), [0, 1]);
  });

  it("no more verifyIdentity calls are pending than calls may wait", async () => {
    const open = [];
    const { callMap, handle } = server([query("echo", (input) => input)], {
      concurrency: 1,
      queue: 2,
      verifyIdentity: () => new Promise((resolve) => open.push(resolve)),
    });
    const calls = [1, 2].map((n) => callMap.call("t.echo", n));
    await assert.rejects(callMap.call("t.echo", 3), {
      details: { reason: "overloaded", operationId: "t.echo", delivery: "none" },
    });
    for (const answer of open) answer(true);
    assert.deepEqual((await Promise.all(calls)).map(unwrap), [1, 2]);
    assert.deepEqual(handle.stats(), { running: 0, waiting: 0, overrunning: 0 });
  });

  it("verifyIdentity is bound by the deadline of the call", async () => {
    const ran = [];
    let answer;
    const { callMap, handle } = server([query("late", () => ran.push("late"))], {
      verifyIdentity: () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    });
    await assert.rejects(callMap.call("t.late", 1, { deadline: Date.now() + 20 }), { code: "TIMEOUT" });
    while (handle.stats().running > 0) await settled();
    assert.equal(handle.stats().overrunning, 1);
    answer(true);
    await settled();
    assert.deepEqual(ran, []);
    assert.deepEqual(handle.stats(), { running: 0, waiting: 0, overrunning: 0 });
  });
});
