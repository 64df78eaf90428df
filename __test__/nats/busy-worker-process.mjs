// A worker that serves imported operations (HTTP, or the tools of an MCP server) and one of its own, and whose
// JavaScript thread can be kept busy.

import { existsSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { createMCPClient, FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { connectNats } from "@alkdev/operations/transport-nats";
import { query } from "../call/support.mjs";
import { DOCUMENT } from "./http-document.mjs";

const { servers, baseUrl, mcp, release } = JSON.parse(process.argv[2]);
const AT_LEAST = 2_000;
const AT_MOST = 60_000;

/** Written at once, without the event loop. */
const say = (line) => writeSync(1, `${JSON.stringify(line)}\n`);

const registry = new OperationRegistry();
if (baseUrl !== undefined) registry.registerAll(FromOpenAPI(DOCUMENT, { namespace: "http", baseUrl }));
if (mcp !== undefined) registry.registerAll((await createMCPClient("mcp", mcp)).tools);
registry.register(query("local", () => "from JavaScript"));
const connection = await connectNats({ servers, name: "worker" });
await connection.serve(registry);

/** Keeps the thread busy until the file is there. */
function block() {
  const start = Date.now();
  say({ blocked: true });
  while (Date.now() - start < AT_LEAST || (!existsSync(release) && Date.now() - start < AT_MOST));
  say({ released: true, after: Date.now() - start });
}

createInterface({ input: process.stdin }).on("line", block);
say({ ready: true });
