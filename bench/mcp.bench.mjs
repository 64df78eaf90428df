// MCP tools next to the protocol's own TypeScript SDK, with the same server, interleaved in one run.
//
//   npm run bench -- mcp            all parts
//   npm run bench -- mcp calls      one part: connect, everything, calls, load
//   npm run bench -- mcp --quick    small counts, to see that it works
//
// "Main thread" is the CPU time of the thread that runs JavaScript: what an application cannot use for
// anything else. "Whole process" adds the native threads and V8's helpers, so that work which merely moved
// to another thread is seen too.

import { readFileSync } from "node:fs";
import { clientsOf, everything, loads, OURS, SDK } from "./mcp-contestants.mjs";
import { report } from "./results.mjs";
import { compared } from "./rounds.mjs";
import { median, printTable } from "./support.mjs";

const args = process.argv.slice(2);
const isQuick = args.includes("--quick");
const only = args.find((arg) => !arg.startsWith("--"));
const rounds = isQuick ? 3 : 15;
const IN_FLIGHT = 32;
const SERVERS = 10;

const clients = clientsOf();
const parts = { connect, everything: echo, calls, load };
if (only !== undefined && !Object.hasOwn(parts, only)) {
  console.error(`No part called ${only}. There are: ${Object.keys(parts).join(", ")}`);
  process.exit(1);
}
for (const [name, part] of Object.entries(parts)) if (only === undefined || only === name) await part();

/** From nothing to a list of tools. Starting Node for the server is part of it, for everyone. */
async function connect() {
  const times = measurements(Object.keys(clients));
  for (let round = -1; round < rounds; round++) {
    for (const [name, open] of Object.entries(clients)) {
      const start = performance.now();
      const client = await open();
      const milliseconds = performance.now() - start;
      if (client.tools !== 30) throw new Error(`${name} found ${client.tools} tools`);
      await client.close();
      if (round >= 0) times.get(name).push(milliseconds);
    }
  }
  compare("start, connect and list", times);
}

/** Calls of a real server. */
async function echo() {
  const count = isQuick ? 200 : 2_000;
  const shared = { tool: "echo", input: { message: "hello" }, count };
  await compareCalls(clientsOf(everything), [
    { ...shared, title: "server-everything, echo, one at a time", inFlight: 1, rate: "mcp.everything.one" },
    {
      ...shared,
      title: `server-everything, echo, ${IN_FLIGHT} in flight`,
      inFlight: IN_FLIGHT,
      rate: "mcp.everything.many",
      main: "mcp.everything.main",
    },
  ]);
}

/** Calls of a server that does as little as possible. */
async function calls() {
  const small = { tool: "small", input: { text: "hello" } };
  const cases = [
    { ...small, title: "small result, one at a time", inFlight: 1, count: isQuick ? 200 : 2_000 },
    {
      ...small,
      title: `small result, ${IN_FLIGHT} in flight`,
      inFlight: IN_FLIGHT,
      count: isQuick ? 500 : 6_000,
    },
    // 70 bytes a row: 140 bytes to 1 MB.
    ...[2, 15, 150, 1_000, 15_000].flatMap((count) =>
      [1, IN_FLIGHT].map((inFlight) => ({
        title: `${count.toLocaleString("en")} rows, ${inFlight === 1 ? "one at a time" : `${IN_FLIGHT} in flight`}`,
        tool: "table",
        input: { rows: count },
        inFlight,
        count: Math.ceil((isQuick ? 20_000 : 150_000) / Math.max(count, 150)),
        ...(inFlight === 1 && { rate: "mcp.rows", main: "mcp.rows.main", isUsual: count === 1_000 }),
      })),
    ),
  ];
  await compareCalls(clients, cases);
}

