// npm run test:runtimes: the package tests on every supported runtime, from the tarballs, and the declarations with the newest
// TypeScript. Name some to run only those: npm run test:runtimes -- bun deno typescript-7

import { dirname, join } from "node:path";
import {
  attempt,
  buildFacade,
  buildTestAddon,
  ensureInstalled,
  heading,
  isAddonCurrent,
  root,
} from "./lib.mjs";
import { packInto } from "./pack.mjs";
import { installRuntime, installTool, RUNTIMES } from "./runtimes.mjs";

ensureInstalled();
if (!isAddonCurrent()) buildTestAddon();
buildFacade();
const packed = join(root, "target", "pack-for-tests");
packInto(packed);

const wanted = process.argv.slice(2);
const failed = [];

/** Runs the tests of the installed package with some variables set. */
function testPackage(name, env, args = []) {
  const file = join(root, "__test__", "package", "install.test.mjs");
  const outcome = attempt(process.execPath, ["--test", ...args, file], {
    env: { OPERATIONS_PACK: packed, ...env },
  });
  if (outcome !== 0) failed.push(name);
}

const isWanted = (name) => wanted.length === 0 || wanted.includes(name);
for (const name of Object.keys(RUNTIMES).filter(isWanted)) {
  heading(name);
  testPackage(name, { OPERATIONS_RUNTIME: JSON.stringify(installRuntime(name)) });
}
for (const [name, version] of [
  ["typescript-5.9", "typescript@5.9"],
  ["typescript-7", "typescript@7"],
]) {
  if (!isWanted(name)) continue;
  heading(name);
  const binary = installTool(join("runtimes", name), version, "tsc");
  const compiler = join(dirname(dirname(binary)), "typescript", "bin", "tsc");
  testPackage(name, { OPERATIONS_TYPESCRIPT: compiler }, ["--test-name-pattern=TypeScript"]);
}
if (failed.length > 0) {
  console.error(`\nfailed on: ${failed.join(", ")}`);
  process.exit(1);
}
console.log("\nAll runtimes passed.");
