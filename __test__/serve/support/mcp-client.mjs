// The SDK's MCP client, connected to a server of ours.

import { after } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

/** It is closed when the tests of the file are done. */
export async function connected(served, headers = {}, capabilities = {}) {
  const client = new Client({ name: "test", version: "1" }, { capabilities });
  const url = new URL(`${served.url}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  after(() => client.close());
  return client;
}
