// What the tests of the Redis transport share.

import { createRedisEventTarget } from "@alkdev/operations/transport-redis";
import { query, serving, subscription } from "../call/support.mjs";

export const operations = [
  query("double", ({ n }) => ({ n: n * 2 })),
  query("echo", (input) => input),
  query("fail", () => Promise.reject(new Error("FULL: no room")), { errorSchemas: [{ code: "FULL" }] }),
  query("secret", (_, { identity }) => `for ${identity.id}`, {
    accessControl: { requiredScopes: ["admin"] },
  }),
  query("never", () => new Promise(() => {})),
  subscription("count", async function* ({ to }) {
    for (let i = 1; i <= to; i++) yield i;
  }),
  subscription("tick", async function* () {
    for (let i = 0; ; i++) {
      yield i;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }),
];

/** Serves the operations on a target of its own. */
export function serveOn(options, more = []) {
  const target = createRedisEventTarget(options);
  return { target, ...serving([...operations, ...more], { target }) };
}

/** Waits until something holds. */
export async function until(holds) {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}
