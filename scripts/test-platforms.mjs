// npm run test:platforms: builds the addon for other platforms and runs it there, in the real Node of each: under wine, under qemu, or
// with the loader of musl (scripts/foreign-nodes.mjs). First come programs from the tarballs, then the tests of this repository.
// It runs on Linux x64.
//
// npm run test:platforms -- [platform ...] [--tests=<part of a path>,...] [--built] [--all]
//   --tests  only these tests, without the programs
//   --built  with the addons that are there
//   --all    a platform that cannot be tried is a failure, and not only a loud line

import { spawn } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { standInForNode } from "./check-platforms.mjs";
import { FOREIGN_NODES, foreignFolder } from "./foreign-nodes.mjs";
import {
  addonFile,
  buildFacade,
  buildTestAddon,
  ensureDirectory,
  ensureInstalled,
  heading,
  isAddonCurrent,
  output,
  root,
  run,
} from "./lib.mjs";
import { packInto } from "./pack.mjs";
import { works } from "./programs.mjs";
import { testFiles } from "./unit-tests.mjs";

const PROGRAMS = ["esm.mjs", "cjs.cjs", "both.mjs", "worker.mjs", "adapters.mjs"];

/** What depends on the platform, and needs no broker, no browser and no compiler. */
const TESTS = [
  ...["access", "constants", "content-blocks", "envelopes", "error", "logging", "messages"],
  ...["native-boundary", "processes", "interop/", "call/", "http/", "hub/", "limits/", "mcp/", "openapi/"],
  ...["registry/", "schema/", "serve/", "sse/", "tools/", "transports/port", "transports/websocket"],
];

/** Hundreds of thousands of random cases, and documents of many megabytes: hours under an emulator. */
const TOO_LONG = /difference|real-documents|tools\/documents|random|chaos|memory|collected|ai-sdk|suite/;

/** Tests that ask for what an emulator lacks, with the reason. They run, and their failure is no failure of ours. */
const LACKING = {
  "win32-x64-msvc": {
    "links to a parent folder are not followed on this machine": "wine 8 cannot make symbolic links",
  },
};

const args = process.argv.slice(2);
const option = (name) => args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
const named = args.filter((arg) => !arg.startsWith("--"));
const leftOut = [];
const failures = [];
const summary = [];

/** Why a platform cannot be tried on this machine. */
function reasonToLeaveOut({ target, missing }) {
  if (process.platform !== "linux" || process.arch !== "x64") return "this works on Linux x64 only";
  if (!works("cargo-zigbuild", "--version")) return "pip install ziglang==0.17.0 cargo-zigbuild==0.24.0";
  const installed = output("rustup", ["target", "list", "--installed"]).split(/\s+/);
  return installed.includes(target) ? missing() : `rustup target add ${target}`;
}

function build({ target, oldestLibrary, library }, addon) {
  const isWindows = target.includes("windows");
  const linker = isWindows ? ["-C", `link-arg=${listOfExports()}`] : [];
  run(
    "cargo-zigbuild",
    [
      ...["rustc", "--package", "operations-napi", "--features", "test-hooks", "--locked"],
      ...["--target", target + (oldestLibrary ?? ""), "--", ...linker],
    ],
    { env: isWindows ? { LIBNODE_PATH: standInForNode() } : {} },
  );
  const folder = process.env.CARGO_TARGET_DIR ?? join(root, "target");
  copyFileSync(join(folder, target, "debug", library), addon);
  run(process.execPath, [join(root, "scripts", "check-addon.mjs"), addon]);
}

/** Otherwise zig exports everything, which is more than a library of Windows can hold. */
function listOfExports() {
  const file = join(ensureDirectory(join(root, "target", "libnode")), "exports.def");
  writeFileSync(file, "EXPORTS\n  napi_register_module_v1\n");
  return file;
}

/** Runs a program there. What it prints goes through files: wine cannot hand the pipes of Linux to a program of Windows. */
async function runThere({ command: [command, ...first], env, stop }, args, { cwd, folder, minutes }) {
  const files = ["stdout", "stderr"].map((name) => join(folder, name));
  const handles = files.map((file) => openSync(file, "w"));
  const child = spawn(command, [...first, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", ...handles],
    detached: true,
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    process.kill(-child.pid, "SIGKILL");
    stop?.();
  }, minutes * 60_000);
  const code = await new Promise((resolve) => child.on("close", resolve).on("error", () => resolve(-1)));
  clearTimeout(timer);
  for (const handle of handles) closeSync(handle);
  const [stdout, stderr] = files.map((file) => readFileSync(file, "utf8").replaceAll("\r\n", "\n"));
  return { code, isLate, stdout, stderr };
}

/** The programs of the package tests, from tarballs. npm has to be forced: it knows the platform that it runs on. */
async function runPrograms(triple, there, addon) {
  const folder = foreignFolder(triple);
  const project = join(folder, "project");
  rmSync(project, { recursive: true, force: true });
  cpSync(join(root, "__test__/package/fixtures"), ensureDirectory(project), { recursive: true });
  cpSync(join(root, "examples/mcp-server.mjs"), join(project, "mcp-server.mjs"));
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "user", private: true }));
  const packed = join(folder, "packed");
  packInto(packed, { [triple]: addon });
  const tarballs = output("ls", [packed])
    .trim()
    .split("\n")
    .map((file) => join(packed, file));
  run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", "--force", ...tarballs], {
    cwd: project,
  });
  let passed = 0;
  for (const program of PROGRAMS) {
    const { stdout, stderr } = await runThere(there, [program], { cwd: project, folder, minutes: 5 });
    const isFine = stdout.trim() === `${program.split(".")[0]} ok` && stderr === "";
    console.log(`${isFine ? "ok    " : "FAILED"}  ${program}`);
    if (isFine) passed += 1;
    else failures.push(`${triple}: ${program}\n${stdout}${stderr}`.trim());
  }
  return passed;
}

