// The round-trip law: what is imported from the document of a registry, against its server, is what the registry has. With
// random registries; `OPERATIONS_SEED` repeats a run, `OPERATIONS_REGISTRIES` makes it longer or shorter.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FromOpenAPI, FromOpenAPIUrl, mapError, OperationRegistry, subscribe } from "@alkdev/operations";
import { serve, toOpenAPI } from "@alkdev/operations/serve";
import { chosenSeed, Random } from "../schema/support/random.mjs";
import { randomOperation, randomScript, someValue } from "./support/random-served.mjs";

const seed = chosenSeed();
const wanted = Number(process.env.OPERATIONS_REGISTRIES ?? 200);
const INFO = { title: "t", version: "1" };
const ADA = { id: "ada", scopes: ["read"] };
// Exceptions too are what they were, where their messages may be read.
const OPTIONS = { tokens: { secret: ADA }, anonymous: true, errors: "expose" };

test("an import from a server is the registry that it serves", async () => {
  const seeds = new Random(seed);
  const tally = {};
  for (let done = 0; done < wanted; done++) {
    const own = seeds.seed();
    try {
      await compare(new Random(own), tally);
    } catch (error) {
      error.message = `OPERATIONS_SEED=${seed}, registry ${done} (${own}): ${error.message}`;
      throw error;
    }
  }
  console.log(`OPERATIONS_SEED=${seed}, ${wanted} registries, ${JSON.stringify(tally)}`);
  // Comparisons that do not happen would show nothing.
  if (wanted >= 200) {
    for (const kind of ["ok", "notes", "denied", "error", "events", "failed stream"]) {
      assert.ok(tally[kind] >= 20, `only ${tally[kind] ?? 0}: ${kind}`);
    }
  }
});

async function compare(random, tally) {
  const script = { current: [] };
  const registry = new OperationRegistry();
  const operations = random.times(2, 6, (number) => randomOperation(random, number, script));
  registry.registerAll(operations);
  const served = await serve(registry, { doors: { http: true }, ...OPTIONS });
  const auth = { type: "bearer", token: "secret" };
  try {
    const version = random.pick(["3.1", "3.2"]);
    const document = toOpenAPI(registry, INFO, { version });
    const remote = new OperationRegistry();
    remote.registerAll(FromOpenAPI(document, { baseUrl: `${served.url}/api`, auth }));
    assert.deepEqual(ids(remote), ids(registry));
    // The server's own document has what its reader may call.
    const mine = await FromOpenAPIUrl(`${served.url}/api/openapi.json`, {
      auth,
      documentHeaders: { authorization: "Bearer secret" },
    });
    const allowed = operations.filter(({ accessControl }) =>
      accessControl.requiredScopes.every((scope) => scope === "read"),
    );
    assert.deepEqual(mine.map(idOf).sort(), allowed.map(idOf).sort());
    for (const operation of operations) {
      const id = idOf(operation);
      const there = remote.getSpec(id);
      assert.equal(there.type, operation.type, id);
      for (const field of ["inputSchema", "outputSchema"]) {
        assert.deepEqual(unfolded(there[field]), unfolded(operation[field]), `${field} of ${id}`);
      }
      for (let call = 0; call < 3; call++) {
        script.current = randomScript(random, operation);
        // Inputs are checked on this side, before the server can say who may call.
        const isWrong = allowed.includes(operation) ? random.pick([0, 0, 0.3]) : 0;
        const input = someValue(random, operation.inputSchema, isWrong);
        const here = await outcome(registry, operation, input, ADA);
        if ((here.events ?? [here]).some(({ data }) => holdsUndefined(data))) {
          tally.cannotTravel = (tally.cannotTravel ?? 0) + 1;
          continue;
        }
        const far = await outcome(remote, operation, input, undefined);
        assert.deepEqual(far, here, `${id} of ${JSON.stringify(input)}, ${JSON.stringify(script.current)}`);
        count(tally, here);
      }
    }
  } finally {
    await served.close({ drain: 0 });
  }
}

