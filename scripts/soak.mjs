// npm run soak: calls and streams in the process and over a port, HTTP that fails, hostile events, all at once for ten minutes (`-- --minutes 1` for less), then the slopes of memory, handles and
// event-loop delay. Fails if a call has no outcome or a wrong one. What grows is for the reader to judge: figures, no bound.

import { randomInt } from "node:crypto";
import { createServer } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { MessageChannel } from "node:worker_threads";

const at = process.argv.indexOf("--minutes");
const minutes = at === -1 ? 10 : Number(process.argv[at + 1]);
if (!(minutes > 0)) throw new Error("--minutes must be a number above 0");

const { buildCallHandler, createPortEventTarget, FromOpenAPI, OperationRegistry, PendingRequestMap } =
  await import("@alkdev/operations");

const { Type } = await import("@sinclair/typebox");

const outcomes = { right: 0, expected: 0, wrong: 0 };
const hang = (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve));
const any = {
  inputSchema: Type.Unknown(),
  outputSchema: Type.Unknown(),
  accessControl: { requiredScopes: [] },
};
const local = (name, type, handler) => ({
  name,
  namespace: "soak",
  version: "1.0.0",
  type,
  description: name,
  ...any,
  handler,
});

/** An HTTP server that answers, resets and stalls. */
const http = createServer((request, response) => {
  const luck = randomInt(10);
  if (luck === 0) request.socket.destroy();
  else if (luck === 1) setTimeout(() => response.destroy(), 200);
  else response.setHeader("content-type", "application/json").end('{"ok":true}');
});
await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));

const registry = new OperationRegistry();
registry.registerAll([
  local("echo", "query", (input) => input),
  local("hang", "query", hang),
  local("count", "subscription", async function* ({ to }) {
    for (let i = 0; i < to; i++) {
      // A generator that never waits would keep the thread, and whoever reads it, from everything else.
      await new Promise((resolve) => setImmediate(resolve));
      yield i;
    }
  }),
  ...FromOpenAPI(
    {
      openapi: "3.1.0",
      info: { title: "soak", version: "1" },
      paths: { "/x": { get: { operationId: "x", responses: { 200: { description: "" } } } } },
    },
    {
      namespace: "web",
      baseUrl: `http://127.0.0.1:${http.address().port}`,
      allowPrivateAddresses: true,
      timeout: 1000,
    },
  ),
]);

function mapOver(target) {
  const callMap = new PendingRequestMap(target);
  callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap, concurrency: 64 }));
  return callMap;
}
const { port1, port2 } = new MessageChannel();
mapOver(createPortEventTarget(port1));
const maps = [mapOver(), new PendingRequestMap(createPortEventTarget(port2))];

/** One thing that a program does, and whether its outcome is right. */
const works = [
  async (map) => {
    const bytes = new Uint8Array([randomInt(256)]);
    return (await map.call("soak.echo", bytes)).data[0] === bytes[0];
  },
  async (map) => (await failure(map.call("soak.hang", {}, { deadline: Date.now() + 20 }))) === "TIMEOUT",
  async (map) => (await failure(map.call("soak.nothing", {}))) === "OPERATION_NOT_FOUND",
  async (map) => {
    let sum = 0;
    for await (const { data } of map.subscribe("soak.count", { to: 20 })) sum += data;
    return sum === 190;
  },
  async (map) => {
    for await (const { data } of map.subscribe("soak.count", { to: 1e9 })) if (data === 5) return true;
  },
  async (map) => {
    const answer = await map.call("web.x", {}).then(
      ({ data }) => data.ok,
      () => "failed",
    );
    if (answer === "failed") outcomes.expected += 1;
    return answer === true || answer === "failed";
  },
  async () => {
    const detail = { payload: { requestId: {}, code: { toString: 1 } } };
    port2.postMessage(JSON.stringify({ type: "call.error", detail }));
    return true;
  },
];
const failure = (call) =>
  call.then(
    () => "none",
    ({ code }) => code,
  );

const samples = [];
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();
const started = Date.now();
const end = started + minutes * 60_000;
const sample = () => {
  const { rss, heapUsed } = process.memoryUsage();
  const handles = process.getActiveResourcesInfo().length;
  samples.push([
    (Date.now() - started) / 60_000,
    rss / 2 ** 20,
    heapUsed / 2 ** 20,
    handles,
    delay.percentile(99) / 1e6,
  ]);
  delay.reset();
};
const sampling = setInterval(sample, Math.min(5000, (minutes * 60_000) / 12));

async function worker() {
  while (Date.now() < end) {
    const right = await works[randomInt(works.length)](maps[randomInt(maps.length)]).catch(() => false);
    outcomes[right ? "right" : "wrong"] += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
await Promise.all(Array.from({ length: 32 }, worker));
clearInterval(sampling);

/** How much a figure grows in a minute, by least squares. The first fifth is warming up. */
function slope(column) {
  const used = samples.slice(Math.ceil(samples.length / 5));
  const mean = (index) => used.reduce((sum, row) => sum + row[index], 0) / used.length;
  const [x, y] = [mean(0), mean(column)];
  const spread = used.reduce((sum, row) => sum + (row[0] - x) ** 2, 0);
  return used.reduce((sum, row) => sum + (row[0] - x) * (row[column] - y), 0) / spread;
}
const pending = maps.map((map) => map.getPendingCount());
console.log(`${minutes} min: ${JSON.stringify(outcomes)}, pending ${pending}, ${samples.length} samples`);
for (const [column, name, unit] of [
  [1, "memory (RSS)", "MiB"],
  [2, "memory (heap)", "MiB"],
  [3, "handles", ""],
  [4, "event-loop delay, p99", "ms"],
]) {
  console.log(
    `${name}: ${samples.at(-1)[column].toFixed(1)} ${unit} at the end, ${slope(column).toFixed(2)} a minute`,
  );
}
port1.close();
http.close();
http.closeAllConnections();
if (outcomes.wrong > 0 || pending.some((count) => count > 0)) process.exitCode = 1;
