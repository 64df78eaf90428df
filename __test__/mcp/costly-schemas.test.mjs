// Tools whose declared results cost much to check.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BOUND, longestStall } from "../support/event-loop.mjs";
import { connected, stdio } from "./support/servers.mjs";

describe("an outputSchema that costs much to check", () => {
  for (const tool of ["costly-pattern", "costly-choice"]) {
    for (const [how, context] of [
      ["", () => ({})],
      [", with a time limit", () => ({ metadata: { timeout: 5_000 } })],
      [", with a signal that is aborted meanwhile", () => ({ signal: AbortSignal.timeout(100) })],
    ]) {
      it(`releases the caller and does not hold the event loop: ${tool}${how}`, async (t) => {
        const { call } = await connected(t, stdio(["costly-schemas"]));
        const { result, stall } = await longestStall(() =>
          call(tool, {}, context()).then(
            ({ meta }) => meta.source,
            ({ code }) => code,
          ),
        );
        assert.ok(["mcp", "ABORTED"].includes(result), result);
        assert.ok(stall <= BOUND, `${stall} ms`);
        assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
      });
    }
  }
});
