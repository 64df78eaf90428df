// The trace of a call that goes through a hub to a spoke.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { instrument } from "@alkdev/operations/otel";
import { useSdk } from "../otel/support.mjs";
import { eventually, hubOf, operation, registryOf, spokeOf } from "./support.mjs";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";

useSdk();

describe("a call from a door of the hub to a spoke", () => {
  it("a call from a door of the hub to a spoke continues the trace that it came with", async () => {
    const { address, url, registry } = await hubOf([], {
      hub: { accept: (spoke) => ({ namespace: spoke.name }) },
    });
    instrument(registry);
    const spoke = await spokeOf(address, { name: "laptop" });
    const seen = operation({ namespace: "x", name: "seen", handler: (_, { trace }) => trace ?? null });
    await spoke.serve(registryOf(seen));
    await eventually(() => registry.get("laptop.seen") !== undefined);
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: "vendor=1" };
    const answer = await fetch(`${url}/api/laptop/seen`, { method: "POST", headers });
    const { traceparent, tracestate } = await answer.json();
    assert.match(traceparent, new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
    assert.ok(!traceparent.includes(PARENT), "the hub's own span is the parent");
    assert.equal(tracestate, "vendor=1");
  });
});
