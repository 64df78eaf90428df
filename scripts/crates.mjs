// npm run crates: packs the crates for Rust programs as crates.io would get them, in the order in which they need each other. With
// --verify they are also compiled out of their packages (minutes), as `cargo publish` does before it uploads.

import { parseArgs } from "node:util";
import { heading, isMain, run } from "./lib.mjs";

/** What is never published: the binding is a part of the npm package. */
const OURS = ["--workspace", "--exclude", "operations-napi"];

/** Packs all crates. What they need is looked up at crates.io; nothing is uploaded. */
export function packCrates({ verify = false } = {}) {
  heading("crates");
  const how = verify ? ["publish", "--dry-run"] : ["package", "--no-verify"];
  run("cargo", [...how, ...OURS, "--locked", "--allow-dirty"]);
}

if (isMain(import.meta.url)) {
  const { values } = parseArgs({ options: { verify: { type: "boolean" } } });
  packCrates(values);
}
