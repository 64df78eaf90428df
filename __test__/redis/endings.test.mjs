// How calls over Redis end when one of their ends does: a caller that is killed, a server that is closed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { isRetryable, PendingRequestMap, unwrap } from "@alkdev/operations";
import { Redis } from "ioredis";
import { query, serving, subscription } from "../call/support.mjs";
import { missingBroker, startRedis } from "../support/brokers.mjs";
import { closeTargets, isServed, openTarget, until } from "./support.mjs";

const caller = fileURLToPath(new URL("./caller-process.mjs", import.meta.url));

describe("over Redis", { skip: missingBroker("redis-server"), timeout: 60_000 }, () => {
  let redis;
  before(async () => {
    redis = await startRedis();
  });
  after(async () => {
    await closeTargets();
    await redis.stop();
  });

  /** A server whose work ends when it is let. */
  function serve(prefix) {
    const seen = { hanging: 0, aborted: [], ended: [] };
    let finish;
    const finished = new Promise((resolve) => {
      finish = resolve;
    });
    const target = openTarget({ url: redis.url, prefix });
    serving(
      [
        query("double", ({ n }) => ({ n: n * 2 })),
        query("slow", () => {
          seen.hanging += 1;
          return finished.then(() => "finished");
        }),
        query("hang", (_, { signal }) => {
          seen.hanging += 1;
          signal.addEventListener("abort", () => seen.aborted.push("hang"));
          return new Promise(() => {});
        }),
        subscription("tick", async function* () {
          try {
            for (let i = 0; ; i++) {
              yield i;
              await new Promise((resolve) => setTimeout(resolve, 5));
            }
          } finally {
            seen.ended.push("tick");
          }
        }),
      ],
      { target },
    );
    return { target, seen, finish: () => finish() };
  }
  const call = (prefix) => new PendingRequestMap(openTarget({ url: redis.url, prefix }));

  it("a caller over Redis that is killed has its calls aborted and its streams ended; those of others go on", async () => {
    const { target, seen } = serve("");
    const map = call("");
    await isServed(map);
    const stream = map.subscribe("t.tick", {});
    assert.equal(unwrap((await stream.next()).value), 0);
    const child = spawn(process.execPath, [caller, redis.url], { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await until(() => seen.aborted.length === 1 && seen.ended.length === 1);
    assert.equal(unwrap((await stream.next()).value), 1);
    await stream.return();
    await until(() => seen.ended.length === 2);
    await target.close();
  });

  it("close() of a Redis target takes nothing new and lets running calls finish", async () => {
    const { target, seen, finish } = serve("drain:");
    const map = call("drain:");
    await isServed(map);
    const running = map.call("t.slow", {});
    await until(() => seen.hanging === 1);
    const closing = target.close();
    await assert.rejects(map.call("t.double", { n: 1 }), (error) => {
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.deepEqual(error.details, { reason: "worker-closed", delivery: "none" });
      return isRetryable(error);
    });
    finish();
    assert.equal(unwrap(await running), "finished");
    await closing;
    // Redis notices a little later that the connection has ended; what is published until then is lost.
    const client = new Redis(redis.url);
    while ((await client.pubsub("NUMSUB", "drain:call.requested"))[1] > 0);
    client.disconnect();
    await assert.rejects(map.call("t.double", { n: 1 }), (error) => {
      assert.equal(error.code, "OPERATION_NOT_FOUND");
      assert.deepEqual([error.details.reason, error.details.delivery], ["no-worker", "none"]);
      return true;
    });
  });

  it("close({ drain }) of a Redis target ends what does not finish, and notifies its callers", async () => {
    const { target, seen } = serve("hurry:");
    const map = call("hurry:");
    await isServed(map);
    const running = map.call("t.hang", {});
    const refused = assert.rejects(running, {
      code: "EXECUTION_ERROR",
      details: { reason: "worker-closed", delivery: "unknown" },
    });
    await until(() => seen.hanging === 1);
    await target.close({ drain: 0 });
    await refused;
    assert.deepEqual(seen.aborted, ["hang"]);
    const other = openTarget({ url: redis.url });
    await assert.rejects(other.close({ drian: 1 }), {
      code: "VALIDATION_ERROR",
      message: /Did you mean drain/,
    });
    await other.close();
  });
});

describe("a Redis that was restarted", { skip: missingBroker("redis-server"), timeout: 60_000 }, () => {
  after(closeTargets);

  it("a restarted Redis does not fail calls for lack of a server, although servers reconnect later", async () => {
    const redis = await startRedis();
    const { url } = redis;
    const server = openTarget({ url });
    serving([query("double", ({ n }) => ({ n: n * 2 }))], { target: server });
    const map = new PendingRequestMap(openTarget({ url }));
    try {
      await isServed(map);
      await redis.kill();
      // Away for so long that the pauses between the attempts of the server have grown.
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      await redis.start();
      const outcomes = [];
      for (let n = 0; n < 20; n++) {
        outcomes.push(
          await map.call("t.double", { n }, { deadline: Date.now() + 30_000 }).then(
            (envelope) => unwrap(envelope).n === 2 * n,
            (error) => error.code,
          ),
        );
      }
      // One may have met a connection that was lost; it is then told, and has not run twice.
      assert.deepEqual(
        outcomes.filter((outcome) => outcome !== true && outcome !== "EXECUTION_ERROR"),
        [],
      );
      assert.ok(outcomes.filter((outcome) => outcome === true).length >= 19, String(outcomes));
    } finally {
      await closeTargets();
      await redis.stop();
    }
  });
});
