// npm run test:unit -- [part of a path ...]: the JavaScript tests, on what is built. With --watch (npm run test:watch)
// the facade is compiled whenever it changes, and the tests run that this concerns.

import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { BY_PLATFORM } from "../__test__/support/skips.mjs";
import { addonFile, isMain, root, seconds } from "./lib.mjs";

/** The test files of a folder and, except for the package tests, of its subfolders. */
export function testFiles(folder) {
  const files = [];
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isFile() && entry.name.endsWith(".test.mjs")) files.push(path);
    if (entry.isDirectory() && entry.name !== "package") files.push(...testFiles(path));
  }
  return files.sort();
}

/** What takes longest begins first: else one core waits at the end for what the other has just begun. */
const SLOW = [
  "schema/difference",
  "tools/documents",
  "openapi/real-documents",
  "registry/difference",
  "nats/",
];

function slowFirst(files) {
  const rank = (file) => {
    const place = SLOW.findIndex((part) => file.replaceAll("\\", "/").includes(part));
    return place === -1 ? SLOW.length : place;
  };
  return files.toSorted((one, other) => rank(one) - rank(other));
}

/** Runs test files and says what they left out. With CI=true that is a failure, unless the platform is the reason. */
export async function runTests(files) {
  const skips = [];
  const times = new Map();
  let failures = 0;
  const events = run({
    files: slowFirst(files).map((file) => join(root, file)),
    concurrency: availableParallelism(),
    // Far beyond what any file takes: one that hangs is named, instead of holding the run for ever.
    timeout: 10 * 60_000,
  });
  const count = ({ file, nesting, details }) => {
    if (nesting === 0) times.set(file, (times.get(file) ?? 0) + details.duration_ms);
  };
  events.on("test:fail", (data) => {
    count(data);
    if (data.todo === undefined) failures += 1;
  });
  events.on("test:pass", (data) => {
    count(data);
    const reason = data.skip === true ? "no reason given" : data.skip;
    if (reason) skips.push({ name: data.name, reason });
  });
  for await (const text of events.compose(new spec())) process.stdout.write(text);
  printSlowest(times);
  for (const { name, reason } of skips) console.log(`LEFT OUT: ${name} (${reason})`);
  if (failures > 0) process.exit(1);
  const unexcused = skips.filter(({ reason }) => !BY_PLATFORM.test(reason));
  if (process.env.CI === "true" && unexcused.length > 0) {
    console.error(`\nfailed: with CI=true, ${unexcused.length} of these must run`);
    process.exit(1);
  }
}

function printSlowest(times) {
  const slowest = [...times].sort(([, one], [, other]) => other - one);
  console.log("\nThe slowest files:");
  for (const [file, time] of slowest.slice(0, 15)) {
    console.log(`${seconds(time).padStart(8)}  ${relative(root, file)}`);
  }
}

function watch(files) {
  const tsc = join(root, "node_modules", "typescript-7", "bin", "tsc");
  const programs = [
    [tsc, "-p", "facade", "--watch", "--preserveWatchOutput"],
    ["--test", "--watch", ...files],
  ];
  const children = programs.map((args) => spawn(process.execPath, args, { cwd: root, stdio: "inherit" }));
  for (const child of children) {
    child.on("exit", (code) => {
      for (const other of children) other.kill();
      process.exitCode ??= code ?? 1;
    });
  }
}

if (isMain(import.meta.url)) {
  const args = process.argv.slice(2);
  const parts = args.filter((arg) => arg !== "--watch");
  const files = testFiles("__test__").filter(
    (file) => parts.length === 0 || parts.some((part) => file.replaceAll("\\", "/").includes(part)),
  );
  if (files.length === 0) {
    console.error(`No test file has ${parts.join(" or ")} in its path.`);
    process.exit(1);
  }
  if (!existsSync(join(root, addonFile())) || !existsSync(join(root, "dist", "index.mjs"))) {
    console.error("Build first, as the tests need it: node scripts/build.mjs --profile ci");
    process.exit(1);
  }
  if (args.includes("--watch")) watch(files);
  else await runTests(files);
}
