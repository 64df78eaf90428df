// A stream of events next to `fetch` with `eventsource-parser`, both through `subscribe`: events per second, and how
// long the main thread works. The server is another process. `--events=N`, `--rounds=N`.

import { performance } from "node:perf_hooks";
import { subscribe } from "@alkdev/operations";
import { registries, startServer } from "./http-support.mjs";
import { clock, mainThreadTime } from "./main-thread.mjs";
import { report } from "./results.mjs";
import { median, printTable } from "./support.mjs";

const option = (name, usual) =>
  Number(process.argv.find((argument) => argument.startsWith(`--${name}=`))?.split("=")[1] ?? usual);
const EVENTS = option("events", 200_000);
const ROUNDS = option("rounds", 5);

const { baseUrl, stop } = await startServer();
const contestants = Object.entries(registries(baseUrl));
const results = { native: [], reference: [] };
for (let round = -1; round < ROUNDS; round++) {
  for (const [contestant, registry] of contestants) {
    const result = await measure(registry);
    // The first round warms up.
    if (round >= 0) results[contestant].push(result);
  }
}
stop();
const of = (contestant, field) => median(results[contestant].map((result) => result[field]));
const ratio = (field) => (of("native", field) / of("reference", field)).toFixed(2);
console.log(`${EVENTS} events a round, ${ROUNDS} rounds, main thread by ${clock}`);
printTable(
  ["", "fetch + eventsource-parser", "ours", "ratio"],
  [
    ["events/s", Math.round(of("reference", "rate")), Math.round(of("native", "rate")), ratio("rate")],
    [
      "main thread, us per event",
      of("reference", "thread").toFixed(2),
      of("native", "thread").toFixed(2),
      ratio("thread"),
    ],
  ],
);

report("sse.rate", { ours: of("native", "rate"), reference: of("reference", "rate") });
report("sse.main", { ours: of("native", "thread"), reference: of("reference", "thread") });

async function measure(registry) {
  globalThis.gc?.();
  let events = 0;
  const busy = mainThreadTime();
  const start = performance.now();
  for await (const { data } of subscribe(registry, "bench.events", { count: EVENTS }, {})) {
    if (data.index !== events++) throw new Error(`event ${data.index} came as number ${events}`);
  }
  const elapsed = performance.now() - start;
  if (events !== EVENTS) throw new Error(`${events} events came`);
  return { rate: (EVENTS / elapsed) * 1000, thread: ((mainThreadTime() - busy) / EVENTS) * 1000 };
}
