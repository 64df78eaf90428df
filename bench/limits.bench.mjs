// What a limit costs a call: the same small operation without any, with each kind, and with a queue that is always full.
//
//   npm run bench -- limits [rounds]

import { OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { median, printTable } from "./support.mjs";

const ROUNDS = Number(process.argv[2] ?? 15);
const CALLS = 20_000;
const PLENTY = Number.MAX_SAFE_INTEGER;

const operation = (limits) => ({
  namespace: "bench",
  name: "add",
  version: "1.0.0",
  type: "query",
  description: "Adds",
  inputSchema: Type.Object({ a: Type.Number(), b: Type.Number() }),
  outputSchema: Type.Number(),
  accessControl: { requiredScopes: ["add"] },
  handler: ({ a, b }) => a + b,
  ...(limits && { limits }),
});

function registryOf(limits, options) {
  const registry = new OperationRegistry(options);
  registry.register(operation(limits));
  return registry;
}

const cases = {
  "no limits": registryOf(),
  concurrency: registryOf({ concurrency: 1_000 }),
  rate: registryOf({ rate: { calls: 1_000_000, per: 1 } }),
  timeout: registryOf({ concurrency: 1_000, timeout: 60_000 }),
  "operation and registry": registryOf({ concurrency: 1_000 }, { limits: { concurrency: 1_000 } }),
};
const context = { identity: { id: "ada", scopes: ["add"] } };

async function inTurn(registry) {
  const start = performance.now();
  for (let i = 0; i < CALLS; i++) await registry.execute("bench.add", { a: i, b: 1 }, context);
  return ((performance.now() - start) / CALLS) * 1e6;
}

/** All at once, sixteen at a time: most of them wait. */
async function queued(registry) {
  const start = performance.now();
  await Promise.all(
    Array.from({ length: CALLS }, (_, i) => registry.execute("bench.add", { a: i, b: 1 }, context)),
  );
  return ((performance.now() - start) / CALLS) * 1e6;
}

const handler = async ({ a, b }) => {
  await null;
  return a + b;
};
const waiting = new OperationRegistry();
waiting.register({ ...operation({ concurrency: 16, queue: PLENTY }), handler });
const free = new OperationRegistry();
free.register({ ...operation(), handler });

// The first limited call switches on what follows calls through `await`; measured apart, because all later promises pay for it.
const untouched = await (async () => {
  const times = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await inTurn(cases["no limits"]));
  return median(times);
})();

const times = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
const queues = { free: [], waiting: [] };
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, registry] of Object.entries(cases)) times[name].push(await inTurn(registry));
  queues.free.push(await queued(free));
  queues.waiting.push(await queued(waiting));
}
const base = median(times["no limits"]);
const row = (name, value, against) => [name, value.toFixed(0), (value - against).toFixed(0)];
printTable(
  ["calls in turn", "ns per call", "more than without"],
  [
    ["no limits, none in the process", untouched.toFixed(0), ""],
    ...Object.entries(times).map(([name, values]) => row(name, median(values), base)),
  ],
);
printTable(
  ["20,000 at once", "ns per call", "more than without"],
  [
    ["no limits", median(queues.free).toFixed(0), ""],
    row("16 at a time", median(queues.waiting), median(queues.free)),
  ],
);
