// Counters name what their reader may call, and nothing else.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { operation, serving } from "./support.mjs";

const as = (who) => ({ headers: { authorization: `Bearer ${who}` } });
const tokens = { ada: { id: "ada", scopes: ["payroll"] }, bob: { id: "bob", scopes: [] } };

const secret = (name) =>
  operation({
    name,
    accessControl: { requiredScopes: ["payroll"] },
    limits: { concurrency: 3 },
    handler: () => 1,
  });

describe("/metrics", () => {
  it("/metrics names only operations that the caller may call, and adds up the rest", async () => {
    const { url, post } = await serving(
      [secret("salaries"), secret("bonuses"), operation({ name: "open" })],
      {
        tokens,
      },
    );
    for (const path of ["test/salaries", "test/bonuses", "test/open"]) {
      assert.equal((await post(path, {}, as("ada"))).status, 200);
    }
    const text = async (who) => (await fetch(`${url}/metrics`, as(who))).text();
    const full = await text("ada");
    for (const name of ["salaries", "bonuses", "open"])
      assert.ok(full.includes(`operation="test.${name}"`), name);
    assert.ok(full.includes('name="test.salaries"'), "limits too");
    const partial = await text("bob");
    assert.ok(partial.includes('operations_calls_total{operation="test.open",outcome="ok"} 1'));
    assert.ok(!/salaries|bonuses/.test(partial), partial);
    assert.ok(partial.includes('operations_calls_total{operation="other",outcome="ok"} 2'), partial);
    assert.ok(partial.includes('operations_limit_admitted_total{scope="other",name="other"} 2'), partial);
  });

  it("/metrics names no operation that is not served", async () => {
    let isGone = false;
    const { url, post, registry } = await serving(
      [operation({ name: "open" }), operation({ name: "gone" })],
      {
        operations: ({ name }) => name === "open" || !isGone,
      },
    );
    assert.equal((await post("test/gone", {})).status, 200);
    isGone = true;
    registry.register(operation({ name: "gone", handler: () => 2 }));
    const text = await (await fetch(`${url}/metrics`)).text();
    assert.ok(!text.includes("test.gone"), text);
  });
});

describe("/status.json of the explorer", () => {
  it("/status.json of the explorer has counters only for callers who may read /metrics", async () => {
    const doors = { http: true, explorer: true };
    const { url } = await serving([operation({ name: "open" })], { doors, tokens });
    const status = async (init) => (await fetch(`${url}/status.json`, init)).json();
    assert.equal((await status()).stats ?? null, null);
    assert.equal(typeof (await status(as("bob"))).stats.requests, "number");
    const { url: open } = await serving([operation({ name: "open" })], { doors });
    assert.equal(typeof (await (await fetch(`${open}/status.json`)).json()).stats.requests, "number");
  });
});
