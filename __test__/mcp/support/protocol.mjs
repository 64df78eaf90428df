// MCP as a server speaks it, by hand: no SDK would misbehave on request.

import { costlyTools, deepTool, lengthyTools, recursiveTools, strangeTools, tools } from "./tools.mjs";

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

const resources = [
  { uri: "test://notes/1", name: "First note", mimeType: "text/plain" },
  { uri: "test://notes/2", name: "Second note", mimeType: "text/plain" },
];
const prompts = [
  {
    name: "greet",
    description: "A greeting",
    arguments: [{ name: "who", description: "Whom to greet", required: true }],
  },
];

/**
 * One conversation with a client. `traits` are words that say how it misbehaves, `send` takes a message to
 * the client, `sendText` one that is written already, and `end(code)` ends the server as a crash would.
 */
export class Conversation {
  /** Every message that the client sent, in order. */
  received = [];
  /** Requests that the client cancelled. */
  cancelled = new Set();
  #questions = new Map();
  #lastQuestion = 0;
  #calls = 0;
  #added = [];
  #removed = new Set();

  constructor({ traits = new Set(), send, sendText, end = () => {} }) {
    this.traits = traits;
    this.send = send;
    this.sendText = sendText;
    this.end = end;
  }

  get tools() {
    if (this.traits.has("no-tools")) return [];
    const all = [...tools, ...this.#added];
    if (this.traits.has("knows-news")) all.push({ ...tools[0], name: "news" });
    if (this.traits.has("strange-schemas")) all.push(...strangeTools);
    if (this.traits.has("costly-schemas")) all.push(...costlyTools);
    if (this.traits.has("lengthy-schemas")) all.push(...lengthyTools);
    if (this.traits.has("recursive-schemas")) all.push(...recursiveTools);
    if (this.traits.has("lacks-echo")) this.#removed.add("echo");
    return all.filter(({ name }) => !this.#removed.has(name));
  }

  /** Takes a message of the client's. Resolves when it is answered. */
  async take(message) {
    this.received.push(message);
    const { id, method, params = {} } = message;
    if (method === undefined) {
      this.#questions.get(id)?.(message);
      this.#questions.delete(id);
      return;
    }
    if (method === "notifications/cancelled") this.cancelled.add(params.requestId);
    if (id === undefined) return;
    try {
      const result = await this.#answer(method, params, id);
      if (result?.written !== undefined)
        this.sendText(`{"jsonrpc":"2.0","id":${id},"result":${result.written}}`, id);
      else if (result !== undefined) this.send({ jsonrpc: "2.0", id, result });
    } catch (error) {
      this.send({ jsonrpc: "2.0", id, error: { code: error.code ?? -32603, message: error.message } });
    }
  }

  notify(method, params) {
    this.send({ jsonrpc: "2.0", method, params });
  }

  /** Asks the client something; resolves with its whole answer, error or not. */
  ask(method, params) {
    const id = `question-${++this.#lastQuestion}`;
    return new Promise((resolve) => {
      this.#questions.set(id, resolve);
      this.send({ jsonrpc: "2.0", id, method, params });
    });
  }

  addTool(tool) {
    // In place of the one that has its name.
    this.#added = [...this.#added.filter(({ name }) => name !== tool.name), tool];
    this.#removed.delete(tool.name);
    this.notify("notifications/tools/list_changed");
  }

  removeTool(name) {
    this.#removed.add(name);
    this.notify("notifications/tools/list_changed");
  }

  #answer(method, params, id) {
    if (/^(resources|prompts)\//.test(method) && this.traits.has("no-resources")) {
      throw protocolError(METHOD_NOT_FOUND, `no method ${method}`);
    }
    if (method === "server/discover" && this.traits.has("ignores-discover")) return undefined;
    if (method === "server/discover" && this.traits.has("odd-discover")) return {};
    switch (method) {
      case "initialize":
        return this.#initialize(params);
      case "ping":
        return {};
      case "tools/list":
        return this.#listTools(params);
      case "tools/call":
        return this.#callTool(params, id);
      case "resources/list":
        return { resources, ...(this.traits.has("repeating-resources") && { nextCursor: "again" }) };
      case "resources/templates/list":
        return { resourceTemplates: [{ uriTemplate: "test://notes/{id}", name: "A note" }] };
      case "resources/read":
        return this.#readResource(params);
      case "prompts/list":
        return { prompts };
      case "prompts/get":
        return this.#getPrompt(params);
      default:
        throw protocolError(METHOD_NOT_FOUND, `no method ${method}`);
    }
  }

  #initialize({ protocolVersion }) {
    if (this.traits.has("silent")) return undefined;
    if (this.traits.has("refuses")) throw protocolError(-32000, "we are closed on Mondays");
    if (this.traits.has("odd-handshake")) return { hello: "world" };
    const bare = this.traits.has("no-resources");
    return {
      protocolVersion: this.traits.has("old") ? "2024-11-05" : protocolVersion,
      capabilities: { tools: { listChanged: true }, ...(!bare && { resources: {}, prompts: {} }) },
      ...(this.traits.has("instructs") && { instructions: "Ask politely." }),
      serverInfo: { name: "misbehaving", version: this.traits.has("empty-version") ? "" : "4.5.6" },
    };
  }

