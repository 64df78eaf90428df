// A caller who floods a server: others are served all the same, and everybody gets an answer.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildCallHandler, OperationRegistry, PendingRequestMap } from "@alkdev/operations";
import { until } from "../support/waiting.mjs";
import { operation, serving } from "./support.mjs";

const FLOOD = 60;
const LIMITS = { concurrency: 2, perCaller: 2, queue: 20 };

/** An operation whose calls end when they are let go, in their order. */
function gated() {
  const open = [];
  const begun = [];
  const handler = (who) => {
    begun.push(who);
    return new Promise((resolve) => open.push(() => resolve(who)));
  };
  return { open, begun, operation: operation({ name: "work", handler }) };
}

async function served() {
  const work = gated();
  const tokens = { flood: { id: "flood", scopes: [] }, other: { id: "other", scopes: [] } };
  const { url, stats } = await serving([work.operation], { ...LIMITS, tokens });
  const call = async (who) => {
    const response = await fetch(`${url}/api/test/work`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${who}` },
      body: JSON.stringify(who),
    });
    const body = await response.json();
    return response.status === 200 ? "done" : body.details.reason;
  };
  return { ...work, call, waiting: () => stats().waiting };
}

async function handled() {
  const work = gated();
  const registry = new OperationRegistry();
  registry.register(work.operation);
  const callMap = new PendingRequestMap();
  const handler = buildCallHandler({ registry, callMap, ...LIMITS });
  callMap["call.requested"].subscribe(handler);
  const call = (who) =>
    callMap.call("test.work", who, { identity: { id: who, scopes: [] } }).then(
      () => "done",
      ({ details }) => details.reason,
    );
  return { ...work, call, waiting: () => handler.stats().waiting };
}

for (const [where, make] of [
  ["a server", served],
  ["a call handler", handled],
]) {
  describe(`a caller who floods ${where}`, () => {
    it("a flood by one caller starves no other caller, and every call is answered", async () => {
      const { open, begun, call, waiting } = await make();
      const outcomes = { flood: [], other: [] };
      const send = (who) => call(who).then((outcome) => outcomes[who].push(outcome));
      const calls = Array.from({ length: FLOOD }, () => send("flood"));
      // Two work, twenty wait, and the rest is refused.
      await until(() => outcomes.flood.length === FLOOD - 22 && waiting() === 20);
      for (let i = 0; i < 5; i++) calls.push(send("other"));
      // Five of the flood have made room.
      await until(() => outcomes.flood.length === FLOOD - 17);
      assert.deepEqual(outcomes.other, []);
      assert.equal(waiting(), 20);
      for (let ended = 0; ended < 22; ended++) {
        await until(() => open.length > 0);
        open.shift()();
      }
      await Promise.all(calls);
      assert.deepEqual(outcomes.other, Array(5).fill("done"));
      assert.equal(outcomes.flood.filter((outcome) => outcome === "done").length, 17);
      assert.equal(outcomes.flood.filter((outcome) => outcome === "overloaded").length, FLOOD - 17);
      // They took turns: the last of the other five came long before the end of the flood.
      assert.ok(begun.lastIndexOf("other") <= 2 + 10, `${begun}`);
      assert.equal(waiting(), 0);
    });
  });
}
