// A server with more tools than anybody needs.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MCPClientLoader, OperationRegistry } from "@alkdev/operations";
import { BOUND, longestStall } from "../support/event-loop.mjs";
import { defer } from "./support/defer.mjs";
import { until } from "./support/processes.mjs";
import { connected, stdio } from "./support/servers.mjs";

describe("a server with 20,000 tools that changes them all", () => {
  it("of a server with 20,000 changing tools 2,000 are taken, without blocking the event loop", async (t) => {
    const loader = new MCPClientLoader();
    defer(t, () => loader.closeAll());
    const registry = new OperationRegistry();
    const { stall } = await longestStall(async () => {
      await loader.load({ s: stdio(["multitude"], { connectTimeout: 120_000 }) });
      loader.registerAll(registry, { keepInStep: true });
      assert.equal(registry.list().length, 2_000);
      assert.match(loader.getClient("s").problems[0].reason, /more than 2000 tools/);
      await registry.execute("s.learn", { name: "juggle" }, {});
      await until(() => registry.getSpec("s.many-0")?.description === "round 2", "the new list is there");
    });
    assert.ok(stall <= BOUND, `${stall} ms`);
  });

  it("maxTools sets how many tools of a server are taken", async (t) => {
    const { wrapper, call } = await connected(t, stdio([], { maxTools: 3 }));
    assert.equal(wrapper.tools.length, 3);
    assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
  });
});
