// The server of `mcp.bench.mjs`: thirty tools (or as many more than two as its second argument says), and as little work for
// each call as possible.

import { createInterface } from "node:readline";

const text = { type: "string" };
const rowSchema = {
  type: "object",
  properties: { id: { type: "integer" }, name: text, tags: { type: "array", items: text } },
  required: ["id", "name", "tags"],
};
const rows = (count) =>
  Array.from({ length: count }, (_, id) => ({ id, name: `row number ${id}`, tags: ["one", "two", "three"] }));
const tables = new Map();
const table = (count = 1_000) => tables.get(count) ?? tables.set(count, { rows: rows(count) }).get(count);

const results = {
  small: ({ text: said }) => ({ content: [{ type: "text", text: said }] }),
  table: ({ rows: count }) => ({ content: [], structuredContent: table(count) }),
};

const tools = [
  { name: "small", inputSchema: { type: "object", properties: { text }, required: ["text"] } },
  {
    name: "table",
    inputSchema: { type: "object", properties: { rows: { type: "integer" } } },
    outputSchema: {
      type: "object",
      properties: { rows: { type: "array", items: rowSchema } },
      required: ["rows"],
    },
  },
  ...Array.from({ length: Number(process.argv[3] ?? 28) }, (_, i) => ({
    name: `other-${i}`,
    description: "One of many tools that are listed and not called",
    inputSchema: {
      type: "object",
      properties: {
        path: text,
        limit: { type: "integer", minimum: 1 },
        rows: { type: "array", items: rowSchema },
      },
      required: ["path"],
    },
  })),
];

function resultOf(method, params) {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "bench", version: "1.0.0" },
      };
    case "tools/list":
      return { tools };
    case "tools/call":
      return results[params.name](params.arguments);
  }
}

// What real servers do before they listen: load, look around, log in. It costs time and no core.
await new Promise((resolve) => setTimeout(resolve, Number(process.argv[2] ?? 0)));

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = resultOf(method, params);
  const answer = result === undefined ? { error: { code: -32601, message: `no ${method}` } } : { result };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
});
