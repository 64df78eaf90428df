// Whatever fits a projection, restored, fits the original; where it does not, a loss has said so, at that very place.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { collectErrors, FromSchema } from "@alkdev/operations";
import { projectSchema } from "@alkdev/operations/tools";
import { chosenSeed, Random } from "../schema/support/random.mjs";
import { JsonSchemaMaker } from "../schema/support/random-json-schemas.mjs";
import { TARGETS } from "./support/exercise.mjs";
import { covers } from "./support/losses.mjs";
import { NoSample, sampleFor } from "./support/sample.mjs";
import { schemaProblems } from "./support/target-rules.mjs";

const SCHEMAS = Number(process.env.OPERATIONS_CASES ?? 3_000);
const VALUES = 6;

describe("restored values", () => {
  const seed = chosenSeed();
  for (const target of ["openai-strict", "gemini"]) {
    it(`restored values fit the original schema: ${target}`, { timeout: 300_000 }, (t) => {
      t.diagnostic(`seed ${seed}`);
      const random = new Random(seed);
      const counts = { schemas: 0, unusable: 0, values: 0, fit: 0, lost: 0 };
      for (let index = 0; index < SCHEMAS; index++) {
        const schema = new JsonSchemaMaker(new Random(random.seed())).make();
        const values = new Random(random.seed());
        let made;
        try {
          made = projectSchema(schema, target);
        } catch (error) {
          assert.equal(error.code, "VALIDATION_ERROR");
          counts.unusable += 1;
          continue;
        }
        counts.schemas += 1;
        assert.deepEqual(schemaProblems(target, made.schema), [], JSON.stringify(schema));
        const original = FromSchema(schema);
        for (let n = 0; n < VALUES; n++) {
          let value;
          try {
            value = sampleFor(made.schema, values);
          } catch (error) {
            if (error instanceof NoSample) continue;
            throw error;
          }
          counts.values += 1;
          const restored = made.restore(value);
          const errors = collectErrors(original, restored);
          if (errors.length === 0) counts.fit += 1;
          else counts.lost += 1;
          for (const { path, message } of errors) {
            assert.ok(
              made.losses.some((loss) => covers(loss, path, message)),
              `${path}: ${message}\nschema ${JSON.stringify(schema)}\nprojected ${JSON.stringify(made.schema)}\nlosses ${JSON.stringify(made.losses)}\nvalue ${JSON.stringify(value)}\nrestored ${JSON.stringify(restored)}\nseed ${seed}, schema ${index}`,
            );
          }
        }
      }
      t.diagnostic(JSON.stringify(counts));
      assert.ok(counts.fit > counts.lost);
    });
  }

  it("all targets obey their rules on random schemas", { timeout: 300_000 }, (t) => {
    t.diagnostic(`seed ${seed}`);
    const random = new Random(seed);
    for (let index = 0; index < SCHEMAS; index++) {
      const schema = new JsonSchemaMaker(new Random(random.seed())).make();
      for (const target of TARGETS) {
        let made;
        try {
          made = projectSchema(schema, target);
        } catch (error) {
          assert.equal(error.code, "VALIDATION_ERROR");
          continue;
        }
        assert.deepEqual(schemaProblems(target, made.schema), [], `${target} ${JSON.stringify(schema)}`);
      }
    }
  });
});
