// The call protocol: in the process next to the same protocol in plain JavaScript and to Moleculer, interleaved in one
// run; over NATS next to Moleculer with 1, 2 and 4 worker processes; over Redis next to the event target of GraphQL Yoga. `OPERATIONS_BENCH_SCALE=0.1` makes it shorter.

import { fork } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { missingBroker, startNats, startRedis } from "../__test__/support/brokers.mjs";
import { ID, localContestants, natsCallers, REFERENCE, redisCallers } from "./call-cases.mjs";
import { inputsOf, inputsOfSize, values } from "./execute-cases.mjs";
import { report } from "./results.mjs";
import { median, printTable } from "./support.mjs";

const SCALE = Number(process.env.OPERATIONS_BENCH_SCALE ?? 1);
const ROUNDS = Math.max(4, Math.round(60 * SCALE));
const CALLS = 2000;
const IN_FLIGHT = 100;
const FAR_ROUNDS = Math.max(2, Math.round(10 * SCALE));
const FAR_CALLS = Math.max(500, Math.round(10_000 * SCALE));
const IN_FLIGHT_FAR = 256;
/** Bytes of an input, which is also the output. */
const SIZES = [100, 10_000];
const FAR_LATENCIES = Math.max(200, Math.round(2000 * SCALE));

const parts = { local, machine, nats, redis };
const only = process.argv[2];
for (const [name, part] of Object.entries(parts)) if (only === undefined || only === name) await part();

/** In the process, one call after the other and many at a time. */
async function local() {
  const { contestants, stop } = await localContestants();
  const inputs = inputsOfSize("small");
  for (const [title, run] of [
    ["in the process, one after the other", sequentially],
    [`in the process, ${IN_FLIGHT} in flight`, together],
  ]) {
    const times = new Map(Object.keys(contestants).map((name) => [name, []]));
    for (let round = -2; round < ROUNDS; round++) {
      for (const [name, call] of Object.entries(contestants)) {
        const nanoseconds = await run(call, inputs);
        if (round >= 0) times.get(name).push(nanoseconds);
      }
    }
    const typical = (name) => median(quickerHalf(times.get(name)));
    printTable(
      [title, "ns per call", "calls per second", "times the plain one"],
      [...times.keys()].map((name) => [
        name,
        typical(name).toFixed(0),
        Math.round(1e9 / typical(name)).toLocaleString("en"),
        `${(typical(REFERENCE) / typical(name)).toFixed(2)}x`,
      ]),
    );
  }
  await stop();
}

/** What the state machine alone would cost, if each event crossed into Rust: a request and its answer. */
function machine() {
  const { native } = createRequire(import.meta.url)("../dist/runtime.js");
  if (native.CallMachine === undefined) {
    console.log("\nmachine: left out; it needs a build with the feature test-hooks (npm run build:dev)");
    return;
  }
  const requests = new native.CallMachine(65_536);
  const pending = new Map();
  const ids = Array.from({ length: CALLS }, () => crypto.randomUUID());
  const contestants = {
    "a Map in JavaScript": (id) => {
      pending.set(id, { operationId: ID, id });
      return pending.delete(id);
    },
    "open and answer in Rust": (id) => {
      requests.open(0, id, ID, undefined, false, undefined);
      return requests.answer(0, id, "responded");
    },
  };
  const times = new Map(Object.keys(contestants).map((name) => [name, []]));
  for (let round = -2; round < ROUNDS; round++) {
    for (const [name, call] of Object.entries(contestants)) {
      const start = process.hrtime.bigint();
      for (const id of ids) call(id);
      if (round >= 0) times.get(name).push(Number(process.hrtime.bigint() - start) / CALLS);
    }
  }
  printTable(
    ["the state machine alone", "ns per call"],
    [...times].map(([name, list]) => [name, median(quickerHalf(list)).toFixed(0)]),
  );
}

/** Across processes. */
async function nats() {
  if (missingBroker("nats-server")) return;
  const broker = await startNats();
  const throughput = [];
  const latency = [];
  try {
    for (const count of [1, 2, 4]) {
      const workers = ["ours", "moleculer"].flatMap((kind) =>
        Array.from({ length: count }, (_, i) => startWorker(kind, broker.url, `${kind}-${count}-${i}`)),
      );
      await Promise.all(workers.map((worker) => once(worker, "message")));
      const { callers, isReady, stop } = await natsCallers(broker.url);
      await isReady();
      const cases = { rates: [], waits: [] };
      for (const bytes of SIZES) {
        const name = `${count} worker${count === 1 ? "" : "s"}, ${bytes} bytes`;
        const inputs = inputsOf({ ...values.small, name: "x".repeat(bytes - 40) });
        const rows = await compare(callers, "moleculer", `, ${name}`, inputs);
        for (const [what, list] of Object.entries(cases)) {
          list.push({ name, ours: rows[what].get("ours"), reference: rows[what].get("moleculer") });
        }
        throughput.push(...rows.throughput);
        latency.push(...rows.latency);
      }
      report(`nats.workers.${count}`, cases.rates[0], cases.rates);
      if (count === 1) report("nats.latency", cases.waits[0], cases.waits);
      await stop();
      await Promise.all(workers.map(stopWorker));
    }
  } finally {
    await broker.stop();
  }
  printTable([`over NATS, ${IN_FLIGHT_FAR} in flight`, "calls per second", "times Moleculer"], throughput);
  printTable(["over NATS, one after the other", "p50 us", "p95 us", "p99 us"], latency);
}

