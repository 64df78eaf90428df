// Resident memory over a million mixed calls: valid and invalid ones, handlers that throw, outputs that
// have to be normalised, streams that are broken off, registries that are made, used and dropped. After a
// warm-up it must stay where it is.

import { OperationRegistry, subscribe } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { context, inputsOfSize, sizedOperation } from "./execute-cases.mjs";
import { printTable } from "./support.mjs";

const CALLS = Number(process.argv[2] ?? 1_000_000);
const STEPS = 10;
const AIM = 25;
/** One registry for so many calls is made and dropped. */
const CALLS_PER_REGISTRY = 500;

if (globalThis.gc === undefined) throw new Error("run with --expose-gc");

let made = 0;
let collected = 0;
let opened = 0;
let closed = 0;
const watched = new FinalizationRegistry(() => {
  collected++;
});

const [small] = inputsOfSize("small");
const [medium] = inputsOfSize("medium");
const tooMuch = { ...small, undeclared: "goes" };
const wrong = { ...small, id: "7" };

/** A registry with operations of its own: fresh schemas, which are compiled anew. */
function freshRegistry() {
  const registry = new OperationRegistry();
  registry.registerAll([
    sizedOperation("small"),
    sizedOperation("medium"),
    { ...sizedOperation("small", "throws"), handler: () => Promise.reject(new Error("on purpose")) },
    { ...sizedOperation("small", "generous"), handler: () => tooMuch },
    {
      ...sizedOperation("small", "stream"),
      type: "subscription",
      inputSchema: Type.Object({}),
      async *handler() {
        opened++;
        try {
          for (;;) yield small;
        } finally {
          closed++;
        }
      },
    },
  ]);
  made++;
  watched.register(registry, undefined);
  return registry;
}

async function rejected(promise) {
  try {
    await promise;
  } catch {
    return;
  }
  throw new Error("must be rejected");
}

/** Breaks off a stream after three values. */
async function breakOff(registry) {
  let seen = 0;
  for await (const _ of subscribe(registry, "bench.stream", {}, context)) if (++seen === 3) break;
}

/** Ten calls, and how many of them there were. */
async function mixedCalls(registry) {
  await registry.execute("bench.small", small, context);
  await registry.execute("bench.small", small, context);
  await registry.execute("bench.medium", medium, context);
  await registry.execute("bench.medium", medium, context);
  await registry.execute("bench.generous", small, context);
  await rejected(registry.execute("bench.small", wrong, context));
  await rejected(registry.execute("bench.small", small, {}));
  await rejected(registry.execute("bench.missing", small, context));
  await rejected(registry.execute("bench.throws", small, context));
  await breakOff(registry);
  return 10;
}

async function mixed(calls) {
  const lasting = freshRegistry();
  let passing = freshRegistry();
  for (let done = 0, since = 0; done < calls; ) {
    if (since >= CALLS_PER_REGISTRY) {
      passing = freshRegistry();
      since = 0;
    }
    const count = (await mixedCalls(lasting)) + (await mixedCalls(passing));
    done += count;
    since += count;
  }
}

/** Resident memory in MB, when everything that can be collected has been. */
async function settledMemory() {
  for (let i = 0; i < 5; i++) {
    globalThis.gc();
    // Finalisers, the native ones too, run between turns of the event loop.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return process.memoryUsage().rss / 1e6;
}

await mixed(CALLS / 5);
const start = await settledMemory();
const madeBefore = made;
const collectedBefore = collected;
const rows = [["after warm-up", start.toFixed(1), "", ""]];
let highest = start;
for (let step = 1; step <= STEPS; step++) {
  await mixed(CALLS / STEPS);
  const now = await settledMemory();
  highest = Math.max(highest, now);
  rows.push([
    `${((CALLS / STEPS) * step).toLocaleString("en")} calls`,
    now.toFixed(1),
    (now - start).toFixed(1),
    `${collected - collectedBefore} of ${made - madeBefore}`,
  ]);
}
printTable(["mixed calls", "resident MB", "growth MB", "dropped registries collected"], rows);
console.log(
  `\nStreams broken off: ${opened.toLocaleString("en")}; handlers' cleanups: ${closed.toLocaleString("en")}.`,
);
console.log(
  `The most was ${(highest - start).toFixed(1)} MB above the start; the aim is less than ${AIM} MB.`,
);
if (highest - start >= AIM || opened !== closed) process.exitCode = 1;
