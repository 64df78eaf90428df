// What callers learn when the broker goes away, comes back, or was never there.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { PendingRequestMap, unwrap } from "@alkdev/operations";
import { missingBroker, startRedis } from "../support/brokers.mjs";
import { closeTargets, isServed, openTarget, serveOn, until } from "./support.mjs";

describe("when Redis goes away", { skip: missingBroker("redis-server") }, () => {
  after(closeTargets);

  it("pending calls fail when Redis goes away, and everything works again once it is back", async () => {
    const redis = await startRedis();
    const { url } = redis;
    const server = serveOn({ url });
    const target = openTarget({ url });
    const map = new PendingRequestMap(target);
    try {
      await isServed(map);
      for (let round = 0; round < 2; round++) {
        const call = map.call("t.never", {});
        const stream = map.subscribe("t.tick", {});
        await stream.next();
        const outcome = assert.rejects(call, { code: "EXECUTION_ERROR", message: /lost/ });
        await redis.kill();
        await outcome;
        await assert.rejects(
          async () => {
            for (;;) await stream.next();
          },
          (error) => error.code === "EXECUTION_ERROR" && /lost/.test(error.message),
        );
        assert.equal(map.getPendingCount(), 0);
        // Sent while it is away, answered when it is back; unless the sender learns of the loss only by sending. Then
        // the caller is told.
        const early = map.call("t.double", { n: 4 }).then(unwrap, (error) => error);
        await redis.start();
        const answer = await early;
        assert.ok(answer.n === 8 || /may not have been sent/.test(answer.message), String(answer));
        await isServed(map);
        assert.deepEqual(unwrap(await map.call("t.double", { n: 5 })), { n: 10 });
      }
      // Each stream has ended on the side of the server too, whether or not it heard of the abort.
      await until(() => server.cleanups() === 2);
    } finally {
      await target.close();
      await server.target.close();
      await redis.stop();
    }
  });

  it("calls in flight over a Redis restart get exactly one outcome each", async () => {
    const redis = await startRedis();
    const { url } = redis;
    const server = serveOn({ url });
    const target = openTarget({ url });
    const map = new PendingRequestMap(target);
    try {
      await isServed(map);
      const outcomes = [];
      const calls = Array.from({ length: 2000 }, (_, n) =>
        map.call("t.double", { n }, { deadline: Date.now() + 60_000 }).then(
          (envelope) => outcomes.push(envelope.data.n === 2 * n ? "answer" : "wrong"),
          (error) => outcomes.push(error.code),
        ),
      );
      await redis.restart();
      await Promise.all(calls);
      assert.equal(outcomes.length, 2000);
      assert.deepEqual(
        outcomes.filter((each) => !["answer", "EXECUTION_ERROR"].includes(each)),
        [],
      );
      assert.equal(map.getPendingCount(), 0);
    } finally {
      await target.close();
      await server.target.close();
      await redis.stop();
    }
  });

  it("a call says so when there is no Redis", async () => {
    const redis = await startRedis();
    const { url, port } = redis;
    await redis.stop();
    const target = openTarget({ url, publishTimeout: 50 });
    const map = new PendingRequestMap(target);
    await assert.rejects(map.call("t.x", {}), {
      code: "EXECUTION_ERROR",
      message: new RegExp(`not sent.*127\\.0\\.0\\.1:${port} cannot be reached`),
      details: { reason: "not-sent", delivery: "none", server: `127.0.0.1:${port}` },
    });
    await assert.rejects(map.subscribe("t.x", {}).next(), { code: "EXECUTION_ERROR" });
    assert.equal(map.getPendingCount(), 0);
    await target.close();
  });

  it("what may wait to be sent to Redis is bounded", async () => {
    const redis = await startRedis();
    await redis.stop();
    const target = openTarget({ url: redis.url, publishTimeout: 2000 });
    const map = new PendingRequestMap(target);
    const input = "x".repeat(15 * 1024 * 1024);
    const messages = await Promise.all(
      Array.from({ length: 6 }, () => map.call("t.x", input).catch(({ message }) => message)),
    );
    assert.equal(messages.filter((message) => /cannot be reached: /.test(message)).length, 4);
    assert.equal(messages.filter((message) => /messages wait to be sent/.test(message)).length, 2);
    await target.close();
  });
});