  #listTools({ cursor }) {
    if (this.traits.has("silent-list")) return undefined;
    this.lists = (this.lists ?? 0) + 1;
    if (this.traits.has("restless")) setTimeout(() => this.notify("notifications/tools/list_changed"), 1);
    const listed = this.tools.map(({ handler, ...tool }) => tool);
    // 20,000 tools, all of them different each time.
    if (this.traits.has("multitude")) {
      const round = this.lists;
      for (let i = 0; i < 20_000; i++) listed.push(oneOfMany(i, round));
    }
    if (this.traits.has("strange-entries"))
      listed.push(null, 7, {}, { name: 8 }, { name: "" }, [], { ...listed[0], title: "Another" });
    if (this.traits.has("deep-schema")) {
      return { written: `{"tools":[${deepTool},${JSON.stringify(listed).slice(1)}}` };
    }
    if (this.traits.has("repeating-cursor")) return { tools: listed, nextCursor: "again" };
    if (this.traits.has("endless-pages")) {
      const page = Number(cursor ?? 0);
      return { tools: [{ ...listed[0], name: `endless-${page}` }], nextCursor: String(page + 1) };
    }
    if (!this.traits.has("pages")) return { tools: listed };
    const page = Number(cursor ?? 0);
    const next = page + 1 < listed.length ? { nextCursor: String(page + 1) } : {};
    return { tools: listed.slice(page, page + 1), ...next };
  }

  async #callTool({ name, arguments: args = {}, _meta = {} }, id) {
    const tool = this.tools.find((each) => each.name === name);
    if (tool === undefined || this.traits.has("forgetful"))
      throw protocolError(INVALID_PARAMS, `Unknown tool: ${name}`);
    if (this.traits.has("malformed-results")) return { written: '{"content":[}' };
    const isCancelled = () => this.cancelled.has(id);
    const progress = (params) => {
      if (_meta.progressToken === undefined) return;
      this.notify("notifications/progress", { progressToken: _meta.progressToken, ...params });
    };
    if (this.traits.has("talkative")) {
      const data = "x".repeat(1_000);
      for (let i = 0; i < 20_000; i++) this.notify("notifications/message", { level: "info", data });
    }
    if (this.traits.has("nosy")) {
      for (let i = 0; i < 10_000; i++)
        this.ask("elicitation/create", { message: `${i}?`, requestedSchema: {} });
    }
    const isLast = this.traits.has("crashes-every-50") && ++this.#calls % 50 === 0;
    // Sometimes it has done what it was asked for, and sometimes not.
    if (isLast && Math.random() < 0.5) this.end(1);
    const result = await tool.handler(args, { conversation: this, id, isCancelled, progress });
    if (isLast) this.end(1);
    return isCancelled() ? undefined : result;
  }

  #readResource({ uri }) {
    const resource = resources.find((each) => each.uri === uri);
    if (resource === undefined) throw protocolError(-32002, `Resource not found: ${uri}`);
    return { contents: [{ uri, mimeType: "text/plain", text: `the text of ${resource.name}` }] };
  }

  #getPrompt({ name, arguments: args = {} }) {
    if (name !== "greet") throw protocolError(INVALID_PARAMS, `Unknown prompt: ${name}`);
    return { messages: [{ role: "user", content: { type: "text", text: `Say hello to ${args.who}` } }] };
  }
}

function oneOfMany(index, round) {
  const properties = {};
  for (let i = 0; i < 10; i++) properties[`p${i}`] = { type: "string", pattern: `^[a-z${index}]+$` };
  const schema = { type: "object", properties, required: ["p0"] };
  return { name: `many-${index}`, description: `round ${round}`, inputSchema: schema, outputSchema: schema };
}

function protocolError(code, message) {
  return Object.assign(new Error(message), { code });
}
