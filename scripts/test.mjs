// npm test: whether the tree is right, in minutes. With --all (npm run test:all), or CI=true and no --no-all: everything, from
// a fresh clone. Both in the order in which failures are cheapest. `scripts/tiers.mjs` says which test files are in which.
//
//   --install        installs the brokers and the browser that are missing (root does so without being asked)
//   --except PHASE   leaves a phase out that another job of a workflow has: platforms, conformance, package, rehearse

import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureBrokers } from "./brokers.mjs";
import { ensureBrowser } from "./browser.mjs";
import { checkPlatforms, IN_EVERY_RUN } from "./check-platforms.mjs";
import { ensureSuite } from "./json-schema-suite.mjs";
import { ensureFacade, heading, prepare, printPhases, root, run, seconds } from "./lib.mjs";
import { clippy, lintSources } from "./lint.mjs";
import { packInto } from "./pack.mjs";
import { howToInstall, isRoot } from "./programs.mjs";
import { rehearse } from "./rehearse.mjs";
import { rustDocs } from "./rust-docs.mjs";
import { isSlow, repeatLess } from "./tiers.mjs";
import { checkTypeTests } from "./typecheck.mjs";
import { runTests, testFiles } from "./unit-tests.mjs";

const started = Date.now();
const isCI = process.env.CI === "true";
const { values } = parseArgs({
  allowNegative: true,
  options: {
    all: { type: "boolean", default: isCI },
    install: { type: "boolean", default: isRoot() },
    except: { type: "string", multiple: true, default: [] },
  },
});
const { all } = values;
const runs = (phase) => all && !values.except.includes(phase);

// The same random cases each time, so that a failure is the work of the change at hand. New ones are drawn by
// `npm run fuzz`, by the nightly workflow, and by running a test file on its own.
process.env.OPERATIONS_SEED ??= "20261116";
console.log(`OPERATIONS_SEED=${process.env.OPERATIONS_SEED}`);
if (!all) repeatLess();
// What is compiled once gains nothing from it.
if (isCI) process.env.CARGO_INCREMENTAL ??= "0";

const leftOut = [];
const brokers = ensureBrokers({ wanted: values.install });
for (const broker of brokers) leftOut.push(`the tests that need ${broker}: ${howToInstall([broker])}`);
if (all && !ensureBrowser({ wanted: values.install })) {
  leftOut.push(`the tests that need a browser: ${howToInstall(["chromium"])}`);
}
if (!ensureSuite()) leftOut.push("the JSON Schema test suite: install Python with pip");
warn();
// On Windows there is no Redis to be had.
const excused = process.platform === "win32" ? brokers.length : 0;
if (isCI && leftOut.length > excused) process.exit(1);

await prepare();
lintSources();
ensureFacade();
checkTypeTests({ oldCompiler: all });

heading("cargo test");
run("cargo", ["test", "--all-features", "--locked"]);

heading("unit tests");
await runTests(testFiles("__test__").filter((file) => all || !isSlow(file)));

if (all) {
  clippy();
  rustDocs();
}
if (runs("platforms")) {
  for (const each of checkPlatforms(IN_EVERY_RUN, { install: values.install })) {
    leftOut.push(`the check for ${each}`);
  }
}
if (runs("conformance")) {
  heading("MCP conformance");
  // Brings a Node of its own where this one is too old for the suite.
  run(process.execPath, [join(root, "scripts", "conformance.mjs")]);
}
if (runs("package")) {
  heading("package tests");
  // Tarballs with the quick build: what is tested here is the packing, and `npm run pack:local`
  // differs only in the profile of the addon.
  packInto(join(root, "target", "pack-for-tests"));
  await runTests(testFiles("__test__/package"));
}
if (runs("rehearse")) {
  heading("rehearse the release");
  // On one runtime: `npm run rehearse` has them all.
  await rehearse(["node-22"]);
}

printPhases();
warn();
console.log(`\nAll of npm ${all ? "run test:all" : "test"} passed in ${seconds(Date.now() - started)}.`);

function warn() {
  for (const each of leftOut) console.error(`\x1b[1;33mLEFT OUT: ${each}\x1b[0m`);
}
