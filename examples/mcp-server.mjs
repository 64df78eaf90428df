// A small MCP server in plain Node, over standard input and output: one JSON-RPC message a line. It keeps notes.
//
//   { "command": "node", "args": ["examples/mcp-server.mjs"] }
//
// Standard output belongs to the protocol, so anything for people goes to standard error.

import { createInterface } from "node:readline";

const VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

const notes = [
  { id: 1, text: "Water the plants", done: false },
  { id: 2, text: "Water the neighbour's plants", done: false },
  { id: 3, text: "Post the letter", done: true },
];

const noteSchema = {
  type: "object",
  properties: { id: { type: "integer" }, text: { type: "string" }, done: { type: "boolean" } },
  required: ["id", "text", "done"],
};

const tools = {
  find_notes: {
    title: "Find notes",
    description: "Notes that contain a text",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    outputSchema: {
      type: "object",
      properties: { notes: { type: "array", items: noteSchema } },
      required: ["notes"],
    },
    annotations: { readOnlyHint: true },
    run({ text }) {
      const found = notes.filter((note) => note.text.toLowerCase().includes(text.toLowerCase()));
      return structured({ notes: found });
    },
  },

  tick_note: {
    title: "Tick a note",
    description: "Marks a note as done",
    inputSchema: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] },
    annotations: { idempotentHint: true },
    run({ id }) {
      const note = notes.find((each) => each.id === id);
      if (note === undefined) return { ...text(`There is no note ${id}`), isError: true };
      note.done = true;
      return text(`Done: ${note.text}`);
    },
  },

  print_notes: {
    title: "Print the notes",
    description: "Prints all notes, slowly, and tells how far it is",
    inputSchema: { type: "object", properties: {} },
    async run(_, { progress, isCancelled }) {
      for (const [index, note] of notes.entries()) {
        if (isCancelled()) break;
        await new Promise((resolve) => setTimeout(resolve, 20));
        progress({ progress: index + 1, total: notes.length, message: note.text });
      }
      return text(`Printed ${notes.length} notes`);
    },
  },
};

const text = (value) => ({ content: [{ type: "text", text: value }] });

/** Programs read `structuredContent`; the text is there for clients that do not know it. */
const structured = (value) => ({ ...text(JSON.stringify(value)), structuredContent: value });

class ProtocolError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: VERSIONS.includes(protocolVersion) ? protocolVersion : VERSIONS[0],
    capabilities: { tools: {} },
    serverInfo: { name: "notes", version: "1.2.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: Object.entries(tools).map(([name, { run, ...tool }]) => ({ name, ...tool })),
  }),
  "tools/call": ({ name, arguments: input = {}, _meta }, id) => {
    if (!Object.hasOwn(tools, name)) throw new ProtocolError(INVALID_PARAMS, `Unknown tool: ${name}`);
    return tools[name].run(input, {
      isCancelled: () => cancelled.has(id),
      progress(params) {
        const progressToken = _meta?.progressToken;
        if (progressToken === undefined) return;
        write({ method: "notifications/progress", params: { progressToken, ...params } });
      },
    });
  },
};

/** Calls that are under way, and those among them that the client does not want any more. */
const running = new Set();
const cancelled = new Set();

function write(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

async function answer({ id, method, params = {} }) {
  running.add(id);
  try {
    if (!Object.hasOwn(methods, method))
      throw new ProtocolError(METHOD_NOT_FOUND, `Unknown method: ${method}`);
    const result = await methods[method](params, id);
    if (!cancelled.has(id)) write({ id, result });
  } catch ({ code = -32603, message }) {
    write({ id, error: { code, message } });
  } finally {
    running.delete(id);
    cancelled.delete(id);
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  const isRequest = message.method !== undefined && message.id !== undefined;
  if (isRequest) answer(message);
  else if (message.method === "notifications/cancelled" && running.has(message.params.requestId)) {
    cancelled.add(message.params.requestId);
  }
});
// When standard input ends, nothing keeps the process alive, and it ends too.