/** The tests, file by file. */
async function runTests(triple, there, { minutes = 5, tests = TESTS }) {
  const parts = option("tests")?.split(",") ?? tests.map((part) => `__test__/${part}`);
  const files = testFiles("__test__")
    .filter((file) => parts.some((part) => file.includes(part)))
    .filter((file) => option("tests") !== undefined || !TOO_LONG.test(file));
  const folders = new Map();
  for (const file of files) {
    const started = Date.now();
    const outcome = await runThere(there, ["--test-reporter=tap", file], {
      cwd: root,
      folder: foreignFolder(triple),
      minutes,
    });
    const seconds = ((Date.now() - started) / 1000).toFixed(0);
    const { pass, skipped, lacking, failed } = countsOf(outcome, LACKING[triple] ?? {});
    const folder = dirname(file);
    if (!folders.has(folder)) folders.set(folder, { files: 0, pass: 0, fail: 0, lacking: 0, skipped: 0 });
    add(folders.get(folder), { files: 1, pass, fail: failed.length, lacking: lacking.length, skipped });
    const counts = `${pass} passed, ${failed.length} failed, ${lacking.length} lacking, ${skipped} left out`;
    console.log(`${failed.length === 0 ? "ok    " : "FAILED"}  ${file}: ${counts} (${seconds} s)`);
    if (failed.length === 0) continue;
    failures.push(`${triple}: ${file}\n  ${failed.join("\n  ")}`);
    writeFileSync(
      join(ensureDirectory(join(foreignFolder(triple), "failed")), `${file.replaceAll("/", "_")}.txt`),
      outcome.stdout + outcome.stderr,
    );
  }
  return folders;
}

function add(sum, counts) {
  for (const [key, count] of Object.entries(counts)) sum[key] += count;
}

/** What became of the tests of a platform, folder by folder. */
function linesOf(triple, programs, folders) {
  const total = { files: 0, pass: 0, fail: 0, lacking: 0, skipped: 0 };
  for (const counts of folders.values()) add(total, counts);
  const line = (title, { files, pass, fail, lacking, skipped }) =>
    `${title}: ${pass} tests of ${files} files passed, ${fail} failed, ${lacking} lack something, ${skipped} left out`;
  return [
    ...[...folders].map(([folder, counts]) => line(`  ${folder}`, counts)),
    line(`${triple}: ${programs}`, total),
  ];
}

/** What became of the tests of a file. */
function countsOf({ code, isLate, stdout }, known) {
  const count = (key) => Number(new RegExp(`^# ${key} (\\d+)$`, "m").exec(stdout)?.[1] ?? 0);
  // A suite is not ok, too, if one of its tests is not.
  const notOk = stdout.matchAll(/^ *not ok \d+ - (.+)\n(?: +---\n.*\n +type: '(\w+)')?/gm);
  const names = [...notOk].filter(([, , type]) => type !== "suite").map(([, name]) => name);
  const failed = names.filter((name) => known[name] === undefined);
  if (isLate) failed.push("It did not end.");
  else if (code !== 0 && names.length === 0) failed.push(`It ended with ${code}.`);
  // Under wine a process that was killed may have ended with 0.
  else if (!/^# pass \d+$/m.test(stdout)) failed.push("It ended before it had counted its tests.");
  const lacking = names.filter((name) => known[name] !== undefined);
  return { pass: isLate ? passedSoFar(stdout) : count("pass"), skipped: count("skipped"), lacking, failed };
}

/** What passed in a file that did not end, and so has not counted itself. */
function passedSoFar(stdout) {
  const passed = stdout.matchAll(/^ *ok \d+ - .+\n +---\n.*\n +type: 'test'/gm);
  return [...passed].length;
}

for (const name of named.filter((name) => FOREIGN_NODES[name] === undefined)) {
  console.error(`${name} is not one of ${Object.keys(FOREIGN_NODES).join(", ")}`);
  process.exit(1);
}
ensureInstalled();
// The facade is put together with the addon of the machine at hand.
if (!isAddonCurrent()) buildTestAddon();
if (!args.includes("--built")) buildFacade();
for (const triple of named.length > 0 ? named : Object.keys(FOREIGN_NODES)) {
  const platform = FOREIGN_NODES[triple];
  const reason = reasonToLeaveOut(platform);
  if (reason !== undefined) {
    leftOut.push(`${triple}: ${reason}`);
    continue;
  }
  heading(`build for ${triple} (${platform.target})`);
  const addon = join(root, addonFile(triple));
  try {
    if (!args.includes("--built") || !existsSync(addon)) build(platform, addon);
    if (platform.prepare === undefined) {
      summary.push(`${triple}: built and linked; nothing here can run it`);
      continue;
    }
    heading(`run on ${triple}`);
    const there = await platform.prepare(foreignFolder(triple));
    const programs =
      option("tests") === undefined
        ? `${await runPrograms(triple, there, addon)} of ${PROGRAMS.length} programs`
        : "no programs";
    summary.push(...linesOf(triple, programs, await runTests(triple, there, platform)));
    there.stop?.();
  } finally {
    // A package that is made here must not hold it.
    if (!args.includes("--built")) rmSync(addon, { force: true });
  }
}
for (const each of failures) console.log(`\n${each}`);
console.log(`\n${summary.join("\n")}`);
for (const each of leftOut) console.error(`\x1b[1;33mLEFT OUT: ${each}\x1b[0m`);
if (failures.length > 0 || (leftOut.length > 0 && args.includes("--all"))) process.exit(1);
