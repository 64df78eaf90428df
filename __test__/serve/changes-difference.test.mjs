// Of operations that have not changed, a server keeps what it knows. After each change its lists are those of a server that has just started.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";
import { chosenSeed, Random } from "../schema/support/random.mjs";
import { operation } from "./support.mjs";

const STEPS = 60;
const options = {
  doors: { http: true, mcp: [{}, { path: "/mcp/a", operations: ["a.*"] }] },
  tokens: { secret: { id: "ada", scopes: ["x"] } },
  anonymous: true,
};

/** Names that are made of these collide as names of tools. */
const NAMESPACES = ["a", "a.b", "b"];
const NAMES = ["one", "two", "b_one", "b.one"];

async function shown(url) {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const list = async (path, authorization) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
    const more = authorization === undefined ? {} : { authorization };
    const response = await fetch(`${url}${path}`, { method: "POST", headers: { ...headers, ...more }, body });
    assert.equal(response.status, 200);
    return response.json();
  };
  const document = await (await fetch(`${url}/api/openapi.json`)).json();
  delete document.servers;
  return {
    document,
    everyone: await list("/mcp"),
    ada: await list("/mcp", "Bearer secret"),
    part: await list("/mcp/a", "Bearer secret"),
  };
}

describe("a server whose operations change", { timeout: 120_000 }, () => {
  it("shows after every change what a server that has just started shows", async () => {
    const seed = chosenSeed();
    const random = new Random(seed);
    const registry = new OperationRegistry();
    const served = await serve(registry, options);
    after(() => served.close());
    const add = () =>
      registry.register(
        operation({
          namespace: random.pick(NAMESPACES),
          name: random.pick(NAMES),
          description: `Number ${random.below(1000)}`,
          type: random.pick(["query", "mutation"]),
          inputSchema: random.pick([Type.Object({ n: Type.Integer() }), Type.String(), Type.Object({})]),
          outputSchema: random.pick([Type.Array(Type.String()), Type.Object({ ok: Type.Boolean() })]),
          accessControl: { requiredScopes: random.pick([[], ["x"], ["y"]]) },
          handler: () => null,
        }),
      );
    for (let step = 0; step < STEPS; step++) {
      const ids = registry.list().map(({ namespace, name }) => `${namespace}.${name}`);
      const what = random.below(10);
      if (ids.length < 3 || what < 6) {
        try {
          add();
        } catch (error) {
          // Two pairs of a namespace and a name that give one id.
          assert.match(error.message, /a\.b/);
        }
      } else if (what < 9) registry.unregister(random.pick(ids));
      else registry.protect(random.pick(ids), { requiredScopes: [random.pick(["x", "y"])] });
      const fresh = await serve(registry, options);
      const [now, expected] = await Promise.all([shown(served.url), shown(fresh.url)]);
      await fresh.close();
      assert.deepEqual(now, expected, `seed ${seed}, step ${step}`);
    }
  });
});
