// Documents that were changed at random, in several places at a time: what comes of them holds together. `OPERATIONS_SEED`
// repeats a run.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, collectErrors, inspectOpenAPI, OperationRegistry } from "@alkdev/operations";
import { chosenSeed, Random } from "../schema/support/random.mjs";
import { assertNoStalls, turn } from "../support/event-loop.mjs";

const DOCUMENTS = 3_000;
const seed = chosenSeed();

const ref = (to) => ({ $ref: `#/components/${to}` });
const json = (schema) => ({ content: { "application/json": { schema } } });
const BASE = {
  openapi: "3.1.0",
  info: { title: "t", version: "1" },
  servers: [
    { url: "https://{h}/v{v}", variables: { h: { default: "x" }, v: { default: "1", enum: ["1", "2"] } } },
  ],
  security: [{ key: [] }, {}],
  components: {
    securitySchemes: {
      key: { type: "apiKey", in: "header", name: "k" },
      user: { type: "http", scheme: "bearer" },
    },
    parameters: { page: { in: "query", name: "page", schema: { type: "integer", minimum: 0 } } },
    requestBodies: { thing: { required: true, ...json(ref("schemas/Thing")) } },
    responses: { thing: { description: "", ...json(ref("schemas/Thing")) } },
    schemas: {
      Thing: {
        type: "object",
        required: ["id"],
        properties: { id: { type: "string", pattern: "^[a-z]+$" }, next: ref("schemas/Thing"), any: true },
        additionalProperties: { type: ["string", "null"] },
      },
      Choice: {
        oneOf: [ref("schemas/Thing"), { const: 1 }, { type: "array", items: ref("schemas/Choice") }],
      },
    },
  },
  paths: {
    "/things/{id}": {
      parameters: [{ in: "path", name: "id", required: true, schema: { type: "string" } }],
      get: {
        operationId: "thing",
        parameters: [ref("parameters/page")],
        responses: { 200: ref("responses/thing") },
      },
      put: { operationId: "put", requestBody: ref("requestBodies/thing"), responses: { "2XX": json({}) } },
    },
    "/choices": {
      servers: [{ url: "/other" }],
      post: {
        tags: ["a"],
        security: [{ user: [] }],
        parameters: [
          { in: "query", name: "q", style: "deepObject", explode: true, schema: { type: "object" } },
          { in: "header", name: "x-a", content: { "application/json": { schema: ref("schemas/Choice") } } },
          { in: "cookie", name: "c", schema: { type: "array", items: { type: "number" } } },
        ],
        requestBody: {
          content: {
            "multipart/form-data": {
              schema: { type: "object", properties: { file: { type: "string", format: "binary" } } },
              encoding: { file: { contentType: "image/png" } },
            },
          },
        },
        responses: { 200: { description: "", content: { "text/event-stream": {} } }, default: json(true) },
      },
    },
  },
};

const ODD = [
  null,
  true,
  -1.5,
  Number.POSITIVE_INFINITY,
  "",
  "#",
  "get",
  "object",
  "__proto__",
  "(a+)+$",
  "x".repeat(5_000),
  [],
  [null],
  {},
  { $ref: "#" },
  { $ref: "#/components/schemas/Choice" },
  { $ref: "#/paths/~1choices" },
  { $ref: "elsewhere.json#/a" },
  { $ref: { $ref: 5 } },
];

/** Every object and list of a value. */
function* holders(value) {
  if (typeof value !== "object" || value === null) return;
  yield value;
  for (const inner of Object.values(value)) yield* holders(inner);
}

function changed(random) {
  const document = structuredClone(BASE);
  for (let left = random.between(1, 6); left > 0; left--) {
    const places = [...holders(document)];
    const holder = random.pick(places);
    const keys = Object.keys(holder);
    const key =
      keys.length > 0 && random.chance(0.8) ? random.pick(keys) : random.pick(["get", "$ref", "0", "a/b~c"]);
    const how = random.below(4);
    if (how === 0) delete holder[key];
    // A copy: an object that contains itself is no document.
    else if (how === 1) holder[key] = structuredClone(random.pick(places));
    else holder[key] = structuredClone(random.pick(ODD));
  }
  return document;
}

/** What users rely on in a report, whatever the document. */
function look({ operations, report }) {
  assert.equal(report.filter(({ status }) => status !== "skipped").length, operations.length);
  for (const { status, name, path, pointer, problems } of report) {
    assert.match(status, /^(imported|degraded|skipped)$/);
    assert.equal(typeof path, "string");
    assert.match(pointer, /^\/paths/);
    assert.equal(problems.length > 0, status !== "imported");
    assert.equal(
      operations.filter((operation) => operation.name === name).length,
      status === "skipped" ? 0 : 1,
    );
    for (const problem of problems) {
      assert.match(problem.code, /^(filtered|reference|malformed|schema|parameter|body|unsupported|limit)$/);
      assert.equal(typeof problem.pointer, "string");
      assert.ok(problem.reason.length > 0 && problem.reason.length < 2_100, problem.reason);
    }
  }
  new OperationRegistry().registerAll(operations);
  for (const { inputSchema, outputSchema } of operations) {
    for (const schema of [inputSchema, outputSchema]) {
      try {
        assert.ok(Array.isArray(collectErrors(schema, { id: "x", body: {} })));
      } catch (error) {
        assert.ok(error instanceof CallError, String(error?.stack));
      }
    }
  }
}

describe("random documents", { timeout: 120_000 }, () => {
  assertNoStalls(2_000);

  it(`${DOCUMENTS} random documents: an error of the document, or operations and a consistent report`, async () => {
    console.log(`OPERATIONS_SEED=${seed}, ${DOCUMENTS} documents`);
    const random = new Random(seed);
    let imported = 0;
    for (let i = 0; i < DOCUMENTS; i++) {
      const document = changed(random);
      try {
        const found = inspectOpenAPI(document, { namespace: "t" });
        look(found);
        imported += found.operations.length;
      } catch (error) {
        const where = `OPERATIONS_SEED=${seed}, document ${i}: ${JSON.stringify(document)}`;
        assert.equal(error.code, "VALIDATION_ERROR", `${where}\n${error.stack}`);
        assert.ok(error instanceof CallError, where);
      }
      if (i % 20 === 0) await turn();
    }
    assert.ok(imported > DOCUMENTS, `only ${imported} operations`);
    assert.equal({}.type, undefined);
  });
});
