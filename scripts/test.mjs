// npm test: everything, from a fresh clone, in the order in which failures are cheapest.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ensureBrokers } from "./brokers.mjs";
import { buildAddon, buildFacade, ensureInstalled, heading, root, run, tool } from "./lib.mjs";
import { packInto } from "./pack.mjs";

const started = Date.now();

// The same random cases each time, so that a failure is the work of the change at hand. New ones are drawn by
// `npm run fuzz`, by the nightly workflow, and by running a test file on its own.
process.env.OPERATIONS_SEED ??= "20261116";
console.log(`OPERATIONS_SEED=${process.env.OPERATIONS_SEED}`);

ensureInstalled();
ensureBrokers();
run(process.execPath, [join(root, "scripts", "lint.mjs")]);

heading("cargo test");
run("cargo", ["test", "--profile", "ci", "--locked"]);

buildAddon({ profile: "ci", features: ["test-hooks"] });
buildFacade();

heading("types");
tool("typescript", "bin/tsc", ["-p", "__test__/types"]);

heading("unit tests");
run(process.execPath, ["--test", ...testFiles("__test__")]);

heading("package tests");
// Tarballs with the quick build: what is tested here is the packing, and `npm run pack:local`
// differs only in the profile of the addon.
packInto(join(root, "target", "pack-for-tests"));
run(process.execPath, ["--test", ...testFiles("__test__/package")]);

console.log(`\nAll of npm test passed in ${Math.round((Date.now() - started) / 1000)} s.`);

/** The test files of a folder and, except for the package tests, of its subfolders. */
function testFiles(folder) {
  const files = [];
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isFile() && entry.name.endsWith(".test.mjs")) files.push(path);
    if (entry.isDirectory() && entry.name !== "package") files.push(...testFiles(path));
  }
  return files.sort();
}
