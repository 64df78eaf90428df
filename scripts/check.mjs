// npm run check: format, lints, types and the tests that a change concerns, for the loop of edit and try.
//
//   npm run check                      what differs from the last commit
//   npm run check -- --against main    what differs from another one
//   npm run check -- --list            only says what it would run
//
// A change of TypeScript needs no Rust compiler where an addon of the same Rust sources is at hand: the last one that was
// built here, or that of the installed platform package.

import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  addonFile,
  buildTestAddon,
  ensureFacade,
  ensureInstalled,
  heading,
  hostTriple,
  isAddonCurrent,
  isMain,
  isTestAddonCurrent,
  output,
  printPhases,
  root,
  run,
  rustSources,
  stampAddon,
} from "./lib.mjs";
import { clippy, lintSources } from "./lint.mjs";
import { works } from "./programs.mjs";
import { isSlow, repeatLess } from "./tiers.mjs";
import { checkTypeTests } from "./typecheck.mjs";
import { runTests, testFiles } from "./unit-tests.mjs";

/** The folders of `__test__/` that try what a crate or a folder of the facade does, where the name does not say so. */
const TESTED_BY = {
  interop: ["interop", "native-boundary", "logging"],
  core: ["access", "errors", "registry", "shared-cases"],
  http: ["http", "sse"],
  registry: ["registry", "limits"],
  spill: ["registry/spill", "http/spill", "mcp/spill", "serve/spill"],
  websocket: ["hub", "transports"],
};

/** File names that say nothing about what is in them. */
const GENERAL_NAMES = new Set([
  "index",
  "lib",
  "mod",
  "types",
  "errors",
  "options",
  "support",
  "text",
  "names",
]);

/** What a list of changed files concerns: crates, whether an addon or a facade has to be built, and test files. */
export function concerns(changed, tests) {
  const crates = new Set();
  const chosen = new Set();
  const add = (area, file) => {
    // Tests that are named after what was changed say more than the whole folder, and take less time.
    const word = file.replace(/^.*\//, "").replace(/\.\w+$/, "");
    const named = GENERAL_NAMES.has(word) ? [] : tests.filter((test) => test.includes(`/${word}`));
    const starts = (TESTED_BY[area] ?? [area]).map((start) => `__test__/${start}`);
    const inArea = tests.filter((test) => starts.some((start) => test.startsWith(start)));
    for (const test of named.length > 0 ? named : inArea) chosen.add(test);
  };
  for (const file of changed) {
    const crate = /^crates\/([^/]+)\//.exec(file)?.[1];
    if (crate !== undefined) crates.add(crate);
    const area = /^(?:crates\/operations-|facade\/|explorer|src\/)([\w-]*)/.exec(file)?.[1];
    if (file.startsWith("explorer/")) add("explorer", file);
    else if (area) add(area, file);
    if (file.endsWith(".test.mjs")) chosen.add(file);
    else if (/^__test__\/[^/]+\//.test(file)) add(file.split("/")[1], file);
    if (file.endsWith(".md"))
      for (const test of ["guides", "links", "architecture"]) chosen.add(`__test__/${test}.test.mjs`);
  }
  return {
    crates: [...crates].sort(),
    binding: changed.some((file) => /^(src|crates)\/.*\.rs$|^Cargo\.(toml|lock)$|^build\.rs$/.test(file)),
    facade: changed.some((file) => /^(facade|explorer|__test__\/types)\//.test(file)),
    tests: tests.filter((test) => chosen.has(test)),
  };
}

/** Makes sure that there is an addon of the present Rust sources, as far as that is possible. */
function ensureAddon() {
  if (isTestAddonCurrent()) return;
  if (works("cargo", "--version")) return buildTestAddon();
  if (isAddonCurrent()) return;
  const folder = join(root, "node_modules", `@alkdev/operations-${hostTriple()}`);
  const manifest = join(folder, "package.json");
  const { version, sources } = existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")) : {};
  if (sources === rustSources()) {
    copyFileSync(join(folder, addonFile()), join(root, addonFile()));
    stampAddon();
    console.log(`The addon of @alkdev/operations-${hostTriple()} ${version} fits these sources.`);
    return;
  }
  const found =
    version === undefined
      ? "there is no platform package in node_modules"
      : `that of ${version} does not match`;
  const hint = `Install Rust (https://rustup.rs), or a release of these sources: npm install --no-save @alkdev/operations-${hostTriple()}`;
  if (!existsSync(join(root, addonFile()))) {
    console.error(`There is no addon for these Rust sources, and ${found}. ${hint}`);
    process.exit(1);
  }
  console.error(
    `\x1b[1;33mThe addon was built from other Rust sources, and ${found}: tests may fail for that reason. ${hint}\x1b[0m`,
  );
}

/** The files that differ from a commit, new ones included. */
function changedFiles(against) {
  const tracked = output("git", ["diff", "--name-only", "-z", against]).split("\0");
  const untracked = output("git", ["ls-files", "--others", "--exclude-standard", "-z"]).split("\0");
  return [...tracked, ...untracked].filter(Boolean);
}

if (isMain(import.meta.url)) {
  const { values } = parseArgs({
    options: { against: { type: "string", default: "HEAD" }, list: { type: "boolean", default: false } },
  });
  const changed = changedFiles(values.against);
  if (changed.length === 0) {
    console.log(
      `Nothing differs from ${values.against}. Name another commit: npm run check -- --against main`,
    );
    process.exit(0);
  }
  const { crates, binding, facade, tests } = concerns(changed, testFiles("__test__"));
  const quick = tests.filter(
    (test) => !isSlow(test) || changed.includes(test) || changed.some((file) => file.endsWith(".md")),
  );
  console.log(`${changed.length} changed: crates ${crates.join(", ") || "none"}; ${quick.length} test files`);
  if (values.list) {
    console.log(quick.join("\n"));
    process.exit(0);
  }
  repeatLess();
  ensureInstalled();
  lintSources();
  const packages = crates.flatMap((crate) => ["--package", crate]);
  if (binding) clippy([...packages, "--package", "operations-napi"]);
  if (crates.length > 0) {
    heading("cargo test");
    run("cargo", ["test", "--all-features", "--locked", ...packages]);
  }
  if (quick.length > 0) ensureAddon();
  if (facade || quick.length > 0) ensureFacade();
  if (facade) checkTypeTests({ oldCompiler: false });
  if (quick.length > 0) {
    heading("unit tests");
    await runTests(quick);
  }
  printPhases();
}
