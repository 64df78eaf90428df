// The clients that `mcp.bench.mjs` compares. Each connects to a server process of its own.

import { fileURLToPath } from "node:url";
import { closeMCPClient, createMCPClient, MCPClientLoader, OperationRegistry } from "@alkdev/operations";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

/** A server that needs so many milliseconds before it listens. */
const server = (startUp = 0) => ({
  command: process.execPath,
  args: [fileURLToPath(new URL("./mcp-server.mjs", import.meta.url)), String(startUp)],
});

export const SDK = "@modelcontextprotocol/sdk";
export const OURS = "ours, execute()";
/** The same without the registry: no input check, no envelope, no normalising, as the SDK does it. */
export const BARE = "ours, client.callTool()";

/** The server that the protocol's authors made to try clients with. */
export const everything = {
  command: process.execPath,
  args: [
    fileURLToPath(
      new URL("../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url),
    ),
    "stdio",
  ],
};

async function sdk(config) {
  const client = new Client({ name: "bench", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ ...config, stderr: "ignore" }));
  const { tools } = await client.listTools();
  return {
    tools: tools.length,
    call: (name, input) => client.callTool({ name, arguments: input }),
    close: () => client.close(),
  };
}

async function ours(config) {
  const wrapper = await createMCPClient("bench", config);
  const registry = new OperationRegistry();
  registry.registerAll(wrapper.tools);
  return {
    tools: wrapper.tools.length,
    call: (name, input) => registry.execute(`bench.${name}`, input, {}),
    close: () => closeMCPClient(wrapper),
  };
}

async function bare(config) {
  const wrapper = await createMCPClient("bench", config);
  return {
    tools: wrapper.tools.length,
    call: (name, input) => wrapper.client.callTool({ name, arguments: input }),
    close: () => closeMCPClient(wrapper),
  };
}

const openers = { [SDK]: sdk, [OURS]: ours, [BARE]: bare };

/** How each connects to a server, by name. */
export const clientsOf = (config = server()) =>
  Object.fromEntries(Object.entries(openers).map(([name, open]) => [name, () => open(config)]));

/** Several servers: connected, listed, and how to end them. */
export const loads = {
  [`${SDK}, one after another`]: async (count, startUp) => {
    const opened = [];
    for (let i = 0; i < count; i++) opened.push(await sdk(server(startUp)));
    return () => Promise.all(opened.map(({ close }) => close()));
  },
  [`${SDK}, all at once`]: async (count, startUp) => {
    const opened = await Promise.all(Array.from({ length: count }, () => sdk(server(startUp))));
    return () => Promise.all(opened.map(({ close }) => close()));
  },
  "ours, MCPClientLoader.load()": async (count, startUp) => {
    const loader = new MCPClientLoader();
    const servers = Array.from({ length: count }, (_, i) => [`server${i}`, server(startUp)]);
    await loader.load(Object.fromEntries(servers));
    return () => loader.closeAll();
  },
};
