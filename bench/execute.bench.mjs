// `execute` next to the same pipeline in plain JavaScript on TypeBox (interpreted, compiled, and without
// checks: the floor) and to two peers, interleaved in one run.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import {
  CLOSED,
  COMPILED,
  closedPipeline,
  context,
  distinctOperations,
  FLOOR,
  inputsOfSize,
  libraries,
  peers,
  pipelines,
  plainName,
  REFERENCE,
  sizedOperation,
  sizes,
  standardPipelines,
} from "./execute-cases.mjs";
import { report as reportFigure } from "./results.mjs";
import { median, printTable } from "./support.mjs";

const OURS = "ours";
/** Many short rounds, and of those the quicker half's median: what else the machine does then counts little. */
const ROUNDS = 200;
const WARM_UP = 40;
const NANOSECONDS_PER_ROUND = 1_000_000;
const [mode, ...rest] = process.argv.slice(2);
if (mode === "--cold") await cold(...rest);
else if (mode === "--register") await registration(...rest);
else await report();

async function report() {
  const only = mode;
  const parts = { hot, closed, standard, sixty, cold: coldReport, register: registrationReport };
  for (const [name, part] of Object.entries(parts)) if (only === undefined || only === name) await part();
}

async function hot() {
  for (const size of sizes) {
    const contestants = Object.entries(pipelines).map(([name, make]) => [
      name,
      registered(make(), [sizedOperation(size)]),
    ]);
    const { contestants: others, stop } = size === "small" ? await peers() : { contestants: {} };
    contestants.push(...Object.entries(others));
    const inputs = inputsOfSize(size);
    const times = await interleaved(contestants, [{ id: `bench.${size}`, inputs }]);
    await stop?.();
    show(`hot, ${size}`, "ns per call", times);
    // The small one next to no checks at all; the others next to checks of the same kind.
    const reference = size === "small" ? FLOOR : COMPILED;
    const rate = (name) => 1e9 / median(times.get(name));
    reportFigure(`execute.${size}`, { ours: rate(OURS), reference: rate(reference) });
  }
}

/** Next to a pipeline that looks for undeclared properties of the output, as ours does. After the others, so that it changes
 * nothing about how V8 compiles them. */
async function closed() {
  for (const size of sizes.filter((each) => each !== "small")) {
    const contestants = [
      [CLOSED, registered(await closedPipeline(), [sizedOperation(size)])],
      [OURS, registered(pipelines[OURS](), [sizedOperation(size)])],
    ];
    const times = await interleaved(contestants, [{ id: `bench.${size}`, inputs: inputsOfSize(size) }]);
    const typical = (name) => median(times.get(name));
    printTable(
      [`hot, ${size}, undeclared properties are found`, "ns per call", "times the reference"],
      [...times.keys()].map((name) => [
        name,
        typical(name).toFixed(0),
        `${(typical(CLOSED) / typical(name)).toFixed(2)}x`,
      ]),
    );
    reportFigure(`execute.${size}.closed`, { ours: 1e9 / typical(OURS), reference: 1e9 / typical(CLOSED) });
  }
}

/** Operations whose schemas are checked by their own library, next to the library alone and to oRPC. */
async function standard() {
  for (const library of Object.keys(libraries)) {
    for (const size of sizes) {
      const contestants = Object.entries(await standardPipelines(library, size));
      contestants.push(["ours with TypeBox", registered(pipelines[OURS](), [sizedOperation(size)])]);
      const times = await interleaved(contestants, [{ id: `bench.${size}`, inputs: inputsOfSize(size) }]);
      const typical = (name) => median(times.get(name));
      const plain = typical(plainName(library));
      printTable(
        [`hot, ${size}, ${library} schemas`, "ns per call", `share of plain ${library}`],
        [...times.keys()].map((name) => [
          name,
          typical(name).toFixed(0),
          `${((100 * plain) / typical(name)).toFixed(0)} %`,
        ]),
      );
    }
  }
}

async function sixty() {
  const operations = distinctOperations(60);
  const contestants = Object.entries(pipelines).map(([name, make]) => [
    name,
    registered(
      make(),
      operations.map(({ operation }) => operation),
    ),
  ]);
  const times = await interleaved(contestants, operations);
  show("sixty distinct operations in turn", "ns per call", times);
}

async function coldReport() {
  const names = [REFERENCE, COMPILED, FLOOR, OURS];
  for (const size of ["distinct", ...sizes]) {
    const times = new Map(names.map((name) => [name, []]));
    for (let round = 0; round < 9; round++) {
      for (const name of names) times.get(name).push(Number(inChild("--cold", name, size)));
    }
    for (const [name, list] of times) times.set(name, quickerHalf(list));
    show(`cold, first ten calls of sixty operations, ${size}`, "us per operation", times, 1);
    if (size !== "distinct") continue;
    reportFigure("execute.cold", { ours: median(times.get(OURS)), reference: median(times.get(REFERENCE)) });
  }
}

