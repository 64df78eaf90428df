// node scripts/check-versions.mjs [tag]: one version everywhere. Compares package.json with its lock file,
// with Cargo.toml, with facade/version.ts and with every platform package, and with the tag if there is one.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { addonFile, root } from "./lib.mjs";

const text = (...path) => readFileSync(join(root, ...path), "utf8");
const json = (...path) => JSON.parse(text(...path));

const problems = [];
const expect = (what, actual, expected) => {
  if (actual !== expected) problems.push(`${what}: ${show(actual)}, expected ${show(expected)}`);
};
const show = (value) => (value === undefined ? "nothing" : JSON.stringify(value));

const main = json("package.json");
const { name, version } = main;

const [tag] = process.argv.slice(2);
if (tag !== undefined) expect("tag", tag, `v${version}`);

const lock = json("package-lock.json");
expect("package-lock.json", lock.version, version);
expect('package-lock.json, packages[""]', lock.packages[""].version, version);

expect("Cargo.toml [workspace.package]", tomlVersion("Cargo.toml", "workspace.package"), version);
// The crates inherit it. Cargo.lock needs no look: every build is --locked.
for (const manifest of ["Cargo.toml", ...crates()]) {
  const own = tomlVersion(manifest, "package");
  if (own !== "workspace") expect(`${manifest} [package]`, own, version);
}

// What is published names the crates that it needs by their version.
const needed = text("Cargo.toml").matchAll(/^(operations(?:-\w+)?) = \{ version = "([^"]*)", path/gm);
for (const [, crate, own] of needed)
  expect(`Cargo.toml [workspace.dependencies] ${crate}`, own, `=${version}`);

expect("facade/version.ts", /VERSION = "([^"]*)"/.exec(text("facade", "version.ts"))?.[1], version);

const triples = readdirSync(join(root, "npm")).sort();
for (const triple of triples) {
  const platform = json("npm", triple, "package.json");
  const where = `npm/${triple}/package.json`;
  expect(`${where} name`, platform.name, `${name}-${triple}`);
  expect(`${where} version`, platform.version, version);
  expect(`${where} main`, platform.main, addonFile(triple));
  const files = [addonFile(triple), "LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-NOTICES.md"];
  expect(`${where} files`, platform.files?.join(), files.join());
  expect(`${where} publishConfig.provenance`, platform.publishConfig?.provenance, true);
}

// They are added when the package is packed: in a clone they would name versions that are not published yet.
expect("package.json optionalDependencies", main.optionalDependencies, undefined);

if (problems.length > 0) {
  console.error(`The versions do not agree:\n${problems.map((each) => `  ${each}`).join("\n")}`);
  process.exit(1);
}
console.log(
  `${name} ${version}: package.json, its lock file, Cargo.toml and ${triples.length} platform packages agree.`,
);

function crates() {
  return readdirSync(join(root, "crates")).map((crate) => `crates/${crate}/Cargo.toml`);
}

/** The version in one table of a Cargo manifest; "workspace" if it is inherited. */
function tomlVersion(manifest, table) {
  const lines = text(manifest).split(/\r?\n/);
  const start = lines.indexOf(`[${table}]`);
  if (start === -1) return undefined;
  const length = lines.slice(start + 1).findIndex((line) => line.startsWith("["));
  for (const line of lines.slice(start + 1, length === -1 ? undefined : start + 1 + length)) {
    if (/^version\.workspace\s*=\s*true/.test(line)) return "workspace";
    const literal = /^version\s*=\s*"([^"]+)"/.exec(line);
    if (literal) return literal[1];
  }
  return undefined;
}
