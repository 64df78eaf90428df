import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { PendingRequestMap, unwrap } from "@alkdev/operations";
import { Redis } from "ioredis";
import { missingBroker, startRedis } from "../support/brokers.mjs";
import { closeTargets, isServed, openTarget, serveOn, until } from "./support.mjs";

describe("over Redis", { skip: missingBroker("redis-server") }, () => {
  let redis;
  let url;
  let server;
  let target;
  let map;
  before(async () => {
    redis = await startRedis();
    url = redis.url;
    server = serveOn({ url });
    target = openTarget({ url });
    map = new PendingRequestMap(target);
    await isServed(map);
  });
  after(async () => {
    await closeTargets();
    await redis.stop();
  });

  it("calls and their failures cross Redis", async () => {
    assert.deepEqual(unwrap(await map.call("t.double", { n: 21 })), { n: 42 });
    await assert.rejects(map.call("t.fail", {}), { code: "FULL", message: "FULL: no room" });
    await assert.rejects(map.call("t.none", {}), { code: "OPERATION_NOT_FOUND" });
    await assert.rejects(map.call("t.never", {}, { deadline: Date.now() + 30 }), { code: "TIMEOUT" });
    assert.equal(map.getPendingCount(), 0);
  });

  it("text of any kind crosses Redis unharmed", async () => {
    for (const input of ["", "\u0000\u2028\ud83d\ude00", { "": [[], {}, null, 1e308] }, 2 ** 53]) {
      assert.deepEqual(unwrap(await map.call("t.echo", input)), input);
    }
  });

  it("streams cross Redis in order, and end", async () => {
    const values = [];
    for await (const envelope of map.subscribe("t.count", { to: 3000 })) values.push(unwrap(envelope));
    assert.deepEqual(
      values,
      Array.from({ length: 3000 }, (_, i) => i + 1),
    );
    assert.equal(map.getPendingCount(), 0);
  });

  it("a consumer that leaves over Redis ends the stream at the server", async () => {
    const before = server.cleanups();
    for await (const envelope of map.subscribe("t.tick", {})) if (unwrap(envelope) === 2) break;
    await until(() => server.cleanups() === before + 1);
  });

  it("identity crosses Redis, trust does not", async () => {
    await assert.rejects(map.call("t.secret", {}, { trusted: true }), { code: "ACCESS_DENIED" });
    // Neither when it is written into the event by hand.
    const requestId = crypto.randomUUID();
    const answer = new Promise((resolve) => {
      const stop = map["call.error"].subscribe((event) => {
        if (event.requestId !== requestId) return;
        stop();
        resolve(event.code);
      });
    });
    const payload = {
      requestId,
      operationId: "t.secret",
      input: {},
      trusted: true,
      context: { trusted: true },
    };
    target.dispatchEvent(
      new CustomEvent("call.requested", { detail: { type: "call.requested", id: "", payload } }),
    );
    assert.equal(await answer, "ACCESS_DENIED");
    const identity = { id: "ada", scopes: ["admin"] };
    assert.equal(unwrap(await map.call("t.secret", {}, { identity })), "for ada");
  });

  it("each of 10,000 calls in flight over Redis gets its own response", async () => {
    const calls = Array.from({ length: 10_000 }, (_, n) => map.call("t.double", { n }));
    const answers = await Promise.all(calls);
    answers.forEach((envelope, n) => {
      assert.deepEqual(envelope.data, { n: 2 * n });
    });
  });

  it("two maps on one Redis target reach each other", async () => {
    const { target: shared, callMap, stop } = serveOn({ url, prefix: "shared:" });
    const caller = new PendingRequestMap(shared);
    assert.deepEqual(unwrap(await caller.call("t.double", { n: 2 })), { n: 4 });
    assert.deepEqual(unwrap(await callMap.call("t.double", { n: 3 })), { n: 6 });
    stop();
    await shared.close();
  });

  it("prefixes separate targets on one Redis", async () => {
    const other = openTarget({ url, prefix: "elsewhere:" });
    await assert.rejects(new PendingRequestMap(other).call("t.double", { n: 1 }), {
      code: "OPERATION_NOT_FOUND",
      message: /Calls are not served.*elsewhere:call\.requested/,
    });
    await other.close();
  });

  it("a Redis channel is subscribed only while there are listeners", async () => {
    const client = new Redis(url);
    const prefixed = openTarget({ url, prefix: "counted:" });
    const listeners = async () => (await client.pubsub("NUMSUB", "counted:tested"))[1];
    const heard = [];
    const listener = (event) => heard.push(event.detail);
    const controller = new AbortController();
    prefixed.addEventListener("tested", listener);
    prefixed.addEventListener("tested", listener);
    prefixed.addEventListener("tested", { handleEvent: listener }, { once: true });
    prefixed.addEventListener("tested", (event) => heard.push(event.type), { signal: controller.signal });
    await until(async () => (await listeners()) === 1);
    prefixed.dispatchEvent(new CustomEvent("tested", { detail: 1 }));
    await until(() => heard.length === 3);
    prefixed.dispatchEvent(new CustomEvent("tested", { detail: null }));
    await until(() => heard.length === 5);
    assert.deepEqual(heard, [1, 1, "tested", null, "tested"]);
    controller.abort();
    assert.equal(await listeners(), 1);
    prefixed.removeEventListener("tested", listener);
    prefixed.removeEventListener("tested", listener);
    await until(async () => (await listeners()) === 0);
    client.disconnect();
    await prefixed.close();
  });

  it("what cannot be sent over Redis fails the call, and leaves nothing behind", async () => {
    const circular = {};
    circular.self = circular;
    await assert.rejects(map.call("t.echo", circular), { code: "VALIDATION_ERROR", message: /JSON/ });
    await assert.rejects(map.subscribe("t.echo", 1n).next(), { code: "VALIDATION_ERROR", message: /JSON/ });
    assert.equal(map.getPendingCount(), 0);
    // An answer that cannot be written is a failure of the call, not a silence.
    await assert.rejects(map.call("t.bigint", {}), { code: "VALIDATION_ERROR", message: /JSON/ });
  });

  it("close() of a Redis target rejects what is pending, and refuses what follows", async () => {
    const closing = openTarget({ url });
    const caller = new PendingRequestMap(closing);
    const call = caller.call("t.never", {});
    const closed = closing.close();
    await assert.rejects(call, { code: "EXECUTION_ERROR", message: /closed/ });
    await closed;
    await closing.close();
    await assert.rejects(caller.call("t.double", { n: 1 }), { code: "EXECUTION_ERROR", message: /closed/ });
    assert.equal(caller.getPendingCount(), 0);
  });
});
