// npm run bench -- <name>: one benchmark of bench/, on a release build. Without a name: all of them, and then the table of
// bench/aims.mjs with what was measured, which is also kept as bench/results.json (bench/plot.mjs draws it).
//
//   npm run bench -- --table    only the benchmarks that the table needs
//   npm run bench -- --no-build [name]    with the addon that is there

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { buildAddon, buildFacade, ensureInstalled, root, run } from "./lib.mjs";

/** Benchmarks that report figures for the table, with their arguments. */
const TABLE = {
  execute: [],
  mcp: [],
  call: ["nats"],
  sse: [],
  http: [],
  import: ["5"],
  load: [],
  tools: [],
  "serve-mcp": [],
  serve: [],
  hub: [],
};

const flags = process.argv.slice(2).filter((arg) => arg === "--table" || arg === "--no-build");
const [name, ...args] = process.argv.slice(2).filter((arg) => !flags.includes(arg));
const available = readdirSync(join(root, "bench"))
  .filter((file) => file.endsWith(".bench.mjs"))
  .map((file) => file.replace(".bench.mjs", ""));
const wanted =
  name !== undefined
    ? [name]
    : flags.includes("--table")
      ? available.filter((each) => Object.hasOwn(TABLE, each))
      : available;
if (wanted.some((each) => !existsSync(join(root, "bench", `${each}.bench.mjs`)))) {
  console.error(`No benchmark called ${name}. There are: ${available.join(", ")}`);
  process.exit(1);
}

if (!flags.includes("--no-build")) {
  ensureInstalled();
  buildAddon({ profile: "release" });
  buildFacade();
}

const folder = mkdtempSync(join(tmpdir(), "operations-bench-"));
process.env.OPERATIONS_BENCH_RESULTS = join(folder, "results.jsonl");
writeFileSync(process.env.OPERATIONS_BENCH_RESULTS, "");
try {
  for (const each of wanted) {
    const given = name === undefined && flags.includes("--table") ? TABLE[each] : args;
    run(process.execPath, ["--expose-gc", join(root, "bench", `${each}.bench.mjs`), ...given]);
  }
  const { printRows, rowsOf } = await import("../bench/results.mjs");
  const rows = rowsOf(process.env.OPERATIONS_BENCH_RESULTS);
  if (rows.some(({ value }) => value !== undefined)) {
    printRows(name === undefined ? rows : rows.filter(({ value }) => value !== undefined));
  }
  if (name === undefined) keep(rows);
} finally {
  rmSync(folder, { recursive: true });
}

/** The figures with what they were measured on: ratios carry over to other machines, times do not. */
function keep(rows) {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const machine = {
    cores: cpus().length,
    platform: `${process.platform}-${process.arch}`,
    node: process.version,
  };
  const results = { date: new Date().toISOString().slice(0, 10), version, machine, rows };
  writeFileSync(join(root, "bench/results.json"), `${JSON.stringify(results, null, 2)}\n`);
  console.log("\nbench/results.json is written; node bench/plot.mjs draws the charts.");
}
