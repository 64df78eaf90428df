// Messages that are no events, messages that are too large, and secrets that must not be shown.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { PendingRequestMap, unwrap } from "@alkdev/operations";
import { createRedisEventTarget } from "@alkdev/operations/transport-redis";
import { configure, reset } from "@logtape/logtape";
import { Redis } from "ioredis";
import { missingBroker, startRedis } from "../support/brokers.mjs";
import { assertNoStalls } from "../support/event-loop.mjs";
import { closeTargets, isServed, openTarget, serveOn, until } from "./support.mjs";

assertNoStalls();

const PASSWORD = "pa55-w0rd";

describe("on a Redis that others use", { skip: missingBroker("redis-server") }, () => {
  let redis;
  let url;
  before(async () => {
    redis = await startRedis({ password: PASSWORD });
    url = `redis://:${PASSWORD}@127.0.0.1:${redis.port}`;
  });
  after(async () => {
    await closeTargets();
    await redis.stop();
  });

  it("malformed Redis messages are dropped and counted, and calls go on", async () => {
    const server = serveOn({ url });
    const target = openTarget({ url });
    const map = new PendingRequestMap(target);
    await isServed(map);
    const stranger = new Redis(url);
    const messages = [
      ...["{", "no json", Buffer.from([0xff, 0xfe]), "\u0000", "\u0000too long", "1 2"],
      ...["", "null", "1", '"x"', "[]", "{}", '{"payload":{}}', '{"requestId":7}'],
    ];
    const rounds = 500;
    const work = [];
    for (let round = 0; round < rounds; round++) {
      for (const message of messages) work.push(stranger.publish("call.requested", message));
      if (round % 50 === 0) work.push(map.call("t.double", { n: round }));
    }
    for (const done of await Promise.all(work)) if (typeof done === "object") assert.ok(done.data.n >= 0);
    // One message claims to be our own mark for one that was too long, and is counted as such.
    await until(() => server.target.dropped.malformed === rounds * (messages.length - 1));
    assert.equal(server.target.dropped.tooLarge, rounds);
    assert.deepEqual(target.dropped, { malformed: 0, tooLarge: 0 });
    stranger.disconnect();
    await target.close();
    await server.target.close();
  });

  it("deep nesting over Redis passes, or is dropped, and does no harm", async () => {
    const server = serveOn({ url });
    const target = openTarget({ url });
    const map = new PendingRequestMap(target);
    await isServed(map);
    const stranger = new Redis(url);
    await stranger.publish("call.requested", "[".repeat(1_000_000) + "]".repeat(1_000_000));
    await stranger.publish("call.requested", "[".repeat(1_000_000));
    await until(() => server.target.dropped.malformed === 2);
    assert.deepEqual(unwrap(await map.call("t.double", { n: 1 })), { n: 2 });
    stranger.disconnect();
    await target.close();
    await server.target.close();
  });

  it("a Redis message over the limit is refused by the sender and dropped by the receiver", async () => {
    const server = serveOn({ url, maxMessageBytes: 10_000 });
    const target = openTarget({ url, maxMessageBytes: 20_000 });
    const map = new PendingRequestMap(target);
    await isServed(map);
    await assert.rejects(map.call("t.echo", "x".repeat(20_000)), {
      code: "VALIDATION_ERROR",
      message: /maxMessageBytes \(20000\)/,
    });
    assert.equal(map.getPendingCount(), 0);
    // Longer than the server takes: dropped there, and the connection lives on.
    const dropped = map.call("t.echo", "x".repeat(15_000), { deadline: Date.now() + 60_000 });
    await until(() => server.target.dropped.tooLarge === 1);
    // An answer that is too large fails the call instead of vanishing.
    assert.equal(unwrap(await map.call("t.echo", "x".repeat(5000))).length, 5000);
    const stranger = new Redis(url);
    await stranger.publish("call.requested", Buffer.alloc(20_000_000, "x"));
    await until(() => server.target.dropped.tooLarge === 2);
    assert.deepEqual(unwrap(await map.call("t.double", { n: 1 })), { n: 2 });
    stranger.disconnect();
    const closed = target.close();
    await assert.rejects(dropped, { code: "EXECUTION_ERROR" });
    await closed;
    await server.target.close();
  });

  it("a wrong Redis password is reported, but not shown", async () => {
    const lines = [];
    await configure({
      sinks: { lines: (record) => lines.push(JSON.stringify(record)) },
      loggers: [
        { category: ["operations"], lowestLevel: "debug", sinks: ["lines"] },
        { category: ["logtape", "meta"], lowestLevel: "error", sinks: [] },
      ],
    });
    for (const credentials of ["", ":wr0ng-s3cret@", "eve:wr0ng-s3cret@"]) {
      const target = openTarget({ url: `redis://${credentials}127.0.0.1:${redis.port}` });
      const map = new PendingRequestMap(target);
      await assert.rejects(map.call("t.x", {}), (error) => {
        assert.equal(error.code, "EXECUTION_ERROR");
        assert.match(error.message, /refused the login/);
        assert.doesNotMatch(JSON.stringify([error.message, error.stack, error.details]), /wr0ng|s3cret/);
        return true;
      });
      assert.equal(map.getPendingCount(), 0);
      await target.close();
    }
    await reset();
    assert.ok(lines.length > 0);
    assert.doesNotMatch(lines.join(), /wr0ng|s3cret/);
  });

  it("a Redis user with only the channels of a prefix is enough, and others get an error about what is missing", async () => {
    const admin = new Redis(url);
    const rules = (prefix) => ["on", ">s3cret", "resetchannels", `&${prefix}*`, "+publish", "+subscribe"];
    await admin.call("ACL", "SETUSER", "worker", ...rules("shop:"), "+unsubscribe", "+ping", "+hello");
    const options = { url: `redis://worker:s3cret@127.0.0.1:${redis.port}`, publishTimeout: 300 };
    serveOn({ ...options, prefix: "shop:" });
    const map = new PendingRequestMap(openTarget({ ...options, prefix: "shop:" }));
    await isServed(map);
    assert.deepEqual(unwrap(await map.call("t.double", { n: 1 })), { n: 2 });
    const elsewhere = new PendingRequestMap(openTarget({ ...options, prefix: "bank:" }));
    await assert.rejects(elsewhere.call("t.double", { n: 1 }), {
      code: "EXECUTION_ERROR",
      message: /not sent.*no permissions.*check the ACL/,
    });
    // Without leave to ask the server what it is, too.
    await admin.call("ACL", "SETUSER", "shy", ...rules("shop:"));
    const shy = new PendingRequestMap(
      openTarget({ ...options, url: `redis://shy:s3cret@127.0.0.1:${redis.port}`, prefix: "shop:" }),
    );
    assert.deepEqual(unwrap(await shy.call("t.double", { n: 2 })), { n: 4 });
    admin.disconnect();
    await closeTargets();
  });

  it("unusable options of a Redis target are named", () => {
    for (const [options, field] of [
      [undefined, "options"],
      [{}, "url"],
      [{ url: `http://:${PASSWORD}@h` }, "url"],
      [{ url, maxMessageBytes: 0 }, "maxMessageBytes"],
      [{ url, prefix: 1 }, "prefix"],
      [{ url, tls: { ca: "x" } }, "tls"],
      [{ url, password: PASSWORD }, "password"],
    ]) {
      assert.throws(
        () => createRedisEventTarget(options),
        (error) => {
          assert.equal(error.code, "VALIDATION_ERROR");
          assert.equal(error.details.field, field);
          assert.ok(!error.message.includes(PASSWORD));
          return true;
        },
      );
    }
  });
});
