import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { PendingRequestMap, unwrap } from "@alkdev/operations";
import { createRedisEventTarget } from "@alkdev/operations/transport-redis";
import { Redis } from "ioredis";
import { missingBroker, startRedis } from "../support/brokers.mjs";
import { serveOn, until } from "./support.mjs";

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
    target = createRedisEventTarget({ url });
    map = new PendingRequestMap(target);
    await until(() => map.call("t.double", { n: 1 }).then(Boolean, () => false));
  });
  after(async () => {
    await target.close();
    await server.target.close();
    await redis.stop();
  });

  it("calls and their failures cross", async () => {
    assert.deepEqual(unwrap(await map.call("t.double", { n: 21 })), { n: 42 });
    await assert.rejects(map.call("t.fail", {}), { code: "FULL", message: "FULL: no room" });
    await assert.rejects(map.call("t.none", {}), { code: "OPERATION_NOT_FOUND" });
    await assert.rejects(map.call("t.never", {}, { deadline: Date.now() + 30 }), { code: "TIMEOUT" });
    assert.equal(map.getPendingCount(), 0);
  });
});
