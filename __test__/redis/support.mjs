// What the tests of the Redis transport share.

import { createRedisEventTarget } from "@alkdev/operations/transport-redis";
import { query, serving, subscription } from "../call/support.mjs";
import { until } from "../support/waiting.mjs";

export { until };

const targets = [];

/** A target that `closeTargets` closes, if the test does not. */
export function openTarget(options) {
  const target = createRedisEventTarget(options);
  targets.push(target);
  return target;
}

/** Closes what is still open: a test that failed must not keep its process alive. */
export async function closeTargets() {
  await Promise.all(targets.splice(0).map((target) => target.close()));
}

/** Serves a few operations on a target of its own. */
export function serveOn(options) {
  let cleanups = 0;
  const operations = [
    query("double", ({ n }) => ({ n: n * 2 })),
    query("echo", (input) => input),
    query("bigint", () => 1n),
    query("fail", () => Promise.reject(new Error("FULL: no room")), { errorSchemas: [{ code: "FULL" }] }),
    query("secret", (_, { identity }) => `for ${identity.id}`, {
      accessControl: { requiredScopes: ["admin"] },
    }),
    query("never", () => new Promise(() => {})),
    subscription("count", async function* ({ to }) {
      for (let i = 1; i <= to; i++) yield i;
    }),
    subscription("tick", async function* () {
      try {
        for (let i = 0; ; i++) {
          yield i;
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      } finally {
        cleanups += 1;
      }
    }),
  ];
  const target = openTarget(options);
  return { target, cleanups: () => cleanups, ...serving(operations, { target }) };
}

/** Waits until somebody answers the calls of a map. */
export function isServed(map) {
  return until(() =>
    map.call("t.double", { n: 1 }, { deadline: Date.now() + 1000 }).then(
      () => true,
      () => false,
    ),
  );
}
