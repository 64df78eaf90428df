// A 2026-07-28 server over HTTP, by hand: what it lists may break the rules.

import { createServer } from "node:http";
import { defer } from "./defer.mjs";

/** Lists these tools and answers each call with the headers that it had. */
export async function startStatelessServer(test, tools) {
  const requests = [];
  const answers = {
    "server/discover": () => ({
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {} },
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "by hand", version: "1.2.3" } },
    }),
    "tools/list": () => ({ tools }),
    "tools/call": ({ headers }) => ({ content: [], structuredContent: headers }),
  };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const { id, method, params } = JSON.parse(body);
    requests.push({ method, params, headers: request.headers });
    const result = { resultType: "complete", ttlMs: 0, cacheScope: "private", ...answers[method]?.(request) };
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  defer(test, () => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, requests };
}
