// What we want to be ahead of, and by how much: one row for each line of the table that `npm run bench` prints at the end. A
// benchmark reports what it measured under the same key (`report` in results.mjs).
//
// `ratio` says how the figure is made: "rate" is ours divided by the reference's, so more is better; "cost" is also ours
// divided by the reference's, of time or memory, so less is better; "own" is a figure of ours alone, and less is better.
//
// A reference is what a user would write without this package, and runs none of our code: a "peer". Rows whose last word is "limit" stand next to what
// no package can be faster than: a parser, no checks at all, a bare socket.

const sdk = "@modelcontextprotocol/sdk";
const moleculer = "Moleculer 0.14";
const sse = "fetch + eventsource-parser";
const pool = "undici's Pool";

export const aims = {
  "mcp.everything.one": ["MCP over stdio, echo of server-everything, one at a time", sdk, "rate", 1.1],
  "mcp.everything.many": ["MCP over stdio, the same, 32 in flight", sdk, "rate", 1.3],
  "mcp.everything.main": ["MCP over stdio, main thread per call, 32 in flight", sdk, "cost", 0.35],
  "mcp.rows": ["MCP over stdio, 1,000 rows (64 KB) in a result", sdk, "rate", 1],
  "mcp.rows.main": ["MCP over stdio, 1,000 rows, main thread", sdk, "cost", 0.7],
  "nats.workers.1": ["calls over NATS, 1 worker, 256 in flight", moleculer, "rate", 1.1],
  "nats.workers.2": ["calls over NATS, 2 workers, 256 in flight", moleculer, "rate", 1.1],
  "nats.workers.4": ["calls over NATS, 4 workers, 256 in flight", moleculer, "rate", 1.1],
  "nats.latency": ["one call at a time over NATS, p50", moleculer, "cost", 1.1],
  "sse.rate": ["server-sent events", sse, "rate", 2.5],
  "sse.main": ["server-sent events, main thread per event", sse, "cost", 0.35],
  "http.pool": ["calls of an imported operation, 64 in flight", pool, "rate", 1],
  "http.pool.undici": ["the same, with undici imported", pool, "rate", 1],
  "http.one": ["calls of an imported operation, one at a time", pool, "rate", 0.8],
  "http.pool.main": ["calls of an imported operation, main thread, 64 in flight", pool, "cost", 0.5],
  "http.fetch": ["calls of an imported operation, 64 in flight", "fetch", "rate", 3],
  "import.object.cold": [
    "GitHub's OpenAPI document from an object, first time",
    "JSON.parse",
    "cost",
    2,
    "limit",
  ],
  "import.text.cold": ["GitHub's OpenAPI document from text, first time", "JSON.parse", "cost", 1.5, "limit"],
  "import.object.warm": ["GitHub's OpenAPI document from an object, again", "JSON.parse", "cost", 3, "limit"],
  "import.text.warm": ["GitHub's OpenAPI document from text, again", "JSON.parse", "cost", 2, "limit"],
  "execute.small": ["execute, small, hot", "the same without checks", "rate", 0.9, "limit"],
  "execute.medium": ["execute, medium, hot", "the same on TypeCompiler", "rate", 1],
  "execute.large": ["execute, large, hot", "the same on TypeCompiler", "rate", 1],
  "execute.medium.closed": [
    "execute, medium, hot",
    "TypeCompiler, undeclared properties refused",
    "rate",
    1.3,
  ],
  "execute.large.closed": ["execute, large, hot", "TypeCompiler, undeclared properties refused", "rate", 1.3],
  "execute.cold": ["first ten calls of sixty operations", "the same on TypeBox's Value", "cost", 1.1],
  "load.import": ["import of the package", "TypeBox + /value", "cost", 1],
  "load.addon": ["size of the addon, MB", "", "own", 14],
  "serve.mcp.60": ["tools/call served, 60 tools, 32 in flight", "createMcpHandler", "rate", 3],
  "serve.mcp.flat": ["tools/call served, 1,000 tools next to 1", "ours with 1 tool", "rate", 0.9, "limit"],
  "serve.local": ["POST of a served local operation", "Fastify + TypeBox", "rate", 1.2],
  "serve.imported": ["a served imported operation", "Fastify + undici", "rate", 2],
  "serve.imported.main": ["a served imported operation, main thread", "Fastify + undici", "cost", 0.05],
  "serve.handler": ["createHandler().fetch, tools/call", "createMcpHandler", "rate", 1.5],
  "hub.calls": ["calls over WebSocket", "JSON on ws", "rate", 1],
  "hub.socketio": ["calls over WebSocket", "Socket.IO", "rate", 1.5],
  "tools.index": ["index 10,000 operations, ms", "", "own", 300],
  "tools.search": ["search 10,000 operations, ms", "", "own", 1],
  "tools.signatures": ["signatures within 4,000 tokens, ms", "", "own", 5],
};