/** In a process of its own: sixty operations that were never called, ten calls each. */
async function cold(name, size) {
  const operations =
    size === "distinct"
      ? distinctOperations(60)
      : Array.from({ length: 60 }, (_, i) => ({
          id: `bench.op${i}`,
          operation: sizedOperation(size, `op${i}`),
          inputs: inputsOfSize(size),
        }));
  const pipeline = registered(
    pipelines[name](),
    operations.map(({ operation }) => operation),
  );
  const start = process.hrtime.bigint();
  for (const { id, inputs } of operations) {
    for (let call = 0; call < 10; call++) await pipeline.execute(id, inputs[call % inputs.length], context);
  }
  console.log(Number(process.hrtime.bigint() - start) / 1000 / operations.length);
}

async function registrationReport() {
  const names = [REFERENCE, OURS];
  const rows = [];
  for (const size of ["small", "medium"]) {
    const runs = new Map(names.map((name) => [name, []]));
    for (let round = 0; round < 5; round++) {
      for (const name of names) runs.get(name).push(JSON.parse(inChild("--register", name, size)));
    }
    for (const [name, list] of runs) {
      const typical = (field) => median(list.map((run) => run[field]));
      rows.push([
        `${name}, ${size}`,
        typical("milliseconds").toFixed(1),
        (typical("registered") / 1024).toFixed(1),
        (typical("called") / 1024).toFixed(1),
      ]);
    }
  }
  printTable(["1,000 operations", "ms to register", "KiB resident each", "KiB each once called"], rows);
}

/** In a process of its own: a thousand operations. What is resident includes the native side. */
async function registration(name, size) {
  const operations = Array.from({ length: 1000 }, (_, i) => sizedOperation(size, `op${i}`));
  const [input] = inputsOfSize(size);
  // What the first operation costs (code, tables that all of them share) is not the price of each.
  const pipeline = registered(pipelines[name](), [sizedOperation(size, "first")]);
  for (let i = 0; i < 20; i++) await pipeline.execute("bench.first", input, context);
  const before = resident();
  const start = process.hrtime.bigint();
  for (const operation of operations) pipeline.register(operation);
  const milliseconds = Number(process.hrtime.bigint() - start) / 1e6;
  const atRest = resident() - before;
  for (let i = 0; i < 1000; i++) await pipeline.execute(`bench.op${i}`, input, context);
  const called = resident() - before;
  console.log(JSON.stringify({ milliseconds, registered: atRest / 1000, called: called / 1000 }));
}

function resident() {
  for (let i = 0; i < 3; i++) globalThis.gc();
  return process.memoryUsage().rss;
}

function registered(pipeline, operations) {
  for (const operation of operations) pipeline.register(operation);
  return pipeline;
}

async function interleaved(contestants, operations) {
  const times = new Map(contestants.map(([name]) => [name, []]));
  const calls = new Map(contestants.map(([name]) => [name, 500]));
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const [name, pipeline] of contestants) {
      const nanoseconds = await timeCalls(pipeline, operations, calls.get(name));
      if (round >= 0) times.get(name).push(nanoseconds);
      else calls.set(name, Math.max(operations.length, Math.round(NANOSECONDS_PER_ROUND / nanoseconds)));
    }
  }
  return new Map([...times].map(([name, list]) => [name, quickerHalf(list)]));
}

function quickerHalf(list) {
  return list.sort((a, b) => a - b).slice(0, list.length >> 1);
}

/** Nanoseconds per call, the operations in turn and their inputs in rotation. */
async function timeCalls(pipeline, operations, calls) {
  const start = process.hrtime.bigint();
  let done = 0;
  for (let turn = 0; done < calls; turn++) {
    for (let i = 0; i < operations.length && done < calls; i++, done++) {
      const { id, inputs } = operations[i];
      await pipeline.execute(id, inputs[turn % inputs.length], context);
    }
  }
  return Number(process.hrtime.bigint() - start) / calls;
}

function inChild(...args) {
  return execFileSync(process.execPath, ["--expose-gc", fileURLToPath(import.meta.url), ...args], {
    encoding: "utf8",
  });
}

function show(title, unit, times, digits = 0) {
  const typical = (name) => median(times.get(name));
  printTable(
    [title, unit, "times the reference", "share of the floor"],
    [...times.keys()].map((name) => [
      name,
      typical(name).toFixed(digits),
      `${(typical(REFERENCE) / typical(name)).toFixed(2)}x`,
      `${((100 * typical(FLOOR)) / typical(name)).toFixed(0)} %`,
    ]),
  );
}
