// The hub: operations of many sources in one registry, behind one address.

import { randomUUID } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type CallReport,
  createRegistry,
  type Identity,
  MCPClientLoader,
  OpenAPIServiceRegistry,
  type OperationSpec,
} from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { openShop } from "./shop.mjs";
import { addTask, listTasks } from "./tasks.mjs";

export const ada: Identity = { id: "ada", scopes: ["tasks:write", "shop:write", "memory"] };
export const bob: Identity = { id: "bob", scopes: [] };
const laptop: Identity = { id: "laptop", scopes: [] };

/** An MCP server from npm. In a project of your own: `{ command: "npx", args: ["-y", name] }`. */
const server = (name: string, ...args: string[]) => ({
  command: process.execPath,
  args: [fileURLToPath(import.meta.resolve(`@modelcontextprotocol/${name}/dist/index.js`)), ...args],
});

export async function startHub({ port = 0, trace = (_: CallReport) => {} } = {}) {
  const registry = createRegistry([listTasks, addTask]);
  // Called for every call: a program, a model, a client over HTTP or MCP.
  registry.on("call", trace);
  const folder = await mkdtemp(join(tmpdir(), "agent-hub-"));

  // An HTTP API of another company. Reading is for everyone, selling is not.
  const shop = await openShop();
  const services = new OpenAPIServiceRegistry();
  await services.addFromUrl("shop", `${shop.url}/openapi.json`, {
    namespace: "shop",
    baseUrl: shop.url,
    accessControl: ({ type }: OperationSpec) => ({ requiredScopes: type === "query" ? [] : ["shop:write"] }),
  });
  services.registerAll(registry);

  // MCP servers. With `partial`, one that does not start does the others no harm.
  const servers = new MCPClientLoader();
  const { failures } = await servers.load(
    {
      memory: {
        ...server("server-memory"),
        env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
        accessControl: { requiredScopes: ["memory"] },
      },
      files: server("server-filesystem", folder),
      broken: { command: "a-program-that-nobody-has" },
    },
    { partial: true },
  );
  servers.registerAll(registry, { keepInStep: true });

  // One address for HTTP clients, MCP clients, people with a browser, and spokes. Tokens say who calls.
  const tokens = { ada: randomUUID(), bob: randomUUID(), laptop: randomUUID() };
  const served = await serve(registry, {
    port,
    doors: {
      http: true,
      explorer: true,
      mcp: { name: "agent-hub", version: "1.0.0" },
      hub: { accept: ({ identity }) => identity?.id === laptop.id && { namespace: laptop.id } },
    },
    tokens: { [tokens.ada]: ada, [tokens.bob]: bob, [tokens.laptop]: laptop },
  });

  const close = async () => {
    await served.close();
    await Promise.all([servers.closeAll(), services.closeAll()]);
    shop.close();
  };
  return { registry, url: served.url, tokens, failures, close };
}
