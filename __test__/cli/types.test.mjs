// `operations types`: what it writes compiles, and says what the sources take and give.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { problemsIn } from "../support/compile.mjs";
import { env, folderWith, KEY, run, shopDocument, startShop } from "./support/cli.mjs";

/** The pet shop, with everything that a schema can be. */
function document() {
  const shop = shopDocument();
  const json = (schema) => ({ "application/json": { schema } });
  const schemas = {
    Tree: {
      type: "object",
      required: ["name"],
      properties: {
        name: { type: "string", description: "What it is called */ alert(1) /*" },
        children: { type: "array", items: { $ref: "#/components/schemas/Tree" } },
        "a-b": { type: ["string", "null"] },
        kind: { enum: ["oak", "fir", 3] },
        size: { oneOf: [{ const: "large" }, { type: "number" }] },
        both: {
          allOf: [
            { type: "object", required: ["a"], properties: { a: { type: "boolean" } } },
            { type: "object", required: ["b"], properties: { b: { type: "string" } } },
          ],
        },
        by: { type: "object", additionalProperties: { type: "integer" } },
        pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: false },
      },
    },
  };
  return {
    ...shop,
    components: { schemas },
    paths: {
      "/pets/{petId}": shop.paths["/pets/{petId}"],
      "/arrivals": shop.paths["/arrivals"],
      "/trees": {
        post: {
          operationId: "plant-tree",
          summary: "Plants a tree",
          requestBody: { required: true, content: json({ $ref: "#/components/schemas/Tree" }) },
          responses: { 200: { description: "It", content: json({ $ref: "#/components/schemas/Tree" }) } },
        },
      },
    },
  };
}

describe("types", () => {
  it("types writes the operations of a hub, and clients, call maps and registries are typed by them", async (t) => {
    const shop = await startShop(t);
    const cwd = folderWith(t, {
      "shop.json": document(),
      "hub.json": {
        openapi: {
          shop: {
            document: "shop.json",
            baseUrl: shop.url,
            auth: { type: "bearer", token: env("SHOP_KEY") },
          },
        },
      },
    });
    const options = { cwd, env: { SHOP_KEY: KEY } };
    const { code, stdout, stderr } = await run(t, ["types", "hub.json"], options);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /\/\*\* A pet by its number \*\/ getPet: Query</);
    const user = `
      import { OperationRegistry, PendingRequestMap } from "@alkdev/operations";
      import { createClient } from "@alkdev/operations/client";
      import type { Operations } from "./hub.mjs";
      const client = createClient<Operations>("http://127.0.0.1:1");
      const { data } = await client.shop.getPet({ petId: 1 });
      const name: string = data.name;
      const tree = (await client.shop["plant-tree"]({ body: { name } })).data;
      const names: string[] | undefined = tree.children?.map((child) => child.name);
      const both: string | undefined = tree.both && tree.both.b + tree.both.a + tree["a-b"];
      const pair: [string, number] | undefined = tree.pair;
      const size: number | "large" | undefined = tree.size;
      const kind: "oak" | "fir" | 3 | undefined = tree.kind;
      const by: number | undefined = tree.by?.["x"];
      const registry: OperationRegistry<Operations> = new OperationRegistry();
      const id: number = (await registry.execute("shop.getPet", { petId: 1 })).data.id;
      const map = new PendingRequestMap().typed<Operations>();
      const again: number = (await map.shop.getPet({ petId: 1 }, { timeout: 5 })).data.id;
      for await (const event of map.$subscribe("shop.watchArrivals", {})) console.log(event.data);
      // @ts-expect-error a misspelt input
      await client.shop.getPet({ petID: 1 });
      // @ts-expect-error there is no such operation
      await registry.execute("shop.getPets", {});
      console.log(names, both, pair, size, kind, by, id, again);
    `;
    assert.deepEqual(
      problemsIn(
        new Map([
          ["hub", stdout],
          ["user", user],
        ]),
      ),
      [],
    );
  });

  it("types says what it could not load, and is empty without sources", async (t) => {
    const cwd = folderWith(t, {
      "operations.json": { mcpServers: { broken: { command: "no-such-program" } } },
    });
    const { code, stdout, stderr } = await run(t, ["types"], { cwd });
    assert.equal(code, 0);
    assert.match(stderr, /^broken: not available/m);
    assert.deepEqual(problemsIn(new Map([["hub", stdout]])), []);
    assert.equal((await run(t, ["types", "--strict"], { cwd })).code, 1);
  });
});
