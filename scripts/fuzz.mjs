// npm run fuzz -- [pairs] [seed]: random tests on as many cases as one likes. The difference tests of the schema engine
// in JavaScript get that many pairs (1,000,000), the judges that are not ours (fuzz/tests/oracles) a tenth of them as
// pairs and a fiftieth as event streams, and the targets for messages of other processes as many cases as there are pairs.
// Needs a built addon: npm run build:dev

import { join } from "node:path";
import { describeFindings, runPairs } from "../__test__/schema/support/difference.mjs";
import { jsonSchemaSubjects } from "../__test__/schema/support/json-schema-subjects.mjs";
import { chosenSeed } from "../__test__/schema/support/random.mjs";
import { typeBoxSubjects } from "../__test__/schema/support/typebox-subjects.mjs";
import { attempt, root } from "./lib.mjs";

const pairs = Number(process.argv[2] ?? 1_000_000);
const seed = chosenSeed(process.argv[3] ?? process.env.OPERATIONS_SEED);
if (!Number.isInteger(pairs) || pairs <= 0) {
  console.error("usage: npm run fuzz -- [pairs] [seed]");
  process.exit(1);
}
console.log(`${pairs} pairs, seed ${seed}`);

const started = Date.now();
let failed = false;
for (const [name, share, makeSubjects] of [
  ["TypeBox schemas", 0.75, typeBoxSubjects],
  ["JSON Schemas", 0.25, jsonSchemaSubjects],
]) {
  const subjects = await makeSubjects();
  const wanted = Math.max(1, Math.round(pairs * share));
  let reported = Date.now();
  const onProgress = (done) => {
    if (Date.now() - reported < 10_000) return;
    reported = Date.now();
    console.log(`${name}: ${done} of ${wanted} pairs, ${Math.round((reported - started) / 1000)} s`);
  };
  const { findings, done } = runPairs({ seed, pairs: wanted, subjects, onProgress });
  console.log(`${name}: ${done} pairs, ${findings.length} disagreements, ${JSON.stringify(subjects.tally)}`);
  if (findings.length > 0) {
    console.log(describeFindings(findings));
    failed = true;
  }
}

const tests = ["--test", "oracles", "--test", "messages"];
const outcome = attempt("cargo", ["test", "--locked", ...tests, "--", "--nocapture"], {
  cwd: join(root, "fuzz"),
  env: {
    OPERATIONS_SEED: String(seed),
    OPERATIONS_PAIRS: String(Math.ceil(pairs / 10)),
    OPERATIONS_STREAMS: String(Math.ceil(pairs / 50)),
    OPERATIONS_CASES: String(pairs),
  },
});
if (outcome !== 0) failed = true;

console.log(`seed ${seed}, ${Math.round((Date.now() - started) / 1000)} s`);
process.exit(failed ? 1 : 0);
