// `tools/call` through an MCP server, 32 at a time, with 1, 60 and 1,000 tools: `serve` and `createHandler().fetch` next to
// `createMcpHandler` of the official SDK, both handlers on node:http. Each server has a process of its own, the load comes from this one; rounds are interleaved,
// those of `serve` with 1 and with 1,000 tools too.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { report } from "./results.mjs";
import { median, printTable } from "./support.mjs";

const ROUNDS = Number(process.argv[2] ?? 7);
const CALLS = Number(process.argv[3] ?? 1_500);
const IN_FLIGHT = 32;
const TOOLS = [1, 60, 1_000];
const program = fileURLToPath(new URL("./serve-mcp-server.mjs", import.meta.url));
const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT });

async function start(whose, tools) {
  const child = spawn(process.execPath, [program, whose, String(tools)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [url] = await once(createInterface(child.stdout), "line");
  return { url: new URL(url), stop: () => child.stdin.end() };
}

const META = "io.modelcontextprotocol/";
const headers = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": "math_add0",
};

function call(url, a) {
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: a,
    method: "tools/call",
    params: {
      name: "math_add0",
      arguments: { a, b: 1 },
      _meta: { [`${META}protocolVersion`]: "2026-07-28", [`${META}clientCapabilities`]: {} },
    },
  });
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (data) => {
        text += data;
      });
      response.on("end", () => {
        if (text.includes(`"sum":${a + 1}`)) resolve();
        else reject(new Error(`HTTP ${response.statusCode}: ${text.slice(0, 300)}`));
      });
    });
    sent.on("error", (error) => {
      // A server may close a connection that had nothing to do for a while, just when it is used again.
      if (sent.reusedSocket && error.code === "ECONNRESET") resolve(call(url, a));
      else reject(error);
    });
    sent.end(body);
  });
}

/** Calls in a second. */
async function measure(url, calls) {
  let next = 0;
  const began = performance.now();
  const worker = async () => {
    while (next < calls) await call(url, next++);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  return (calls / (performance.now() - began)) * 1_000;
}

/** `serve` with few and with many tools, in turns. The table above measures its rows one after the other: by the last one the load is warmer, and the
 * garbage of a server that makes 1,000 tools for each request is still being collected. */
async function flatness(few, many) {
  const servers = { few: await start("ours", few), many: await start("ours", many) };
  const rates = { few: [], many: [] };
  for (let round = -1; round < ROUNDS; round++) {
    for (const [which, { url }] of Object.entries(servers)) {
      const rate = await measure(url, 2 * CALLS);
      if (round >= 0) rates[which].push(rate);
    }
  }
  for (const { stop } of Object.values(servers)) stop();
  return { few: median(rates.few), many: median(rates.many) };
}

const rows = [];
const served = new Map();
for (const tools of TOOLS) {
  const rates = { ours: [], handler: [], sdk: [] };
  const contestants = {};
  for (const whose of Object.keys(rates)) contestants[whose] = await start(whose, tools);
  // The official server makes a server with all tools for each request.
  const calls = {
    ours: CALLS,
    handler: CALLS,
    sdk: Math.max(100, Math.round(CALLS / Math.max(1, tools / 20))),
  };
  for (const whose of Object.keys(rates)) await measure(contestants[whose].url, Math.min(300, calls[whose]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const whose of Object.keys(rates)) {
      rates[whose].push(await measure(contestants[whose].url, calls[whose]));
    }
  }
  for (const { stop } of Object.values(contestants)) stop();
  const [ours, handler, sdk] = [median(rates.ours), median(rates.handler), median(rates.sdk)];
  const cells = [ours, handler, sdk].map(Math.round);
  rows.push([tools, ...cells, (ours / sdk).toFixed(1), (handler / sdk).toFixed(1)]);
  served.set(tools, { ours, handler, sdk });
}
const flat = await flatness(1, 1_000);
agent.destroy();
const headings = [
  "serve, calls/s",
  "createHandler, calls/s",
  "SDK 2.x, calls/s",
  "serve / SDK",
  "createHandler / SDK",
];
printTable(["tools/call, 32 in flight; tools", ...headings], rows);
const sixty = served.get(60);
report("serve.mcp.60", { ours: sixty.ours, reference: sixty.sdk });
report("serve.mcp.flat", { ours: flat.many, reference: flat.few });
console.log(
  `\nserve alone, in turns: 1 tool ${Math.round(flat.few)} calls/s, 1,000 tools ${Math.round(flat.many)}, ${(flat.many / flat.few).toFixed(2)}`,
);
report("serve.handler", { ours: sixty.handler, reference: sixty.sdk });
