// Anything at all on the channels of a Redis that others use. `OPERATIONS_SEED` repeats a run.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { CallError, isResponseEnvelope, PendingRequestMap, unwrap } from "@alkdev/operations";
import { Redis } from "ioredis";
import { randomDetail, TYPES } from "../call/random-events.mjs";
import { chosenSeed, Random } from "../schema/support/random.mjs";
import { missingBroker, startRedis } from "../support/brokers.mjs";
import { assertNoStalls } from "../support/event-loop.mjs";
import { closeTargets, isServed, openTarget, serveOn, until } from "./support.mjs";

const MESSAGES = 10_000;
const seed = chosenSeed();

/** A message, mostly JSON. */
function message(random, type, requestId) {
  const text = JSON.stringify(randomDetail(random, type, requestId)) ?? "";
  if (random.chance(0.1)) return text.slice(0, random.below(text.length + 1));
  if (random.chance(0.05)) return Buffer.from([0xff, random.below(256), 0, ...Buffer.from(text)]);
  return random.chance(0.02) ? "[".repeat(random.below(100_000)) : text;
}

describe("random messages on a Redis", { skip: missingBroker("redis-server"), timeout: 60_000 }, () => {
  assertNoStalls();
  let redis;
  before(async () => {
    redis = await startRedis();
  });
  after(async () => {
    await closeTargets();
    await redis.stop();
  });

  it(`${MESSAGES} random messages on a Redis: each call has one outcome, and calls work afterwards`, async (t) => {
    console.log(`OPERATIONS_SEED=${seed}, ${MESSAGES} messages`);
    const random = new Random(seed);
    const server = serveOn({ url: redis.url });
    const target = openTarget({ url: redis.url });
    const map = new PendingRequestMap(target);
    await isServed(map);
    let asked;
    map["call.requested"].subscribe(({ requestId, operationId }) => {
      if (operationId === "t.never") asked = requestId;
    });
    const stranger = new Redis(redis.url);
    t.after(() => stranger.disconnect());
    let outcomes = 0;
    let calls = 0;
    // Nobody answers these but the stranger.
    const call = () =>
      map.call("t.never", {}).then(
        (envelope) => {
          assert.ok(isResponseEnvelope(envelope));
          outcomes += 1;
        },
        (error) => {
          assert.ok(error instanceof CallError);
          assert.match(error.details?.delivery ?? "done", /^(none|unknown|done)$/);
          outcomes += 1;
        },
      );
    for (let i = 0; i < MESSAGES; i++) {
      if (map.getPendingCount() === 0) {
        calls += 1;
        void call();
      }
      const type = random.pick(TYPES);
      const sent = stranger.publish(type, message(random, type, asked));
      if (i % 50 === 0) await sent;
    }
    // Our own requests come back over Redis, and so does the id of the last one.
    await until(async () => {
      await stranger.publish("call.aborted", JSON.stringify({ requestId: asked ?? "" }));
      return map.getPendingCount() === 0;
    });
    assert.equal(outcomes, calls);
    // How many fit between the messages depends on the machine.
    assert.ok(calls >= 3, `only ${calls} calls were answered`);
    assert.ok(server.target.dropped.malformed > 100);
    assert.equal({}.trusted, undefined);
    assert.deepEqual(unwrap(await map.call("t.double", { n: 4 })), { n: 8 });
  });
});
