// How long it takes until a hub with twenty MCP servers from npm can be used, and what it costs: lazy and eager servers next to the
// clients of the official SDK. Each in a fresh process.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MCPClientLoader } from "@alkdev/operations";
import { median, printTable } from "./support.mjs";

const ROUNDS = Number(process.argv[2]) || 5;
const SERVERS = ["filesystem", "memory", "everything", "sequential-thinking"];

const configs = Array.from({ length: 20 }, (_, index) => {
  const name = SERVERS[index % SERVERS.length];
  const url = new URL(`../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, import.meta.url);
  return {
    name: `s${index}`,
    command: process.execPath,
    args: [fileURLToPath(url), ...(name === "filesystem" ? [tmpdir()] : [])],
  };
});

const contestants = {
  async "official SDK"() {
    const { Client } = await import("@modelcontextprotocol/client");
    const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
    await Promise.all(
      configs.map(async ({ command, args }) => {
        const client = new Client({ name: "bench", version: "1.0.0" });
        await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
        await client.listTools();
      }),
    );
  },
  eager: () => load({ start: "eager" }),
  "lazy, first time": () => load({ start: "lazy", toolCache: mkdtempSync(join(tmpdir(), "operations-")) }),
  lazy: (folder) => load({ start: "lazy", toolCache: folder }),
};

async function load(more) {
  const servers = configs.map(({ name, ...config }) => [
    name,
    { ...config, ...more, connectTimeout: 120_000 },
  ]);
  await new MCPClientLoader().load(Object.fromEntries(servers));
}

const [, , wanted, folder] = process.argv;
if (Object.hasOwn(contestants, wanted)) {
  const begun = performance.now();
  await contestants[wanted](folder);
  const ms = performance.now() - begun;
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  const threads = readdirSync("/proc/self/task").map((id) =>
    readFileSync(`/proc/self/task/${id}/children`, "utf8"),
  );
  const children = threads.join(" ").split(/\s+/).filter(Boolean);
  console.log(JSON.stringify({ ms, megabytes: kilobytes / 1024, children: children.length }));
  process.exit();
}

const cache = mkdtempSync(join(tmpdir(), "operations-"));
const run = (name) =>
  JSON.parse(
    execFileSync(process.execPath, [fileURLToPath(import.meta.url), name, cache], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
  );
run("lazy");
const results = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]));
for (let round = 0; round < ROUNDS; round++)
  for (const name of Object.keys(contestants)) results[name].push(run(name));
rmSync(cache, { recursive: true });
printTable(
  ["20 servers from npm", "ms until usable", "MB of the host", "children"],
  Object.entries(results).map(([name, all]) => [
    name,
    ...["ms", "megabytes", "children"].map((field) => Math.round(median(all.map((each) => each[field])))),
  ]),
);
