// npm run soak: everything at once for ten minutes (`-- --minutes 1` for less). Calls and streams in the process, over a
// port, NATS and Redis reach local operations, an HTTP server that fails, event streams and an MCP server, among hostile
// events. Prints the slopes of memory, handles and event-loop delay, and fails if a call has no outcome or a wrong one, or
// if something grows. Needs a built addon; a broker that is not installed is left out, and that is said.

import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { MessageChannel } from "node:worker_threads";
import { Type } from "@sinclair/typebox";
import { missingBroker, startNats, startRedis } from "../__test__/support/brokers.mjs";

const at = process.argv.indexOf("--minutes");
const minutes = at === -1 ? 10 : Number(process.argv[at + 1]);
if (!(minutes > 0)) throw new Error("--minutes must be a number above 0");
const AT_ONCE = 32;

const { buildCallHandler, closeMCPClient, createMCPClient, createPortEventTarget, FromOpenAPI } =
  await import("@alkdev/operations");
const { OperationRegistry, PendingRequestMap } = await import("@alkdev/operations");
const { connectNats } = await import("@alkdev/operations/transport-nats");
const { createRedisEventTarget } = await import("@alkdev/operations/transport-redis");

/** What is to be undone at the end, the last first. */
const endings = [];

// What is called.

const local = (name, type, handler) => ({
  name,
  namespace: "soak",
  version: "1.0.0",
  type,
  description: name,
  inputSchema: Type.Unknown(),
  outputSchema: Type.Unknown(),
  accessControl: { requiredScopes: [] },
  handler,
});

/** Answers, resets, stalls and streams. */
const http = createServer((request, response) => {
  if (request.url === "/events") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (let i = 0; i < 5; i++) response.write(`data: ${i}\n\n`);
    response.end();
    return;
  }
  const luck = randomInt(10);
  if (luck === 0) request.socket.destroy();
  else if (luck === 1) setTimeout(() => response.destroy(), 200);
  else response.setHeader("content-type", "application/json").end('{"ok":true}');
});
await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
endings.push(() => {
  http.close();
  http.closeAllConnections();
});

const get = (operationId, type) => ({
  get: { operationId, responses: { 200: { description: "", content: { [type]: { schema: {} } } } } },
});
const document = {
  openapi: "3.1.0",
  info: { title: "soak", version: "1" },
  paths: { "/x": get("x", "application/json"), "/events": get("events", "text/event-stream") },
};

const mcp = await createMCPClient("mcp", {
  command: process.execPath,
  args: [fileURLToPath(new URL("../__test__/mcp/support/stdio-server.mjs", import.meta.url))],
});
endings.push(() => closeMCPClient(mcp));

const registry = new OperationRegistry();
registry.registerAll([
  local("echo", "query", (input) => input),
  // One that did not heed its signal would keep its permit.
  local("hang", "query", (_, { signal }) => once(signal, "abort")),
  local("count", "subscription", async function* ({ to }) {
    for (let i = 0; i < to; i++) {
      // A generator that never waits would keep the thread, and its reader, from everything else.
      await new Promise((resolve) => setImmediate(resolve));
      yield i;
    }
  }),
  ...FromOpenAPI(document, {
    namespace: "web",
    baseUrl: `http://127.0.0.1:${http.address().port}`,
    timeout: 1000,
  }),
  ...mcp.tools.filter(({ name }) => name === "arguments"),
]);

// The ways to it.

function serveOn(target) {
  const callMap = new PendingRequestMap(target);
  callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap, concurrency: 64 }));
  return callMap;
}
const { port1, port2 } = new MessageChannel();
serveOn(createPortEventTarget(port1));
endings.push(() => port1.close());
const ways = { local: serveOn(), port: new PendingRequestMap(createPortEventTarget(port2)) };

if (missingBroker("nats-server")) console.log("nats-server is not installed: without NATS");
else {
  const broker = await startNats();
  const [worker, caller] = await Promise.all(
    ["worker", "caller"].map((name) => connectNats({ servers: broker.url, name })),
  );
  await worker.serve(registry);
  ways.nats = caller.callMap;
  endings.push(
    () => broker.stop(),
    () => Promise.all([worker, caller].map((each) => each.close({ drain: 0 }))),
  );
}
if (missingBroker("redis-server")) console.log("redis-server is not installed: without Redis");
else {
  const broker = await startRedis();
  const [server, caller] = [0, 1].map(() => createRedisEventTarget({ url: broker.url }));
  serveOn(server);
  ways.redis = new PendingRequestMap(caller);
  endings.push(
    () => broker.stop(),
    () => Promise.all([server, caller].map((target) => target.close({ drain: 0 }))),
  );
  // Until Redis knows the listeners, there are none.
  while (
    await ways.redis.call("soak.echo", 0).then(
      () => false,
      () => true,
    )
  );
}

// What is done.

const codeOf = (call) =>
  call.then(
    () => "none",
    ({ code }) => code,
  );
let expected = 0;

