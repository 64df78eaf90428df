// Spokes whose offers cost the hub much.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bareSocket, hubOf } from "./support.mjs";

const byName = { hub: { accept: (spoke) => ({ namespace: spoke.name }) } };
const offered = (name, more = {}) => ({
  namespace: "x",
  name,
  type: "query",
  version: "1",
  description: name,
  inputSchema: {},
  outputSchema: {},
  ...more,
});
const values = (count, title) => ({ title, allOf: Array.from({ length: count }, () => ({})) });

async function offer(spoke, id, ...operations) {
  spoke.send("hub.offer", { operations }, id);
  return (await spoke.until((frame) => frame.type === "hub.accepted" && frame.id === id)).payload.operations;
}

describe("an offer", { timeout: 60_000 }, () => {
  it("an offer with a schema of very many values gets Unknown instead, and its other operations are as they are", async () => {
    const { registry, address } = await hubOf([], byName);
    const mallory = await bareSocket(`${address}?name=mallory`);
    const inputSchema = values(80_000);
    const taken = await offer(mallory, "1", offered("large", { inputSchema }), offered("small"));
    assert.deepEqual(taken, ["mallory.large", "mallory.small"]);
    assert.equal("allOf" in registry.getSpec("mallory.large").inputSchema, false);
    const many = Array.from({ length: 60 }, (_, i) =>
      offered(`o${i}`, { inputSchema: values(9_000, `${i}`) }),
    );
    await offer(mallory, "2", ...many);
    const kept = registry.list().filter(({ inputSchema }) => "allOf" in inputSchema);
    assert.equal(kept.length, 55, "of half a million values in all");
  });

  it("an offer with an operation that is described in very many bytes is accepted without that operation", async () => {
    const { address } = await hubOf([], byName);
    const mallory = await bareSocket(`${address}?name=mallory`);
    const long = offered("long", { description: "d".repeat(1_100_000) });
    assert.deepEqual(await offer(mallory, "1", long, offered("short")), ["mallory.short"]);
  });

  it("an offer that is made again and again leaves the hub most of its time", async (t) => {
    const { address } = await hubOf([], byName);
    const mallory = await bareSocket(`${address}?name=mallory`);
    const again = (time) =>
      offer(mallory, `${time}`, offered("o", { inputSchema: values(9_000, `${time}`) }));
    const timers = t.mock.method(globalThis, "setTimeout");
    await Promise.all([0, 1, 2, 3, 4].map(again));
    const rests = timers.mock.calls.filter(({ arguments: [, milliseconds] }) => milliseconds > 0);
    assert.ok(rests.length >= 4, `${rests.length} rests for five offers`);
  });
});
