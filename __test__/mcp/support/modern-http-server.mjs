// The server of `modern-tools.mjs` over HTTP, in the process of the test.

import { createServer } from "node:http";
import { Readable } from "node:stream";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { defer } from "./defer.mjs";
import { modernServer } from "./modern-tools.mjs";

/** With `learnsBeforeSubscription`, its tools change after they were listed and before anybody subscribes to changes. */
export async function startModernHTTPServer(test, { learnsBeforeSubscription = false, ...options } = {}) {
  let knowsNews = false;
  // One server for each request: what they have learnt is kept here.
  const handler = createMcpHandler(() => modernServer({ knowsNews }), { legacy: "reject", ...options });
  const requests = [];
  const server = createServer(async (request, response) => {
    const left = new AbortController();
    response.on("close", () => left.abort());
    requests.push({ method: request.method, headers: request.headers });
    if (learnsBeforeSubscription && request.headers["mcp-method"] === "subscriptions/listen")
      knowsNews = true;
    const answer = await handler.fetch(
      new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method,
        headers: Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        signal: left.signal,
        ...(request.method === "POST" && { body: Readable.toWeb(request), duplex: "half" }),
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.flushHeaders();
    if (answer.body === null) return response.end();
    Readable.fromWeb(answer.body)
      .on("error", () => response.destroy())
      .pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  defer(test, async () => {
    server.close();
    server.closeAllConnections();
    await handler.close();
  });
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    requests,
    notify: handler.notify,
    learn() {
      knowsNews = true;
    },
  };
}