const idOf = ({ namespace, name }) => `${namespace}.${name}`;
const ids = (registry) => registry.getAllSpecs().map(idOf).sort();

/** What comes of a call, in what the law speaks of. */
async function outcome(registry, operation, input, identity) {
  const id = idOf(operation);
  const context = identity === undefined ? {} : { identity };
  const seen = [];
  try {
    if (operation.type === "subscription") {
      for await (const { data, meta } of subscribe(registry, id, input, context)) seen.push(told(data, meta));
      return { events: seen };
    }
    const { data, meta } = await registry.execute(id, input, context);
    return told(data, meta);
  } catch (error) {
    const { code, message } = mapError(error, operation.errorSchemas);
    // What is no error tells nothing about itself, and refusals of the pipeline may come from either side.
    const isOwn = !["UNKNOWN_ERROR", "VALIDATION_ERROR", "ACCESS_DENIED"].includes(code);
    const failed = isOwn ? { code, message } : { code };
    return operation.type === "subscription" ? { events: seen, failed } : { failed };
  }
}

function told(data, meta) {
  return meta.notes === undefined ? { data } : { data, notes: meta.notes };
}

/** Whether something in a value is `undefined`, which JSON cannot carry: the other side misses it, or is refused the list. */
function holdsUndefined(value) {
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some((each) => each === undefined || holdsUndefined(each));
}

function count(tally, { events, failed, notes }) {
  const kind = events
    ? failed
      ? "failed stream"
      : "events"
    : failed
      ? failed.code === "ACCESS_DENIED"
        ? "denied"
        : "error"
      : notes
        ? "notes"
        : "ok";
  tally[kind] = (tally[kind] ?? 0) + 1;
}

/** A schema as JSON, with what its references lead to in their places, some levels deep. */
function unfolded(schema) {
  const root = JSON.parse(JSON.stringify(schema));
  const places = new Map();
  const collect = (value) => {
    if (typeof value !== "object" || value === null) return;
    if (typeof value.$id === "string") places.set(value.$id, value);
    for (const inner of Object.values(value)) collect(inner);
  };
  collect(root);
  const at = (reference) => {
    if (places.has(reference)) return places.get(reference);
    assert.ok(reference.startsWith("#"), reference);
    let found = root;
    for (const token of decodeURIComponent(reference).split("/").slice(1)) {
      found = found[token.replaceAll("~1", "/").replaceAll("~0", "~")];
    }
    return found;
  };
  const copy = (value, depth, isNames) => {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((inner) => copy(inner, depth));
    if (!isNames && typeof value.$ref === "string")
      return depth === 0 ? "..." : copy(at(value.$ref), depth - 1);
    const members = Object.entries(value).filter(([key]) => isNames || (key !== "$id" && key !== "$defs"));
    return Object.fromEntries(
      members.map(([key, inner]) => [key, copy(inner, depth, !isNames && key === "properties")]),
    );
  };
  return copy(root, 3);
}

test("an import from a server can choose a namespace, and must where the document has none", async () => {
  const script = { current: [{ gives: 1 }] };
  const registry = new OperationRegistry();
  const operation = { ...randomOperation(new Random(1), 0, script), type: "query", handler: () => 1 };
  registry.register(operation);
  const document = toOpenAPI(registry, INFO);
  assert.deepEqual(FromOpenAPI({ ...document, paths: {} }, {}), []);
  assert.throws(() => FromOpenAPI({ openapi: "3.1.0", info: INFO, paths: {} }, {}), {
    code: "VALIDATION_ERROR",
    message: "config.namespace must be a non-empty string, not undefined",
  });
  const [renamed] = FromOpenAPI(document, { namespace: "other", baseUrl: "http://127.0.0.1:9" });
  assert.equal(renamed.namespace, "other");
  assert.equal(renamed.name, operation.name);
});
