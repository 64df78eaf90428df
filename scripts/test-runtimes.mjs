// npm run test:runtimes: the package tests on Node 22, Node 24, Bun and Deno, from the tarballs. npm
// carries the binaries of all of them. Name some to run only those: npm run test:runtimes -- bun deno

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  addonFile,
  attempt,
  buildAddon,
  buildFacade,
  ensureDirectory,
  ensureInstalled,
  heading,
  root,
  run,
} from "./lib.mjs";
import { packInto } from "./pack.mjs";

const RUNTIMES = {
  "node-22": { install: "node@22", command: ["node"] },
  "node-24": { install: "node@24", command: ["node"] },
  bun: { install: "bun@1", command: ["bun"] },
  // Deno asks before it lets a program load a library or read a file; a user of an addon says yes.
  deno: { install: "deno@2", command: ["deno", "run", "--allow-all", "--node-modules-dir=manual"] },
};

ensureInstalled();
if (!existsSync(join(root, addonFile()))) buildAddon({ profile: "ci", features: ["test-hooks"] });
buildFacade();
const packed = join(root, "target", "pack-for-tests");
packInto(packed);

const wanted = process.argv.slice(2);
const failed = [];
for (const [name, { install, command }] of Object.entries(RUNTIMES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  heading(name);
  const directory = ensureDirectory(join(root, "target", "runtimes", name));
  writeFileSync(join(directory, "package.json"), '{ "private": true }');
  run("npm", ["install", "--no-audit", "--no-fund", "--no-save", "--loglevel=error", install], {
    cwd: directory,
  });
  const [program, ...args] = command;
  const suffix = process.platform === "win32" ? ".cmd" : "";
  const binary = join(directory, "node_modules", ".bin", program + suffix);
  run(binary, ["--version"]);
  const outcome = attempt(
    process.execPath,
    ["--test", join(root, "__test__", "package", "install.test.mjs")],
    {
      env: { OPERATIONS_PACK: packed, OPERATIONS_RUNTIME: JSON.stringify([binary, ...args]) },
    },
  );
  if (outcome !== 0) failed.push(name);
}
if (failed.length > 0) {
  console.error(`\nfailed on: ${failed.join(", ")}`);
  process.exit(1);
}
console.log("\nAll runtimes passed.");
