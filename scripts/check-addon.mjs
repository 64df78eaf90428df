// node scripts/check-addon.mjs operations.linux-x64-gnu.node ...: whether an addon is for the platform that its name says, and asks for
// nothing there that a user may not have. With --release also that nothing in it tells where it was built.

import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename } from "node:path";
import { isMain, output, root } from "./lib.mjs";
import { importsOf } from "./windows-imports.mjs";

/** The oldest C library that Rust supports. */
const OLDEST_GLIBC = [2, 17];
const ENTRY = "napi_register_module_v1";

/** What comes with Windows 10 and newer. The runtime of Visual Studio (vcruntime140.dll) does not. */
const OF_WINDOWS = new Set([
  ...["advapi32.dll", "bcrypt.dll", "bcryptprimitives.dll", "crypt32.dll", "kernel32.dll", "ktmw32.dll"],
  ...["msvcrt.dll", "ncrypt.dll", "ntdll.dll", "ole32.dll", "oleaut32.dll", "rpcrt4.dll", "secur32.dll"],
  ...["shell32.dll", "user32.dll", "userenv.dll", "ws2_32.dll"],
]);

/** What a file begins with, by system: its kind and its processor. */
const KINDS = {
  linux: (bytes) => (bytes.readUInt32BE(0) === 0x7f454c46 ? bytes.readUInt16LE(18) : undefined),
  darwin: (bytes) => (bytes.readUInt32LE(0) === 0xfeedfacf ? bytes.readUInt32LE(4) : undefined),
  win32: (bytes) => {
    if (bytes.toString("latin1", 0, 2) !== "MZ") return undefined;
    return bytes.readUInt16LE(bytes.readUInt32LE(0x3c) + 4);
  },
};
const PROCESSORS = {
  linux: { x64: 62, arm64: 183 },
  darwin: { x64: 0x01000007, arm64: 0x0100000c },
  win32: { x64: 0x8664, arm64: 0xaa64 },
};

/** What is wrong with an addon, in sentences. */
export function faultsOf(file, { isRelease = false } = {}) {
  const [, triple] = /^operations\.([\w-]+)\.node$/.exec(basename(file)) ?? [];
  const [system, architecture, library] = triple?.split("-") ?? [];
  if (PROCESSORS[system]?.[architecture] === undefined) return ["Its name names no platform."];
  const bytes = readFileSync(file);
  if (KINDS[system](bytes) !== PROCESSORS[system][architecture])
    return [`It is not a library for ${triple}.`];
  const faults = [];
  if (!bytes.includes(ENTRY)) faults.push(`It has no ${ENTRY}, which Node looks for.`);
  if (system === "linux") faults.push(...faultsOfLinux(file, library));
  if (system === "win32") faults.push(...faultsOfWindows(bytes));
  if (isRelease) {
    const paths = [root, process.env.CARGO_HOME, homedir()].filter((path) => path?.length > 1);
    const found = paths.filter((path) => bytes.includes(path));
    if (found.length > 0) faults.push(`It tells where it was built: ${found.join(", ")}`);
  }
  return faults;
}

function faultsOfLinux(file, library) {
  const faults = [];
  const versions = output("readelf", ["--wide", "--version-info", file]).match(/GLIBC_[\d.]+/g) ?? [];
  const needed = [...output("readelf", ["--wide", "--dynamic", file]).matchAll(/\(NEEDED\).*\[(.+)\]/g)];
  if (library === "musl") {
    if (versions.length > 0) faults.push(`It asks for glibc: ${[...new Set(versions)].join(", ")}`);
    const others = needed.map(([, name]) => name).filter((name) => name !== "libc.so");
    if (others.length > 0) faults.push(`It asks for more than musl: ${others.join(", ")}`);
  } else {
    const newer = [...new Set(versions)].filter((version) => isNewer(version.slice("GLIBC_".length)));
    if (newer.length > 0)
      faults.push(`It asks for a newer glibc than ${OLDEST_GLIBC.join(".")}: ${newer.join(", ")}`);
  }
  return faults;
}

function faultsOfWindows(bytes) {
  const others = importsOf(bytes).filter((name) => !OF_WINDOWS.has(name) && !name.startsWith("api-ms-win-"));
  return others.length > 0 ? [`It asks for what Windows does not have: ${others.join(", ")}`] : [];
}

function isNewer(version) {
  const [major, minor = 0] = version.split(".").map(Number);
  return major > OLDEST_GLIBC[0] || (major === OLDEST_GLIBC[0] && minor > OLDEST_GLIBC[1]);
}

if (isMain(import.meta.url)) {
  const args = process.argv.slice(2);
  const files = args.filter((arg) => !arg.startsWith("--"));
  for (const file of files) {
    const faults = faultsOf(file, { isRelease: args.includes("--release") });
    console.log(`${file}: ${faults.length === 0 ? "fine" : faults.join("\n  ")}`);
    if (faults.length > 0) process.exitCode = 1;
  }
}
