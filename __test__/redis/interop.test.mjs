// The event target of GraphQL Yoga and ours on one Redis, in both directions.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { PendingRequestMap, unwrap } from "@alkdev/operations";
import { createRedisEventTarget as createYogaTarget } from "@graphql-yoga/redis-event-target";
import { Redis } from "ioredis";
import { query, serving, subscription } from "../call/support.mjs";
import { missingBroker, startRedis } from "../support/brokers.mjs";
import { closeTargets, isServed, openTarget } from "./support.mjs";

const operations = [
  query("double", ({ n }) => ({ n: n * 2 })),
  subscription("count", async function* ({ to }) {
    for (let i = 1; i <= to; i++) yield i;
  }),
];

describe("beside the event target of GraphQL Yoga", { skip: missingBroker("redis-server") }, () => {
  let redis;
  const clients = [];
  before(async () => {
    redis = await startRedis();
  });
  after(async () => {
    for (const client of clients) client.disconnect();
    await closeTargets();
    await redis.stop();
  });

  function yogaTarget() {
    const [publishClient, subscribeClient] = [new Redis(redis.url), new Redis(redis.url)];
    clients.push(publishClient, subscribeClient);
    return createYogaTarget({ publishClient, subscribeClient });
  }

  async function exchange(server, caller) {
    const { stop } = serving(operations, { target: server });
    const map = new PendingRequestMap(caller);
    await isServed(map);
    assert.deepEqual(unwrap(await map.call("t.double", { n: 21 })), { n: 42 });
    await assert.rejects(map.call("t.none", {}), { code: "OPERATION_NOT_FOUND" });
    const values = [];
    for await (const envelope of map.subscribe("t.count", { to: 50 })) values.push(unwrap(envelope));
    assert.equal(values.length, 50);
    assert.equal(map.getPendingCount(), 0);
    stop();
  }

  it("a GraphQL Yoga event target serves, ours calls", async () => {
    const ours = openTarget({ url: redis.url });
    await exchange(yogaTarget(), ours);
    await ours.close();
  });

  it("our event target serves, one of GraphQL Yoga calls", async () => {
    const ours = openTarget({ url: redis.url });
    await exchange(ours, yogaTarget());
    await ours.close();
  });

  it("error details are the same beside GraphQL Yoga, also absent ones", async () => {
    const ours = openTarget({ url: redis.url });
    const theirs = yogaTarget();
    const heard = { ours: [], theirs: [] };
    const all = new Promise((resolve) => {
      const note = (name) => (event) => {
        heard[name].push(event.detail);
        if (heard.ours.length + heard.theirs.length === 16) resolve();
      };
      ours.addEventListener("note", note("ours"));
      theirs.addEventListener("note", note("theirs"));
    });
    const ready = new Redis(redis.url);
    clients.push(ready);
    while ((await ready.pubsub("NUMSUB", "note"))[1] < 2);
    for (const detail of [{ a: [1, "\u00e9", null] }, "text", 0, undefined]) {
      for (const target of [ours, theirs]) {
        target.dispatchEvent(Object.assign(new Event("note"), { detail }));
      }
    }
    await all;
    const sorted = (list) => list.map((each) => JSON.stringify(each)).sort();
    assert.deepEqual(sorted(heard.ours), sorted(heard.theirs));
    await ours.close();
  });
});
