// `callMap.typed()`: the shape of `createClient`, over any transport.

import assert from "node:assert/strict";
import { it } from "node:test";
import { PendingRequestMap } from "@alkdev/operations";
import { query, serving, subscription } from "./support.mjs";

it("a typed call map has the operations by namespace and name, and all that the map has", async () => {
  const { callMap: map } = serving([
    query("double", ({ n }) => ({ n: n * 2 })),
    query("hang", () => new Promise(() => {})),
    subscription("count", async function* ({ to }) {
      for (let i = 1; i <= to; i++) yield i;
    }),
  ]);
  const typed = map.typed();
  assert.deepEqual((await typed.t.double({ n: 2 })).data, { n: 4 });
  assert.deepEqual((await typed.call("t.double", { n: 3 })).data, { n: 6 });
  assert.deepEqual((await typed.$call("t.double", { n: 4 })).data, { n: 8 });
  await assert.rejects(typed.t.hang({}, { timeout: 20 }), { code: "TIMEOUT" });
  const seen = [];
  for await (const { data } of typed.$subscribe("t.count", { to: 2 })) seen.push(data);
  for await (const { data } of typed.subscribe("t.count", { to: 2 })) seen.push(data);
  assert.deepEqual(seen, [1, 2, 1, 2]);
  assert.ok(typed instanceof PendingRequestMap);
  assert.equal(typed.getPendingCount(), 0);
  assert.equal(await typed, typed);
});
