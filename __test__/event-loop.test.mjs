// The helper that measures stalls sees one, and none where there is none.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { longestStall } from "./support/event-loop.mjs";
import { sleep as wait } from "./support/waiting.mjs";

const block = (milliseconds) => {
  const end = Date.now() + milliseconds;
  while (Date.now() < end);
};

describe("the longest stall", () => {
  it("the longest stall is that of the longest turn, wherever it comes", async () => {
    const waiting = await longestStall(() => wait(400));
    const atOnce = await longestStall(() => block(400));
    const later = await longestStall(async () => {
      await wait(20);
      block(400);
      await wait(20);
    });
    for (const { stall } of [atOnce, later]) {
      assert.ok(stall > waiting.stall, `${stall} ms when blocked, ${waiting.stall} ms when waiting`);
    }
  });

  it("the longest stall comes with the result, and a failure passes through", async () => {
    assert.equal((await longestStall(() => 7)).result, 7);
    assert.equal((await longestStall(async () => "later")).result, "later");
    await assert.rejects(
      longestStall(() => {
        throw new Error("no");
      }),
      /^Error: no$/,
    );
  });
});
