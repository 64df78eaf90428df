// What schemas that mean harm cost the JavaScript thread: for each attack the longest single call, in time of the
// processor, and how it ended. Each runs in a process of its own, which is ended after a minute.
//
// node bench/hostile-schemas.mjs [part of a name]

import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { attacks } from "./hostile-schema-cases.mjs";
import { printTable } from "./support.mjs";

const PATIENCE = 60_000;

/** What is shown beside the longest. */
const CALLS = ["compile", "first check", "walk", "errors", "normalise", "check", "exact", "json"];

const [mode, argument = ""] = process.argv.slice(2);
if (mode === "--one") one(argument);
else report(mode ?? "");

/** In a process of its own: prints one line for each kind of call. */
function one(name) {
  const require = createRequire(import.meta.url);
  const { FromSchema } = require("../dist/index.js");
  const { CompiledSchema } = require("../dist/schema/compiled.js");
  const attack = attacks[name];
  const value = attack.value();
  const text = JSON.stringify(value);
  const document = attack.schema();
  let compiled;
  const calls = {
    compile: () => {
      compiled = new CompiledSchema(FromSchema(document));
      return "compiled";
    },
    "first check": () => compiled.check(value),
    walk: () => compiled.walk(value),
    errors: () => `${compiled.errors(value).length} errors`,
    normalise: () => `${compiled.normalise(value).notes.length} notes`,
    emit: () => Object.values(compiled.warmUp()).join(),
    check: () => compiled.check(value),
    exact: () => compiled.isExact(value),
    json: () => compiled.checkJson(text),
  };
  for (const [call, run] of Object.entries(calls)) {
    console.log(JSON.stringify({ call }));
    const start = process.cpuUsage();
    let outcome;
    try {
      outcome = String(run());
    } catch (error) {
      outcome = error.details?.limit ?? error.message;
    }
    console.log(JSON.stringify({ call, took: spentSince(start), outcome }));
    if (compiled === undefined) return;
  }
}

/** The processor's time, in milliseconds: other work on the machine does not count. Helper threads do. */
function spentSince(start) {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

function report(wanted) {
  const rows = [];
  let longest = 0;
  for (const name of Object.keys(attacks).filter((name) => name.includes(wanted))) {
    const { stdout } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), "--one", name], {
      timeout: PATIENCE,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const last = lines.at(-1);
    const done = lines.filter((line) => line.took !== undefined);
    if (last.took === undefined) done.push({ ...last, took: Infinity, outcome: "ended by force" });
    // What runs beside the JavaScript thread is reported, but it delays nothing.
    const onThread = done.filter((line) => line.call !== "json");
    const worst = onThread.reduce((one, other) => (other.took > one.took ? other : one));
    longest = Math.max(longest, worst.took);
    const cell = (call) => {
      const line = done.find((each) => each.call === call);
      return line === undefined ? "-" : `${milliseconds(line.took)} ${line.outcome.slice(0, 12)}`;
    };
    rows.push([name, `${milliseconds(worst.took)} ${worst.call}`, ...CALLS.map(cell)]);
  }
  printTable(["attack", "longest, ms", ...CALLS], rows);
  console.log(`\nlongest stall: ${milliseconds(longest)} ms`);
}

function milliseconds(took) {
  if (took === undefined) return "-";
  return Number.isFinite(took) ? took.toFixed(1) : `more than ${PATIENCE}`;
}
