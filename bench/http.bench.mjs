// Calls of imported operations next to the same pipeline on Node's `fetch`: requests per second, and how long the main
// thread works for each. 64 in flight, against a server in another process. `--requests=N` per round, `--rounds=N`.

import { performance } from "node:perf_hooks";
import { registries, startServer } from "./http-support.mjs";
import { clock, mainThreadTime } from "./main-thread.mjs";
import { report } from "./results.mjs";
import { median, printTable } from "./support.mjs";

const option = (name, usual) =>
  Number(process.argv.find((argument) => argument.startsWith(`--${name}=`))?.split("=")[1] ?? usual);
const REQUESTS = option("requests", 6000);
const ROUNDS = option("rounds", 7);
const IN_FLIGHT = 64;
const cases = {
  "GET, 200 bytes": ["bench.small", {}],
  "GET, 20 KB": ["bench.large", {}],
  "POST, 200 bytes": ["bench.post", { body: { name: "a pet", tags: ["x", "y"], weight: 3 } }],
};

const { baseUrl, stop } = await startServer();
const contestants = Object.entries(registries(baseUrl));
const rows = [];
for (const [name, [id, input]] of Object.entries(cases)) {
  const results = { native: [], reference: [] };
  for (let round = -1; round < ROUNDS; round++) {
    for (const [contestant, registry] of contestants) {
      const result = await measure(registry, id, input);
      // The first round warms up.
      if (round >= 0) results[contestant].push(result);
    }
  }
  const of = (contestant, field) => median(results[contestant].map((result) => result[field]));
  if (id === "bench.small") {
    report("http.small", { ours: of("native", "rate"), reference: of("reference", "rate") });
  }
  rows.push([
    name,
    Math.round(of("reference", "rate")),
    Math.round(of("native", "rate")),
    (of("native", "rate") / of("reference", "rate")).toFixed(2),
    of("reference", "thread").toFixed(1),
    of("native", "thread").toFixed(1),
    (of("native", "thread") / of("reference", "thread")).toFixed(2),
  ]);
}
stop();
console.log(
  `${IN_FLIGHT} in flight, ${REQUESTS} requests a round, ${ROUNDS} rounds, main thread by ${clock}`,
);
printTable(
  ["", "fetch req/s", "ours req/s", "ratio", "fetch us", "ours us", "ratio (main thread, per request)"],
  rows,
);

async function measure(registry, id, input) {
  globalThis.gc?.();
  let left = REQUESTS;
  const worker = async () => {
    while (left-- > 0) await registry.execute(id, input, {});
  };
  const busy = mainThreadTime();
  const start = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  const elapsed = performance.now() - start;
  return { rate: (REQUESTS / elapsed) * 1000, thread: ((mainThreadTime() - busy) / REQUESTS) * 1000 };
}
