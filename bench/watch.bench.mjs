// What it costs per call to watch a registry, by each of the ways to do so, next to a call that nobody watches.

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { OperationRegistry } from "@alkdev/operations";
import { instrument } from "@alkdev/operations/otel";
import { configure, reset } from "@logtape/logtape";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { context, inputsOfSize, sizedOperation } from "./execute-cases.mjs";
import { median, printTable } from "./support.mjs";

const ROUNDS = 60;
const CALLS = 2_000;
const nothing = () => {};
const inputs = inputsOfSize("small");

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const log = () =>
  configure({
    sinks: { nowhere: nothing },
    loggers: [
      { category: ["operations"], sinks: ["nowhere"], lowestLevel: "debug" },
      { category: ["logtape", "meta"], sinks: [] },
    ],
  });

/** Ways to watch: each returns how to stop. */
const ways = {
  nobody: () => nothing,
  "use, one middleware": (registry) => registry.use((_, next) => next()),
  "use, five": (registry) => {
    const removes = Array.from({ length: 5 }, () => registry.use((_, next) => next()));
    return () => removes.forEach((remove) => void remove());
  },
  'on("call")': (registry) => registry.on("call", nothing),
  audit: (registry) => registry.audit(nothing),
  "diagnostics channel": () => {
    subscribe("operations:call", nothing);
    return () => unsubscribe("operations:call", nothing);
  },
  "log at debug": async () => {
    await log();
    return reset;
  },
  "otel, no SDK": (registry) => instrument(registry),
  "otel, spans in memory": (registry) => instrument(registry, { tracer: provider.getTracer("bench") }),
};

const contestants = Object.entries(ways).map(([name, watch]) => {
  const registry = new OperationRegistry();
  registry.register(sizedOperation("small"));
  return { name, watch, registry, times: [] };
});

// Interleaved, and in time of the processor: what else the machine does counts little.
for (let round = 0; round < ROUNDS; round++) {
  for (const { watch, registry, times } of contestants) {
    const stop = await watch(registry);
    const before = process.cpuUsage();
    for (let i = 0; i < CALLS; i++) await registry.execute("bench.small", inputs[i % inputs.length], context);
    const { user, system } = process.cpuUsage(before);
    times.push(((user + system) * 1_000) / CALLS);
    await stop();
    exporter.reset();
  }
}

const typical = (times) => median(times.slice(ROUNDS / 3));
const [{ times: bare }] = contestants;
printTable(
  ["watched by", "CPU ns per call", "more than nobody"],
  contestants.map(({ name, times }) => [
    name,
    typical(times).toFixed(0),
    `${(typical(times) - typical(bare)).toFixed(0)} ns`,
  ]),
);