async function compareCalls(contestants, cases) {
  const opened = new Map();
  for (const [name, open] of Object.entries(contestants)) opened.set(name, await open());
  /** What was measured for each row of the table. */
  const rows = new Map();
  for (const { title, tool, input = {}, inFlight, count, rate, main, isUsual = true } of cases) {
    const runs = measurements(opened.keys());
    for (let round = -2; round < rounds; round++) {
      for (const [name, client] of opened) {
        globalThis.gc?.();
        const run = await timed(client, tool, input, inFlight, count);
        if (round >= 0) runs.get(name).push(run);
      }
    }
    showCalls(title, runs);
    // As users call it: with the checks and the envelope that the SDK does not have.
    const results = Object.fromEntries(runs);
    for (const [key, field] of [
      [rate, "perSecond"],
      [main, "main"],
    ]) {
      if (key === undefined) continue;
      const figures = { name: title, ...compared(results, OURS, SDK, field) };
      const row = rows.get(key) ?? rows.set(key, { cases: [] }).get(key);
      row.cases.push(figures);
      if (isUsual) row.usual = figures;
    }
  }
  for (const [key, { usual, cases }] of rows) report(key, usual, cases);
  for (const client of opened.values()) await client.close();
}

async function timed({ call }, tool, input, inFlight, count) {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await call(tool, input);
  };
  const mainBefore = mainThreadNanoseconds();
  const processBefore = process.cpuUsage();
  const start = process.hrtime.bigint();
  await Promise.all(Array.from({ length: inFlight }, worker));
  const nanoseconds = Number(process.hrtime.bigint() - start);
  const { user, system } = process.cpuUsage(processBefore);
  return {
    perSecond: (count * 1e9) / nanoseconds,
    main: (mainThreadNanoseconds() - mainBefore) / 1000 / count,
    whole: (user + system) / count,
  };
}

function showCalls(title, runs) {
  const typical = (name, field) => median(runs.get(name).map((run) => run[field]));
  printTable(
    [title, "calls/s", "times the SDK", "main thread us", "of the SDK's", "whole process us", "of the SDK's"],
    [...runs.keys()].map((name) => [
      name,
      typical(name, "perSecond").toFixed(0),
      `${(typical(name, "perSecond") / typical(SDK, "perSecond")).toFixed(2)}x`,
      typical(name, "main").toFixed(1),
      `${((100 * typical(name, "main")) / typical(SDK, "main")).toFixed(0)} %`,
      typical(name, "whole").toFixed(1),
      `${((100 * typical(name, "whole")) / typical(SDK, "whole")).toFixed(0)} %`,
    ]),
  );
}

/** Ten servers: such as begin at once (then starting ten times Node is what counts, and the cores are the
 * limit), and such as need some time for themselves. */
async function load() {
  for (const startUp of [0, 300]) {
    const times = measurements(Object.keys(loads));
    for (let round = 0; round < (isQuick ? 1 : 7); round++) {
      for (const [name, open] of Object.entries(loads)) {
        const start = performance.now();
        const close = await open(SERVERS, startUp);
        times.get(name).push(performance.now() - start);
        await close();
      }
    }
    compare(`${SERVERS} servers, connected and listed, ${startUp} ms to get ready`, times);
  }
}

function measurements(names) {
  return new Map([...names].map((name) => [name, []]));
}

/** Milliseconds, against the first. */
function compare(title, times) {
  const typical = (name) => median(times.get(name));
  const [reference] = times.keys();
  printTable(
    [title, "ms", "times as fast"],
    [...times.keys()].map((name) => [
      name,
      typical(name).toFixed(1),
      `${(typical(reference) / typical(name)).toFixed(2)}x`,
    ]),
  );
}

/** CPU time of the thread that runs this, by the best clock that there is. */
function mainThreadNanoseconds() {
  if (typeof process.threadCpuUsage === "function") {
    const { user, system } = process.threadCpuUsage();
    return (user + system) * 1000;
  }
  if (process.platform === "linux") {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]);
  }
  // Time in which the event loop was not idle: it also counts time in which the thread waited for a core.
  return performance.eventLoopUtilization().active * 1e6;
}
