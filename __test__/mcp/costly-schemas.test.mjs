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
      it(`an outputSchema that is costly to check releases the caller and does not block the event loop: ${tool}${how}`, async (t) => {
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

describe("a schema of a tool that is long", () => {
  it("is not compiled, and the other tools of its server work", async (t) => {
    const { wrapper, call, tool } = await connected(t, stdio(["lengthy-schemas"]));
    assert.equal("allOf" in tool("many-values").inputSchema, false);
    assert.equal(tool("many-bytes"), undefined);
    const reasons = Object.fromEntries(wrapper.problems.map(({ tool, reason }) => [tool, reason]));
    assert.match(reasons["many-values"], /more than 10000 values/);
    assert.match(reasons["many-bytes"], /may have 1048576/);
    assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
  });
});
