// A schema of an imported operation exists twice: JavaScript makes it with `FromSchema` at the first look, and the
// native mirror of a served registry compiles it from the document. Both must say the same about every value.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { collectErrors, FromOpenAPI } from "@alkdev/operations";
import { changed } from "../schema/support/changed-values.mjs";
import { nearJson } from "../schema/support/near-json.mjs";
import { chosenSeed, Random } from "../schema/support/random.mjs";
import { JsonSchemaMaker, jsonValue } from "../schema/support/random-json-schemas.mjs";
import { hooks, native, runtime } from "../support/internals.mjs";
import { answering, documentOf, plain, realDocuments } from "./support/documents.mjs";
import { spread } from "./support/random.mjs";

const seed = chosenSeed();
const MAX_ERRORS = 100;
const VALUES = 6;

/** What JSON makes of a value; nothing for what it has no word for. */
const asJson = (value) => {
  const text = JSON.stringify(value, (_, part) => (typeof part === "bigint" ? Number(part) : part));
  return text === undefined ? undefined : JSON.parse(text);
};

/** Values that pass, nearly pass, and have nothing to do with the schema. */
function* valuesFor(schema, random) {
  for (let i = 0; i < VALUES; i++) {
    const near = asJson(nearJson(random, schema));
    yield near;
    yield asJson(changed(random, near));
  }
  yield asJson(jsonValue(random, 2));
}

/** Paths and messages in turn, as objects. */
const pairs = (told) =>
  told.flatMap((path, index) => (index % 2 === 0 ? [{ path, message: told[index + 1] }] : []));

const verdict = (work) => {
  try {
    return work();
  } catch (error) {
    return { code: error.code };
  }
};

/** Holds both schemas of some operations of a document against their twins. Gives how often each verdict was heard. */
async function compare(text, random, sample) {
  const document = await native.readOpenApiDocument(runtime, Buffer.from(text), "test:");
  const imported = document.importWith("{}");
  const operations = FromOpenAPI(text, { namespace: "t" });
  const counts = { passed: 0, failed: 0, host: 0 };
  const indexes = spread(
    operations.map((_, index) => index),
    sample,
  );
  for (const index of indexes) {
    for (const field of ["inputSchema", "outputSchema"]) {
      const schema = operations[index][field];
      let twin;
      try {
        twin = hooks.importedSchema(imported, index, field === "inputSchema");
      } catch (error) {
        assert.equal(error.code, "HOST");
        counts.host += 1;
        continue;
      }
      for (const value of valuesFor(plain(schema), random)) {
        if (value === undefined) continue;
        const json = JSON.stringify(value);
        const there = verdict(() =>
          twin === null ? [] : pairs(JSON.parse(twin.errorsJson(json, MAX_ERRORS))),
        );
        const here = verdict(() => collectErrors(schema, value).slice(0, MAX_ERRORS));
        assert.deepEqual(there, here, `${operations[index].name} ${field} ${json} ${JSON.stringify(schema)}`);
        counts[here.length === 0 ? "passed" : "failed"] += 1;
      }
    }
  }
  return counts;
}

describe(`a schema in the native mirror and the same schema in JavaScript (OPERATIONS_SEED=${seed})`, () => {
  for (const { name, text } of realDocuments) {
    it(`native and JavaScript schemas agree for ${name}`, async () => {
      await compare(text(), new Random(seed), 40);
    });
  }

  it("native and JavaScript schemas agree for random schemas in documents", async () => {
    const random = new Random(seed);
    const total = { passed: 0, failed: 0, host: 0 };
    for (let round = 0; round < 40; round++) {
      const paths = {};
      for (let i = 0; i < 5; i++) {
        const schema = () => {
          // Definitions of their own are for documents of their own; here they would be looked for in the whole.
          const { $schema, $defs, definitions, ...made } = new JsonSchemaMaker(random).make();
          return $defs === undefined && definitions === undefined ? made : { type: "object" };
        };
        paths[`/p${i}`] = {
          post: {
            operationId: `op${i}`,
            requestBody: { required: true, content: { "application/json": { schema: schema() } } },
            ...answering(schema()),
          },
        };
      }
      const counts = await compare(JSON.stringify(documentOf({ openapi: "3.1.0", paths })), random, 5);
      for (const key of Object.keys(total)) total[key] += counts[key];
    }
    // Neither verdict is rare, and the host is the exception.
    assert.ok(total.passed > 500 && total.failed > 500, JSON.stringify(total));
    assert.ok(total.host * 10 < 400, JSON.stringify(total));
  });
});
