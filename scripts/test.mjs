// npm test: everything, from a fresh clone, in the order in which failures are cheapest. With --install (or as root)
// it installs the brokers and the browser that are missing.

import { join } from "node:path";
import { ensureBrokers } from "./brokers.mjs";
import { ensureBrowser } from "./browser.mjs";
import { checkPlatforms } from "./check-platforms.mjs";
import { ensureSuite } from "./json-schema-suite.mjs";
import {
  buildAddon,
  buildFacade,
  ensureInstalled,
  heading,
  printPhases,
  root,
  run,
  seconds,
} from "./lib.mjs";
import { lint } from "./lint.mjs";
import { packInto } from "./pack.mjs";
import { howToInstall, isRoot } from "./programs.mjs";
import { rehearse } from "./rehearse.mjs";
import { checkTypeTests } from "./typecheck.mjs";
import { runTests, testFiles } from "./unit-tests.mjs";

const started = Date.now();

// The same random cases each time, so that a failure is the work of the change at hand. New ones are drawn by
// `npm run fuzz`, by the nightly workflow, and by running a test file on its own.
process.env.OPERATIONS_SEED ??= "20261116";
console.log(`OPERATIONS_SEED=${process.env.OPERATIONS_SEED}`);

ensureInstalled();

const leftOut = [];
const wanted = isRoot() || process.argv.includes("--install");
const brokers = ensureBrokers({ wanted });
for (const broker of brokers) leftOut.push(`the tests that need ${broker}: ${howToInstall([broker])}`);
if (!ensureBrowser({ wanted })) leftOut.push(`the tests that need a browser: ${howToInstall(["chromium"])}`);
if (!ensureSuite()) leftOut.push("the JSON Schema test suite: install Python with pip");
warn();
// On Windows there is no Redis to be had.
const excused = process.platform === "win32" ? brokers.length : 0;
if (process.env.CI === "true" && leftOut.length > excused) process.exit(1);

lint();

// The crates are compiled once more for each platform, which only CI has the patience for.
if (process.env.CI === "true") {
  for (const each of checkPlatforms()) leftOut.push(`the check for ${each}`);
}

heading("cargo test");
run("cargo", ["test", "--profile", "ci", "--locked"]);

buildAddon({ profile: "ci", features: ["test-hooks"] });
buildFacade();

checkTypeTests();

heading("unit tests");
await runTests(testFiles("__test__"));

heading("MCP conformance");
// Brings a Node of its own where this one is too old for the suite.
run(process.execPath, [join(root, "scripts", "conformance.mjs")]);

heading("package tests");
// Tarballs with the quick build: what is tested here is the packing, and `npm run pack:local`
// differs only in the profile of the addon.
packInto(join(root, "target", "pack-for-tests"));
await runTests(testFiles("__test__/package"));

heading("rehearse the release");
// On one runtime: `npm run rehearse` has them all.
await rehearse(["node-22"]);

printPhases();
warn();
console.log(`\nAll of npm test passed in ${seconds(Date.now() - started)}.`);

function warn() {
  for (const each of leftOut) console.error(`\x1b[1;33mLEFT OUT: ${each}\x1b[0m`);
}
