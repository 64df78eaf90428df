// npm run lint: formatting and lints of both languages. With --fix: repairs what can be repaired.

import { ensureInstalled, heading, run, tool } from "./lib.mjs";

const fix = process.argv.includes("--fix");

ensureInstalled();
heading("rustfmt");
run("cargo", ["fmt", "--all", ...(fix ? [] : ["--check"])]);
heading("clippy");
// The binding without and with its test hooks: each sees other code.
for (const features of [[], ["--all-features"]]) {
  run("cargo", [
    "clippy",
    "--workspace",
    "--all-targets",
    "--profile",
    "ci",
    "--locked",
    ...features,
    "--",
    "-D",
    "warnings",
  ]);
}
heading("biome");
tool("@biomejs/biome", "bin/biome", fix ? ["check", "--write"] : ["check"]);