/** Each is one thing that a program does, and says whether its outcome is right. */
const works = {
  async bytes(map) {
    const bytes = new Uint8Array([randomInt(256)]);
    return (await map.call("soak.echo", bytes)).data[0] === bytes[0];
  },
  async deadline(map) {
    return (await codeOf(map.call("soak.hang", {}, { deadline: Date.now() + 20 }))) === "TIMEOUT";
  },
  async abort(map) {
    return (await codeOf(map.call("soak.hang", {}, { signal: AbortSignal.timeout(20) }))) === "ABORTED";
  },
  async unknown(map) {
    return (await codeOf(map.call("soak.nothing", {}))) === "OPERATION_NOT_FOUND";
  },
  async stream(map) {
    let sum = 0;
    for await (const { data } of map.subscribe("soak.count", { to: 20 })) sum += data;
    return sum === 190;
  },
  async left(map) {
    for await (const { data } of map.subscribe("soak.count", { to: 1e9 })) if (data === 5) return true;
    return false;
  },
  async http(map) {
    const answer = await map.call("web.x", {}).then(
      ({ data }) => data.ok,
      () => "failed",
    );
    if (answer === "failed") expected += 1;
    return answer === true || answer === "failed";
  },
  async sse(map) {
    let count = 0;
    for await (const _ of map.subscribe("web.events", {})) {
      count += 1;
      // The server ends its stream, and a client then opens it again.
      if (count === 5) break;
    }
    return count === 5;
  },
  async mcp(map) {
    const a = randomInt(1e6);
    const { data } = await map.call("mcp.arguments", { a });
    return JSON.stringify(data).includes(String(a));
  },
  async hostile() {
    const detail = { payload: { requestId: {}, code: { toString: 1 } } };
    port2.postMessage(JSON.stringify({ type: "call.error", detail }));
    return true;
  },
};

const wrong = new Map();
let right = 0;
const started = Date.now();
const end = started + minutes * 60_000;
const pick = (list) => list[randomInt(list.length)];

async function worker() {
  while (Date.now() < end) {
    const [[work, run], [way, map]] = [pick(Object.entries(works)), pick(Object.entries(ways))];
    const problem = await run(map).then(
      (isRight) => (isRight ? undefined : "wrong"),
      (error) => String(error),
    );
    if (problem === undefined) right += 1;
    else
      wrong.set(`${work} over ${way}: ${problem}`, (wrong.get(`${work} over ${way}: ${problem}`) ?? 0) + 1);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

// What is measured.

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");
const FIGURES = [
  // What may be more at the end than at the beginning: a part of the mean, and an amount.
  { name: "memory (RSS)", unit: " MiB", part: 0.15, amount: 32 },
  { name: "memory (heap)", unit: " MiB", part: 0.1, amount: 5 },
  { name: "handles", unit: "", part: 0, amount: 5 },
  { name: "event-loop delay, p99", unit: " ms", part: 0.5, amount: 20 },
];
const samples = [];
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();
const sampling = setInterval(
  () => {
    const p99 = delay.percentile(99) / 1e6;
    // What is garbage is no leak.
    collect();
    const { rss, heapUsed } = process.memoryUsage();
    const handles = process.getActiveResourcesInfo().length;
    samples.push([(Date.now() - started) / 60_000, rss / 2 ** 20, heapUsed / 2 ** 20, handles, p99]);
    delay.reset();
  },
  Math.min(5000, (minutes * 60_000) / 24),
);

await Promise.all(Array.from({ length: AT_ONCE }, worker));
clearInterval(sampling);

/** How much a figure grows in a minute, by least squares, and its mean. The first fifth is warming up. */
function line(column) {
  const used = samples.slice(Math.ceil(samples.length / 5));
  const mean = (index) => used.reduce((sum, row) => sum + row[index], 0) / used.length;
  const [x, y] = [mean(0), mean(column)];
  const spread = used.reduce((sum, row) => sum + (row[0] - x) ** 2, 0);
  const slope = used.reduce((sum, row) => sum + (row[0] - x) * (row[column] - y), 0) / spread;
  return { slope, mean: y, grown: slope * (used.at(-1)[0] - used[0][0]) };
}

const pending = Object.entries(ways).filter(([, map]) => map.getPendingCount() > 0);
console.log(
  `${minutes} min over ${Object.keys(ways).join(", ")}: ${right} right (${expected} of them failures of the HTTP server), ` +
    `${[...wrong.values()].reduce((sum, count) => sum + count, 0)} wrong, ${samples.length} samples`,
);
for (const [what, count] of wrong) console.log(`  ${count} x ${what}`);
for (const [way, map] of pending) console.log(`  ${map.getPendingCount()} calls are pending over ${way}`);
let isGrowing = false;
for (const [i, { name, unit, part, amount }] of FIGURES.entries()) {
  const { slope, mean, grown } = line(i + 1);
  const isTooMuch = grown > mean * part + amount;
  isGrowing ||= isTooMuch;
  console.log(
    `${name}: ${mean.toFixed(1)}${unit} on average, ${samples.at(-1)[i + 1].toFixed(1)}${unit} at the end, ` +
      `${slope.toFixed(2)}${unit} a minute${isTooMuch ? ": IT GROWS" : ""}`,
  );
}
for (const undo of endings.reverse()) await undo();
if (wrong.size > 0 || pending.length > 0 || isGrowing) process.exitCode = 1;
