// One contestant of `serve-mcp.bench.mjs` in a process of its own: writes its address, and ends with its standard input.
//   node serve-mcp-server.mjs <ours|handler|sdk> <tools>

import { createServer } from "node:http";
import { OperationRegistry } from "@alkdev/operations";
import { createHandler, serve } from "@alkdev/operations/serve";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { Type } from "@sinclair/typebox";
import { z } from "zod";

const [whose, count] = process.argv.slice(2);
const names = Array.from({ length: Number(count) }, (_, index) => `add${index}`);

function registered() {
  const registry = new OperationRegistry();
  for (const name of names) {
    registry.register({
      namespace: "math",
      name,
      version: "1.0.0",
      type: "mutation",
      description: "Adds two numbers",
      inputSchema: Type.Object({ a: Type.Number(), b: Type.Number() }),
      outputSchema: Type.Object({ sum: Type.Number() }),
      accessControl: { requiredScopes: [] },
      handler: ({ a, b }) => ({ sum: a + b }),
    });
  }
  return registry;
}

async function ours() {
  const served = await serve(registered(), { doors: { mcp: true } });
  return { url: `${served.url}/mcp`, close: () => served.close({ drain: 0 }) };
}

function sdkHandler() {
  return createMcpHandler(() => {
    const server = new McpServer({ name: "bench", version: "1.0.0" });
    for (const name of names) {
      server.registerTool(
        `math_${name}`,
        {
          description: "Adds two numbers",
          inputSchema: z.object({ a: z.number(), b: z.number() }),
          outputSchema: z.object({ sum: z.number() }),
        },
        ({ a, b }) => {
          const structuredContent = { sum: a + b };
          return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
        },
      );
    }
    return server;
  });
}

/** A handler of requests on node:http. */
async function onNode(handler) {
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const answer = await handler.fetch(
      new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method,
        headers: request.headers,
        body: Buffer.concat(chunks),
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, close: () => server.close() };
}

const contestants = {
  ours,
  handler: () => onNode(createHandler(registered(), { doors: { mcp: true } })),
  sdk: () => onNode(sdkHandler()),
};
const { url, close } = await contestants[whose]();
console.log(url);
process.stdin.resume().on("end", () => {
  close();
  process.exit(0);
});
