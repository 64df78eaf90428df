// npm run check:platforms: clippy for the other platforms from any machine, for all crates and the addon. zig compiles the C parts
// (pip install ziglang==0.17.0 cargo-zigbuild==0.24.0). Nothing is linked, so that no system library of those platforms is needed.
//
// What is not installed is left out with a loud line; with CI=true and --all that is a failure. Name targets to check only those.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { attempt, heading, isMain, output, root } from "./lib.mjs";

export const TARGETS = [
  "aarch64-apple-darwin",
  "x86_64-apple-darwin",
  "x86_64-pc-windows-gnu",
  "aarch64-pc-windows-gnullvm",
  "aarch64-unknown-linux-gnu",
  "x86_64-unknown-linux-musl",
  "aarch64-unknown-linux-musl",
];

/** One of each system and C library, for `npm run test:all`: none of our code depends on the processor. */
export const IN_EVERY_RUN = ["aarch64-apple-darwin", "x86_64-pc-windows-gnu", "aarch64-unknown-linux-musl"];

const PYTHON_PACKAGES = ["ziglang==0.17.0", "cargo-zigbuild==0.24.0"];

/** Gets the compilers for other platforms, as far as they are missing. */
function installCompilers(targets) {
  heading("install compilers for other platforms");
  if (!has("cargo-zigbuild", ["--version"]))
    attempt("python3", ["-m", "pip", "install", "--quiet", ...PYTHON_PACKAGES]);
  attempt("rustup", ["target", "add", ...targets]);
}

/** Checks the code for other platforms. Returns what could not be checked, and ends the process where a check fails. */
export function checkPlatforms(wanted = TARGETS, { install = false } = {}) {
  const leftOut = [];
  if (install) installCompilers(wanted);
  if (!has("cargo-zigbuild", ["--version"])) {
    return [`${wanted.join(", ")}: pip install ${PYTHON_PACKAGES.join(" ")}`];
  }
  const installed = new Set(output("rustup", ["target", "list", "--installed"]).split(/\s+/));
  for (const target of wanted) {
    if (!installed.has(target)) {
      leftOut.push(`${target}: rustup target add ${target}`);
      continue;
    }
    heading(`clippy for ${target}`);
    const outcome = attempt(
      "cargo-zigbuild",
      [
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--locked",
        "--target",
        target,
        "--",
        "-Dwarnings",
      ],
      { env: target.includes("windows") ? { LIBNODE_PATH: standInForNode() } : {} },
    );
    if (outcome !== 0) {
      console.error(`\nclippy for ${target} failed`);
      process.exit(1);
    }
  }
  return leftOut;
}

/** napi-build looks for the library of Node on Windows, even where nothing is linked. */
export function standInForNode() {
  const folder = join(root, "target", "libnode");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "libnode.dll"), "");
  // An archive without a member, for the linker.
  writeFileSync(join(folder, "libnode.a"), "!<arch>\n");
  return folder;
}

function has(command, args) {
  try {
    output(command, args);
    return true;
  } catch {
    return false;
  }
}

if (isMain(import.meta.url) && process.argv.includes("--print-targets")) {
  console.log(TARGETS.join(" "));
} else if (isMain(import.meta.url)) {
  const wanted = process.argv.slice(2).filter((arg) => !arg.startsWith("--"));
  const leftOut = checkPlatforms(wanted.length > 0 ? wanted : undefined);
  for (const each of leftOut) console.error(`\x1b[1;33mLEFT OUT: ${each}\x1b[0m`);
  if (leftOut.length > 0 && process.argv.includes("--all")) process.exit(1);
}
