// By difference: random schemas, random values, several independent answers that must be the same one.
// `OPERATIONS_SEED` repeats a run, `OPERATIONS_PAIRS` makes it longer or shorter; `npm run fuzz` runs the
// same rules for as long as one likes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { describeFindings, runPairs } from "./support/difference.mjs";
import { jsonSchemaSubjects } from "./support/json-schema-subjects.mjs";
import { chosenSeed } from "./support/random.mjs";
import { typeBoxSubjects } from "./support/typebox-subjects.mjs";

const seed = chosenSeed();
const pairs = Number(process.env.OPERATIONS_PAIRS ?? 200_000);

/** Three quarters of the pairs have a TypeBox schema. */
const SHARES = [
  ["TypeBox schemas", 0.75, typeBoxSubjects],
  ["JSON Schemas", 0.25, jsonSchemaSubjects],
];

for (const [name, share, makeSubjects] of SHARES) {
  test(`${name}: all engines agree on random schemas and values`, async () => {
    const subjects = await makeSubjects();
    const { findings, done } = runPairs({ seed, pairs: Math.round(pairs * share), subjects });
    console.log(`${name}: OPERATIONS_SEED=${seed}, ${done} pairs, ${JSON.stringify(subjects.tally)}`);
    assert.equal(findings.length, 0, `OPERATIONS_SEED=${seed}\n${describeFindings(findings)}`);
    // Comparisons that do not apply any more would show nothing.
    if (done >= 10_000) {
      for (const [what, count] of Object.entries(subjects.tally)) {
        assert.ok(count > done / 200, `only ${count} of ${done} pairs had ${what}`);
      }
    }
  });
}
