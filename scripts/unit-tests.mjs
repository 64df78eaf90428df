// npm run test:unit -- [part of a path ...]: the JavaScript tests, on what is built. With --watch (npm run test:watch)
// the facade is compiled whenever it changes, and the tests run that this concerns.

import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { BY_PLATFORM } from "../__test__/support/skips.mjs";
import { addonFile, attempt, ensureDirectory, isMain, root, seconds } from "./lib.mjs";

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

/** Runs test files and says what they left out. With CI=true that is a failure, unless the platform is the reason. */
export function runTests(files) {
  const list = join(ensureDirectory(join(root, "target")), "test-report.jsonl");
  const status = attempt(process.execPath, [
    "--test",
    // Node's own choice is one fewer, which on two cores leaves one idle: many tests wait.
    `--test-concurrency=${availableParallelism()}`,
    ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...["--test-reporter=./scripts/test-reporter.mjs", `--test-reporter-destination=${list}`],
    ...files,
  ]);
  const lines = readFileSync(list, "utf8").split("\n").filter(Boolean);
  const skips = lines.map((line) => JSON.parse(line));
  const { files: times = {} } = skips.pop() ?? {};
  printSlowest(times);
  if (status !== 0) process.exit(1);
  for (const { name, reason } of skips) console.log(`LEFT OUT: ${name} (${reason})`);
  const unexcused = skips.filter(({ reason }) => !BY_PLATFORM.test(reason));
  if (process.env.CI === "true" && unexcused.length > 0) {
    console.error(`\nfailed: with CI=true, ${unexcused.length} of these must run`);
    process.exit(1);
  }
}

function printSlowest(times) {
  const slowest = Object.entries(times).sort(([, one], [, other]) => other - one);
  console.log("\nThe slowest files:");
  for (const [file, time] of slowest.slice(0, 15)) console.log(`${seconds(time).padStart(8)}  ${file}`);
}

function watch(files) {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
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
  else runTests(files);
}
