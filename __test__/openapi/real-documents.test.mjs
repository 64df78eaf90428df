// Real documents, from npm: every operation imports or is in the report with a reason, every input schema compiles
// and accepts a generated input, and a sample of operations arrives at a server as the document demands.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { FromOpenAPI } from "@alkdev/operations";
import SwaggerParser from "@apidevtools/swagger-parser";
import { plain, realDocuments } from "./support/documents.mjs";
import { countOperations, exercise } from "./support/exercise.mjs";
import { seedFromEnvironment } from "./support/random.mjs";
import { receiver } from "./support/receiver.mjs";

const seed = seedFromEnvironment();
let server;
before(async () => {
  server = await receiver();
});
after(() => server.close());

describe(`real documents (OPERATIONS_SEED=${seed})`, () => {
  for (const { name, text, path, operations } of realDocuments) {
    it(`${name} is imported, and its requests are what the document says`, async () => {
      // Read by somebody else.
      const document = await SwaggerParser.parse(path ?? JSON.parse(text()));
      const result = await exercise({ text: text(), document, server, seed, sample: 60, outputs: true });
      assert.deepEqual(result.failures, []);
      if (operations !== undefined) assert.equal(result.imported, operations);
      assert.equal(result.imported + result.degraded + result.skipped, countOperations(document));
      assert.equal(result.skipped, 0);
    });
  }
});

describe("notations of one document", () => {
  it("all notations of one document give the same operations", () => {
    const [json, yaml] = realDocuments
      .filter(({ name }) => name.startsWith("@gitbook"))
      .map(({ text }) => FromOpenAPI(text(), { namespace: "gitbook" }));
    // What YAML 1.1, by which the JSON was made, takes for the number 135001500 is a text in YAML 1.2.
    const numbers = JSON.stringify(yaml).replace(/"(\d+)_(\d+)"/g, "$1$2");
    assert.deepEqual(JSON.parse(numbers), plain(json));
  });

  it("GitBook's streams are subscriptions", () => {
    const { text } = realDocuments.find(({ name }) => name.startsWith("@gitbook"));
    const streams = FromOpenAPI(text(), { namespace: "gitbook" }).filter(
      ({ type }) => type === "subscription",
    );
    assert.equal(streams.length, 5);
  });
});