/** Over Redis, both sides in this process, next to the event target of GraphQL Yoga. */
async function redis() {
  if (missingBroker("redis-server")) return;
  const broker = await startRedis();
  const { callers, stop } = await redisCallers(broker.url);
  try {
    // Until both servers listen.
    const [input] = inputsOfSize("small");
    for (const call of Object.values(callers)) {
      while (!(await call(input, { deadline: Date.now() + 200 }).catch(() => false)));
    }
    const { throughput, latency } = await compare(callers, "yoga", "");
    printTable(
      [`over Redis, ${IN_FLIGHT_FAR} in flight`, "calls per second", "times Yoga's target"],
      throughput,
    );
    printTable(["over Redis, one after the other", "p50 us", "p95 us", "p99 us"], latency);
  } finally {
    await stop();
    await broker.stop();
  }
}

/** Throughput and latency of callers, interleaved. */
async function compare(callers, reference, suffix, inputs = inputsOfSize("small")) {
  const rates = new Map(Object.keys(callers).map((name) => [name, []]));
  const waits = new Map(Object.keys(callers).map((name) => [name, []]));
  for (let round = -1; round < FAR_ROUNDS; round++) {
    for (const [name, call] of Object.entries(callers)) {
      const rate = await callsPerSecond(call, inputs);
      const wait = await latencies(call, inputs[0]);
      if (round < 0) continue;
      rates.get(name).push(rate);
      waits.get(name).push(...wait);
    }
  }
  const throughput = [];
  const latency = [];
  for (const name of Object.keys(callers)) {
    const rate = median(rates.get(name));
    const ratio = `${(rate / median(rates.get(reference))).toFixed(2)}x`;
    throughput.push([name + suffix, Math.round(rate).toLocaleString("en"), ratio]);
    latency.push([
      name + suffix,
      ...[50, 95, 99].map((percent) => percentile(waits.get(name), percent).toFixed(0)),
    ]);
  }
  const each = (figures, of) => new Map([...figures].map(([name, list]) => [name, of(list)]));
  return {
    ...{ throughput, latency },
    ...{ rates: each(rates, median), waits: each(waits, (list) => percentile(list, 50)) },
  };
}

function startWorker(...args) {
  return fork(fileURLToPath(new URL("./call-worker.mjs", import.meta.url)), args, { execArgv: [] });
}

async function stopWorker(worker) {
  const ended = once(worker, "exit");
  worker.disconnect();
  await ended;
}

async function sequentially(call, inputs) {
  const start = process.hrtime.bigint();
  for (let i = 0; i < CALLS; i++) await call(inputs[i % inputs.length]);
  return Number(process.hrtime.bigint() - start) / CALLS;
}

async function together(call, inputs) {
  const start = process.hrtime.bigint();
  for (let done = 0; done < CALLS; done += IN_FLIGHT) {
    const calls = [];
    for (let i = 0; i < IN_FLIGHT; i++) calls.push(call(inputs[i % inputs.length]));
    await Promise.all(calls);
  }
  return Number(process.hrtime.bigint() - start) / CALLS;
}

async function callsPerSecond(call, inputs) {
  const start = process.hrtime.bigint();
  let left = FAR_CALLS;
  const keepCalling = async () => {
    while (left-- > 0) await call(inputs[left & 7]);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT_FAR }, keepCalling));
  return FAR_CALLS / (Number(process.hrtime.bigint() - start) / 1e9);
}

/** Microseconds of calls that are made one after the other. */
async function latencies(call, input) {
  const times = [];
  for (let i = 0; i < FAR_LATENCIES; i++) {
    const start = process.hrtime.bigint();
    await call(input);
    times.push(Number(process.hrtime.bigint() - start) / 1000);
  }
  return times;
}

function quickerHalf(list) {
  return list.sort((a, b) => a - b).slice(0, Math.max(1, list.length >> 1));
}

function percentile(list, percent) {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))];
}
