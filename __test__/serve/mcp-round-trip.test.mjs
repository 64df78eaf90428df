// The round-trip law through the MCP door: operations that are served and imported again are what they were. Random
// registries; `OPERATIONS_SEED` repeats a run, `OPERATIONS_REGISTRIES` makes it longer or shorter.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { CallError, createMCPClient, OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";
import { chosenSeed, Random } from "../schema/support/random.mjs";
import { operation } from "./support.mjs";

const seed = chosenSeed();
const REGISTRIES = Number(process.env.OPERATIONS_REGISTRIES ?? 200);
const ADA = { id: "ada", scopes: ["read", "write"], resources: { "doc:1": ["edit"] } };

const json = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

/** A schema, and a function that makes a value for it. */
function randomSchema(random, depth = 0) {
  const leaf = [
    [Type.String(), () => random.pick(["", "a", "é\u2028", '"quoted"', "x".repeat(50)])],
    [Type.Number(), () => random.pick([0, -1.5, 1e21, 7])],
    [Type.Integer({ minimum: 0 }), () => random.below(1000)],
    [Type.Boolean(), () => random.chance(0.5)],
    [Type.Null(), () => null],
    [Type.Unknown(), () => random.pick([1, "x", null, [1, { a: 2 }], { b: [] }])],
    [Type.Union([Type.Literal("a"), Type.Literal(2)]), () => random.pick(["a", 2])],
  ];
  if (depth > 2 || random.chance(0.5)) return random.pick(leaf);
  if (random.chance(0.4)) {
    const [items, make] = randomSchema(random, depth + 1);
    return [Type.Array(items), () => random.times(0, 3, make)];
  }
  return randomObject(random, depth);
}

function randomObject(random, depth) {
  const parts = random.times(0, 4, (index) => {
    const [schema, make] = randomSchema(random, depth + 1);
    const isOptional = random.chance(0.3);
    return { name: random.pick(["a", "b-c", "ünï", "$d", "e"]) + index, schema, make, isOptional };
  });
  const properties = Object.fromEntries(
    parts.map(({ name, schema, isOptional }) => [name, isOptional ? Type.Optional(schema) : schema]),
  );
  const make = () =>
    Object.fromEntries(
      parts
        .filter(({ isOptional }) => !isOptional || random.chance(0.5))
        .map(({ name, make }) => [name, make()]),
    );
  return [Type.Object(properties), make];
}

function randomOperation(random, index) {
  const [inputSchema, input] = random.chance(0.7) ? randomObject(random, 0) : randomSchema(random);
  const [outputSchema, output] = random.chance(0.6) ? randomObject(random, 0) : randomSchema(random);
  const errorSchemas = random.chance(0.3)
    ? [
        {
          code: "GONE",
          description: "It is gone",
          schema: Type.Object({ when: Type.Number() }),
          httpStatus: 410,
        },
      ]
    : undefined;
  const made = operation({
    namespace: random.pick(["a", "a.b", "data-1", "ünï"]),
    name: `${random.pick(["get", "set.it", "x y", "_"])}${index}`,
    version: random.pick(["1.0.0", "2.1.0-beta"]),
    type: random.pick(["query", "mutation"]),
    description: random.pick(["Does it", 'Says "it"', "é\n2"]),
    inputSchema,
    outputSchema,
    accessControl: random.pick([
      { requiredScopes: [] },
      { requiredScopes: ["read"] },
      { requiredScopes: ["read"], requiredScopesAny: ["write", "own"] },
      { requiredScopes: ["admin"] },
      { requiredScopes: [], resourceType: "doc", resourceAction: "edit" },
    ]),
    ...(errorSchemas && { errorSchemas }),
    ...(random.chance(0.3) && { title: "A title" }),
  });
  let next = 0;
  const outcomes = random.times(1, 3, () => {
    if (random.chance(0.15)) return { error: new CallError("GONE", "it is gone", { when: 7 }) };
    const data = output();
    const isObject = typeof data === "object" && data !== null && !Array.isArray(data);
    // Not what is declared, and so a note.
    return { data: isObject && random.chance(0.2) ? "something else" : data };
  });
  made.handler = () => {
    const { error, data } = outcomes[next++ % outcomes.length];
    if (error !== undefined) throw error;
    return structuredClone(data);
  };
  const rewind = (to) => {
    next = to;
  };
  return { made, input, rounds: outcomes.length, rewind };
}

/** What came of a call, as far as both sides can know it. */
async function outcomeOf(registry, id, input) {
  try {
    const { data, meta } = await registry.execute(id, input, { identity: ADA });
    return { data, notes: meta.notes };
  } catch (error) {
    assert.ok(error instanceof CallError, String(error));
    return { code: error.code, message: error.message, details: json(error.details) };
  }
}

function described(spec) {
  const { namespace, name, type, version, description, title, inputSchema, outputSchema } = spec;
  const { accessControl, errorSchemas } = spec;
  return json({
    ...{ namespace, name, type, version, description, title, inputSchema, outputSchema },
    ...{ accessControl, errorSchemas },
  });
}

