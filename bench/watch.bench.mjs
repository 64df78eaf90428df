// What it costs per call to watch a registry, by each of the ways to do so, next to a call that is not watched.

import { fork } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { instrument } from "@alkdev/operations/otel";
import { serve } from "@alkdev/operations/serve";
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
  unwatched: () => nothing,
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
  ["watched by", "CPU ns per call", "more than unwatched"],
  contestants.map(({ name, times }) => [
    name,
    typical(times).toFixed(0),
    `${(typical(times) - typical(bare)).toFixed(0)} ns`,
  ]),
);

// The same for calls that are served without JavaScript: an imported operation behind the HTTP door.
const NATIVE_ROUNDS = 12;
const NATIVE_CALLS = 1_500;
const load = fork(new URL("watch-load.mjs", import.meta.url));
const [{ port }] = await once(load, "message");
const document = {
  openapi: "3.1.0",
  info: { title: "Items", version: "1" },
  paths: {
    "/items": {
      get: {
        operationId: "items",
        responses: {
          200: { description: "", content: { "application/json": { schema: { type: "object" } } } },
        },
      },
    },
  },
};

const lookers = {
  unwatched: ways.unwatched,
  'on("call")': ways['on("call")'],
  audit: ways.audit,
  "otel, spans in memory": ways["otel, spans in memory"],
  "use, one middleware (leaves the native path)": ways["use, one middleware"],
};
const natives = [];
for (const [name, watch] of Object.entries(lookers)) {
  const registry = new OperationRegistry();
  registry.registerAll(FromOpenAPI(document, { namespace: "api", baseUrl: `http://127.0.0.1:${port}` }));
  const served = await serve(registry, { doors: { http: true } });
  const stop = await watch(registry);
  natives.push({ name, stop, served, times: [] });
}
for (let round = 0; round < NATIVE_ROUNDS; round++) {
  for (const { served, times } of natives) {
    const before = process.cpuUsage();
    load.send({ url: `${served.url}/api/items`, calls: NATIVE_CALLS });
    await once(load, "message");
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / NATIVE_CALLS);
    exporter.reset();
  }
}
const typicalNative = (times) => median(times.slice(NATIVE_ROUNDS / 3));
const [{ times: unwatched }] = natives;
printTable(
  ["a served native call, watched by", "CPU µs per call", "more than unwatched"],
  natives.map(({ name, times }) => [
    name,
    typicalNative(times).toFixed(1),
    `${(typicalNative(times) - typicalNative(unwatched)).toFixed(1)} µs`,
  ]),
);
for (const { stop, served } of natives) {
  await stop();
  await served.close({ drain: 0 });
}
load.kill();
