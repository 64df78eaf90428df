// One way of running programs that call operations, for code.bench.mjs: node code-contestant.mjs ours|quickjs-emscripten|vm
// Each calls the same operation of a registry. What the others leave out (limits, waiting, other threads) is not added to them.

import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { OperationRegistry } from "@alkdev/operations";
import { createCodeRunner } from "@alkdev/operations/code";
import { Type } from "@sinclair/typebox";
import { answer } from "./rounds.mjs";

const registry = new OperationRegistry();
registry.register({
  namespace: "demo",
  name: "double",
  version: "1.0.0",
  type: "query",
  description: "Doubles",
  inputSchema: Type.Object({ n: Type.Number() }),
  outputSchema: Type.Number(),
  accessControl: { requiredScopes: [] },
  handler: ({ n }) => n * 2,
});
registry.register({
  ...registry.getSpec("demo.double"),
  name: "wait",
  approval: "always",
  handler: ({ n }) => n,
});
const call = async (json) => {
  const { id, input } = JSON.parse(json);
  // The others have no runs that wait: their machines stay as they are.
  if (id === "demo.wait") return new Promise(() => {});
  return JSON.stringify((await registry.execute(id, input, {})).data);
};
const PRELUDE = `const demo = {};
  for (const name of ["double", "wait"]) demo[name] = (input) => call(JSON.stringify({ id: "demo." + name, input })).then(JSON.parse);`;

/** `run` gives the value of a program; `hold` begins one that waits, and `release` lets all of these go. */
const CONTESTANTS = {
  async ours() {
    const dir = mkdtempSync(join(tmpdir(), "operations-bench-"));
    const runner = createCodeRunner(registry, { limits: { calls: 1e6, cpu: 60_000 }, store: { dir } });
    return {
      async run(source) {
        const { data, error } = await runner.run(source);
        if (error !== undefined) throw new Error(error.message);
        return data;
      },
      hold: (source) => runner.run(source),
      stored: () => readdirSync(dir).reduce((sum, file) => sum + statSync(join(dir, file)).size, 0),
      release: () => rmSync(dir, { recursive: true }),
    };
  },

  /** As Executor does: a machine in the host's own thread. */
  async "quickjs-emscripten"() {
    const { getQuickJS } = await import("quickjs-emscripten");
    const quickjs = await getQuickJS();
    const begin = (source) => {
      const machine = quickjs.newContext();
      const host = machine.newFunction("call", (given) => {
        const promise = machine.newPromise();
        call(machine.getString(given)).then((json) => {
          const value = machine.newString(json);
          promise.resolve(value);
          value.dispose();
          machine.runtime.executePendingJobs();
        });
        return promise.handle;
      });
      machine.setProp(machine.global, "call", host);
      host.dispose();
      const text = `${PRELUDE}(async () => {${source}\n})().then(JSON.stringify)`;
      const handle = machine.unwrapResult(machine.evalCode(text));
      return { machine, handle };
    };
    return {
      async run(source) {
        const { machine, handle } = begin(source);
        const ended = machine.resolvePromise(handle);
        machine.runtime.executePendingJobs();
        const value = machine.unwrapResult(await ended);
        const json = machine.getString(value);
        for (const each of [value, handle, machine]) each.dispose();
        return JSON.parse(json);
      },
      hold: async (source) => begin(source).machine.runtime.executePendingJobs(),
      release() {},
    };
  },

  /** No sandbox: what crosses the same border costs without one. */
  async vm() {
    const text = `const { parentPort } = require("node:worker_threads");
      const { runInNewContext } = require("node:vm");
      const pending = new Map();
      let last = 0;
      const call = (json) => new Promise((resolve) => { pending.set(++last, resolve); parentPort.postMessage({ n: last, json }); });
      parentPort.on("message", ({ n, json, source }) => {
        if (source === undefined) { pending.get(n)(json); return pending.delete(n); }
        runInNewContext(${JSON.stringify(PRELUDE)} + "(async () => {" + source + "\\n})().then(JSON.stringify)", { call })
          .then((value) => parentPort.postMessage({ value }));
      });`;
    const begin = (worker, source) =>
      new Promise((resolve) => {
        worker.removeAllListeners("message");
        worker.on("message", async ({ n, json, value }) => {
          if (n === undefined) return resolve(JSON.parse(value));
          worker.postMessage({ n, json: await call(json) });
        });
        worker.postMessage({ source });
      });
    const open = () => new Worker(text, { eval: true });
    const worker = open();
    const held = [];
    return {
      run: (source) => begin(worker, source),
      async hold(source) {
        const own = open();
        held.push(own);
        void begin(own, source);
        await new Promise((resolve) => own.once("online", resolve));
      },
      release: () => Promise.all(held.map((each) => each.terminate())),
    };
  },
};

const began = performance.now();
const contestant = await CONTESTANTS[process.argv[2]]();
const first = await contestant.run("return 1");
if (first !== 1) throw new Error(`return 1 gave ${first}`);
const cold = performance.now() - began;

const WORK = {
  async warm({ runs }) {
    const start = performance.now();
    for (let n = 0; n < runs; n++) await contestant.run("return 1");
    return { figure: (performance.now() - start) / runs };
  },
  async calls({ calls, atOnce }) {
    const source = `let sum = 0;
      for (let n = 0; n < ${calls}; n += ${atOnce})
        for (const each of await Promise.all(Array.from({ length: ${atOnce} }, () => demo.double({ n: 1 })))) sum += each;
      return sum`;
    const start = performance.now();
    const sum = await contestant.run(source);
    if (sum !== calls * 2) throw new Error(`The calls gave ${sum}`);
    return { figure: calls / ((performance.now() - start) / 1000) };
  },
  async waiting({ runs }) {
    globalThis.gc();
    const before = process.memoryUsage().rss;
    for (let n = 0; n < runs; n++) await contestant.hold("return await demo.wait({ n: 1 })");
    await new Promise((resolve) => setTimeout(resolve, 200));
    globalThis.gc();
    const result = { figure: process.memoryUsage().rss - before, stored: contestant.stored?.() ?? 0 };
    await contestant.release();
    return result;
  },
};
answer(({ what, ...task }) => WORK[what](task), { cold });