describe("operations that are served over MCP and imported again", () => {
  it(`operations that are served over MCP and imported again are what they were (${REGISTRIES} random registries)`, async () => {
    console.log(`OPERATIONS_SEED=${seed}`);
    const random = new Random(seed);
    const tally = { operations: 0, calls: 0, errors: 0, notes: 0, hidden: 0 };
    for (let round = 0; round < REGISTRIES; round++) {
      const at = `OPERATIONS_SEED=${seed}, registry ${round}`;
      const own = new Random(random.seed());
      const operations = own.times(1, 6, (index) => randomOperation(own, index));
      const local = new OperationRegistry();
      local.registerAll(operations.map(({ made }) => made));
      const served = await serve(local, { doors: { mcp: true }, tokens: { t0ken: ADA }, anonymous: true });
      const client = await createMCPClient("far", {
        url: `${served.url}/mcp`,
        headers: { authorization: "Bearer t0ken" },
        keepIds: true,
      });
      try {
        const remote = new OperationRegistry();
        remote.registerAll(client.tools);
        const ids = new Set(remote.getAllSpecs().map(({ namespace, name }) => `${namespace}.${name}`));
        for (const { made, input, rounds, rewind } of operations) {
          const id = `${made.namespace}.${made.name}`;
          tally.operations += 1;
          if (made.accessControl.requiredScopes.includes("admin")) {
            assert.ok(!ids.has(id), `${at}: ${id} is shown to somebody who may not call it`);
            tally.hidden += 1;
            continue;
          }
          assert.ok(ids.has(id), `${at}: ${id} is missing; there are ${[...ids]}`);
          assert.deepEqual(described(remote.getSpec(id)), described(local.getSpec(id)), `${at}: ${id}`);
          for (let call = 0; call < rounds; call++) {
            const given = input();
            const outcomes = [];
            for (const registry of [local, remote]) {
              rewind(call);
              outcomes.push(await outcomeOf(registry, id, given));
            }
            assert.deepEqual(outcomes[1], outcomes[0], `${at}: ${id} with ${JSON.stringify(given)}`);
            tally.calls += 1;
            if (outcomes[0].code !== undefined) tally.errors += 1;
            if (outcomes[0].notes !== undefined) tally.notes += 1;
          }
          await assert.rejects(
            remote.execute(id, input(), {}).then((envelope) => {
              if (made.accessControl.requiredScopes.length === 0 && !made.accessControl.resourceType) {
                throw new CallError("ACCESS_DENIED", "an open operation needs nobody");
              }
              return envelope;
            }),
            (error) => error.code === "ACCESS_DENIED" || error.code === "GONE",
          );
        }
      } finally {
        await client.close();
        await served.close({ drain: 0 });
      }
    }
    console.log(JSON.stringify(tally));
    if (REGISTRIES >= 100) {
      for (const [what, count] of Object.entries(tally)) assert.ok(count > 0, `no ${what} were compared`);
    }
  });
});

describe("ids that a server chooses", () => {
  const own = operation({ namespace: "bank", name: "pay" });

  async function served() {
    const registry = new OperationRegistry();
    registry.register(own);
    const served = await serve(registry, { doors: { mcp: true } });
    after(() => served.close({ drain: 0 }));
    return served;
  }

  it("ids that a server chooses do not replace registered operations", async () => {
    const { url } = await served();
    const client = await createMCPClient("far", { url: `${url}/mcp`, keepIds: true });
    after(() => client.close());
    const registry = new OperationRegistry();
    registry.register(own);
    assert.throws(() => registry.registerAll(client.tools), /'far'.*'bank.pay'.*keepIds/);
    registry.unregister("bank.pay");
    registry.registerAll(client.tools);
    // The same server may say it again.
    registry.registerAll(client.tools);
    // What is ours may take its place.
    registry.register(own);
  });

  it("ids that a server chooses count only if the user says so", async () => {
    const { url } = await served();
    const client = await createMCPClient("far", { url: `${url}/mcp` });
    after(() => client.close());
    const [{ namespace, name, type }] = client.tools;
    assert.deepEqual({ namespace, name, type }, { namespace: "far", name: "bank_pay", type: "mutation" });
  });
});

describe("rules that protect added", () => {
  it("an operation with added rules can be imported with its own id, and the server keeps the rules", async () => {
    const registry = new OperationRegistry();
    registry.register(operation({ namespace: "docs", name: "read", handler: () => "read" }));
    registry.protect("docs.*", { requiredScopes: [], requiredScopesAny: ["read", "admin"] });
    const tokens = { ada: ADA, bob: { id: "bob", scopes: [] } };
    const served = await serve(registry, { doors: { mcp: true }, tokens });
    after(() => served.close({ drain: 0 }));
    const imported = async (token) => {
      const headers = { authorization: `Bearer ${token}` };
      const client = await createMCPClient("hub", { url: `${served.url}/mcp`, headers, keepIds: true });
      after(() => client.close());
      const mine = new OperationRegistry();
      mine.registerAll(client.tools);
      return mine;
    };
    assert.equal((await (await imported("ada")).execute("docs.read", {})).data, "read");
    assert.deepEqual((await imported("bob")).list(), []);
  });
});
