// npm run size: how large the package is for those who load it. The entry without native code as users bundle it; and what
// each crate adds to the addon, with --addon, from the symbols of a release build that are not stripped.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { heading, isMain, remapPaths, root, run } from "./lib.mjs";

/** What users import, and the programs that do. */
const PROGRAMS = {
  everything: `export * from "@alkdev/operations";`,
  OperationRegistry: `export { OperationRegistry } from "@alkdev/operations";`,
  PendingRequestMap: `export { PendingRequestMap } from "@alkdev/operations";`,
};

/** The size of the entry without native code, minified, in bytes. */
export async function browserSizes() {
  const sizes = [];
  for (const [name, contents] of Object.entries(PROGRAMS)) {
    for (const external of [["@sinclair/typebox", "@logtape/logtape"], []]) {
      const { outputFiles } = await build({
        stdin: { contents, resolveDir: root },
        bundle: true,
        format: "esm",
        platform: "browser",
        minify: true,
        write: false,
        external,
        logLevel: "error",
      });
      const [{ contents: bytes }] = outputFiles;
      const what = `${name}${external.length > 0 ? "" : ", with TypeBox and LogTape"}`;
      sizes.push({ what, minified: bytes.length, gzip: gzipSync(bytes).length });
    }
  }
  return sizes;
}

const kilobytes = (bytes) => `${(bytes / 1024).toFixed(1)} KB`.padStart(10);

/** Adds up the sizes of symbols by crate. Generic code counts for the crate whose name comes first in the symbol. */
export async function addSymbols(lines) {
  const crates = new Map();
  for await (const line of lines) {
    const [, size, , name] = /^[0-9a-f]+ ([0-9a-f]+) (\w) (.+)$/i.exec(line) ?? [];
    if (size === undefined) continue;
    const [, crate] = /^[<&*([\s]*(?:dyn |mut |impl )*([a-z_]\w*)::/i.exec(name) ?? [];
    const key = crate ?? "C and assembler";
    crates.set(key, (crates.get(key) ?? 0) + Number.parseInt(size, 16));
  }
  return [...crates].sort(([, one], [, other]) => other - one);
}

async function addonSizes() {
  heading("the addon, by crate");
  const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
  // The release profile strips symbols, which are all that tells the crates apart. Everything else is the same.
  run("cargo", [
    "build",
    "--package",
    "operations-napi",
    "--release",
    "--locked",
    "--config",
    remapPaths(),
    "--config",
    "profile.release.strip=false",
  ]);
  const library = join(
    target,
    "release",
    process.platform === "darwin" ? "liboperations_napi.dylib" : "liboperations_napi.so",
  );
  const nm = spawn("nm", ["--print-size", "--demangle", "--defined-only", library], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const crates = await addSymbols(createInterface({ input: nm.stdout }));
  const total = crates.reduce((sum, [, size]) => sum + size, 0);
  for (const [crate, size] of crates.slice(0, 40)) {
    console.log(`${kilobytes(size)}  ${((size / total) * 100).toFixed(1).padStart(5)} %  ${crate}`);
  }
  console.log(`${kilobytes(total)}          all symbols of ${crates.length} crates`);
}

if (isMain(import.meta.url)) {
  heading("without native code (browser, workerd)");
  console.log("  minified        gzip");
  for (const { what, minified, gzip } of await browserSizes()) {
    console.log(`${kilobytes(minified)}  ${kilobytes(gzip)}  ${what}`);
  }
  if (process.argv.includes("--addon")) await addonSizes();
  else
    console.log(
      "\nWhat each crate adds to the addon: npm run size -- --addon (a release build, several minutes)",
    );
}
