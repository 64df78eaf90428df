// npm run test:unit -- [part of a path ...]: the JavaScript tests, on the addon that is there. With --watch (npm run
// test:watch) the facade is compiled whenever it changes, and the tests run that this concerns. With --quick: as `npm test`
// runs them. With --install: brokers that are missing are installed.

import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { parseArgs } from "node:util";
import { BY_PLATFORM } from "../__test__/support/skips.mjs";
import { ensureBrokers } from "./brokers.mjs";
import { ensureSuite } from "./json-schema-suite.mjs";
import { addonFile, ensureFacade, ensureInstalled, isAddonCurrent, isMain, root, seconds } from "./lib.mjs";
import { isSlow, repeatLess } from "./tiers.mjs";

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

/** What takes longest begins first: else the run waits at its end for what has just begun. */
const SLOW = [
  "schema/difference",
  "tools/documents",
  "openapi/real-documents",
  "transports/",
  "http/",
  "mcp/delivery",
  "serve/mcp-tasks-redis",
  "nats/",
  "registry/difference",
  "cli/",
  "mcp/",
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
    // Most files wait for servers and timers most of their time. CI is patient, and starts fewer at once.
    concurrency: (process.env.CI === "true" ? 2 : 3) * availableParallelism(),
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
  const { values, positionals: parts } = parseArgs({
    allowPositionals: true,
    options: Object.fromEntries(["watch", "quick", "install"].map((name) => [name, { type: "boolean" }])),
  });
  const isWanted = (file) =>
    parts.length === 0
      ? !(values.quick && isSlow(file))
      : parts.some((part) => file.replaceAll("\\", "/").includes(part));
  const files = testFiles("__test__").filter(isWanted);
  if (files.length === 0) {
    console.error(`No test file has ${parts.join(" or ")} in its path.`);
    process.exit(1);
  }
  if (!existsSync(join(root, addonFile()))) {
    console.error("Build first, as the tests need it: npm run build:dev");
    process.exit(1);
  }
  ensureInstalled();
  ensureFacade();
  if (!isAddonCurrent()) console.error("The addon was built from other Rust sources: npm run build:dev");
  if (values.quick) repeatLess();
  if (values.install) {
    ensureBrokers({ wanted: true });
    ensureSuite();
  }
  if (values.watch) watch(files);
  else await runTests(files);
}
