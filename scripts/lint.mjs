// npm run lint: formatting and lints of both languages, and rules of our own. With --fix: repairs what can be repaired.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { leftovers, napiOutsideBinding } from "./house-lints.mjs";
import { ensureInstalled, heading, isMain, output, root, run, tool } from "./lib.mjs";

/** What needs no compiler: formatting of both languages, lints of JavaScript, and rules of our own. */
export function lintSources({ fix = false } = {}) {
  heading("rules of the house");
  const listing = output("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
  const problems = [
    ...leftovers(listing.split("\0")),
    ...napiOutsideBinding(readFileSync(join(root, "Cargo.lock"), "utf8")),
  ];
  if (problems.length > 0) {
    console.error(problems.join("\n"));
    process.exit(1);
  }
  // A workspace of its own, where it goes unnoticed when a crate gets a dependency. With --fix its lock file follows.
  const locked = fix ? [] : ["--locked"];
  run("cargo", ["update", "--quiet", "--workspace", ...locked, "--manifest-path", "fuzz/Cargo.toml"]);
  heading("rustfmt");
  for (const workspace of ["Cargo.toml", "fuzz/Cargo.toml"]) {
    run("cargo", ["fmt", "--all", "--manifest-path", workspace, ...(fix ? [] : ["--check"])]);
  }
  heading("biome");
  tool("@biomejs/biome", "bin/biome", fix ? ["check", "--write"] : ["check"]);
}

/** Lints of Rust. Takes minutes where nothing is compiled: clippy cannot use what a build left. */
export function clippy(packages = ["--workspace"]) {
  heading("clippy");
  // The binding without and with its test hooks: each sees other code.
  for (const features of [[], ["--all-features"]]) {
    run("cargo", [
      ...["clippy", ...packages, "--all-targets", "--locked", ...features],
      ...["--", "-D", "warnings"],
    ]);
  }
}

if (isMain(import.meta.url)) {
  ensureInstalled();
  lintSources({ fix: process.argv.includes("--fix") });
  clippy();
}
