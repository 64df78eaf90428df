// The same server, written with the official SDK as its documentation says: handlers return what they want to know, and run
// again with the answers. Clients of 2026-07-28 are served by `createMcpHandler`, older ones by a transport for each session.
// The SDK has no tasks, so there are none.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import {
  localhostHostValidation,
  localhostOriginValidation,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
  toWebRequest,
} from "@modelcontextprotocol/node";
import {
  completable,
  createMcpHandler,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  isLegacyRequest,
  McpServer,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import {
  aContact,
  aName,
  anOk,
  aUser,
  image,
  PNG,
  resource,
  says,
  schemaOf,
  text,
  WAV,
  withChoices,
  withDefaults,
} from "../fixture/content.mjs";

const codec = createRequestStateCodec({ key: randomUUID() + randomUUID() });
const content = (...blocks) => ({ content: blocks });
/** What comes and goes. */
const extra = { tool: false, prompt: false };

/** Goes on with the answers, once there is one to each question. Earlier answers travel with the client. */
async function asked(ctx, questions, next) {
  const answers = { ...ctx.mcpReq.requestState(), ...ctx.mcpReq.inputResponses };
  const open = Object.entries(questions).filter(([key]) => answers[key] === undefined);
  if (open.length === 0) return next(answers);
  return inputRequired({
    inputRequests: Object.fromEntries(open),
    requestState: await codec.mint(answers, ctx),
  });
}

const form = (message, requestedSchema) => inputRequired.elicit({ message, requestedSchema });
const sample = (prompt, maxTokens = 100) =>
  inputRequired.createMessage({ messages: says(text(prompt)), maxTokens });
const name = form("What is your name?", aName);
const capital = sample("What is the capital of France?");
const completed = ({ answer }) =>
  content(text(`Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content)}`));

function addTools(server, changed) {
  const tool = (name, handler, inputSchema) =>
    server.registerTool(`test_${name}`, { description: `The suite's ${name}`, inputSchema }, (...given) =>
      inputSchema === undefined ? handler({}, given[0]) : handler(...given),
    );
  tool("simple_text", () => content(text("This is a simple text response for testing.")));
  tool("image_content", () => content(image));
  tool("audio_content", () => content({ type: "audio", data: WAV, mimeType: "audio/wav" }));
  tool("embedded_resource", () =>
    content(resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
  );
  tool("multiple_content_types", () =>
    content(
      text("Multiple content types test:"),
      image,
      resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ),
  );
  tool("error_handling", () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  tool("reconnection", async (_, ctx) => {
    ctx.http?.closeSSE?.();
    await sleep(100);
    return content(text("The stream was left, and here is the result."));
  });
  tool(
    "routed",
    ({ region }) => content(text(`in ${region}`)),
    fromJsonSchema({
      type: "object",
      properties: { region: { type: "string", "x-mcp-header": "Region" } },
      required: ["region"],
    }),
  );
  tool("tool_with_logging", async (_, ctx) => {
    for (const line of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await ctx.mcpReq.log("info", line);
      await sleep(50);
    }
    return content(text("done"));
  });
  tool("logging_tool", async (_, ctx) => {
    await ctx.mcpReq.log("info", "a line");
    return content(text("done"));
  });
  tool("tool_with_progress", async (_, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      const params = { progressToken, progress, total: 100 };
      if (progressToken !== undefined) await ctx.mcpReq.notify({ method: "notifications/progress", params });
      await sleep(50);
    }
    return content(text("done"));
  });
  for (const kind of ["tool", "prompt"]) {
    tool(`trigger_${kind}_change`, () => {
      extra[kind] = !extra[kind];
      changed(kind);
      return content(text("changed"));
    });
  }
  if (extra.tool) tool("comes_and_goes", () => content(text("here")));
  server.registerTool(
    "json_schema_2020_12_tool",
    { description: "The suite's", inputSchema: fromJsonSchema(aContact) },
    () => content(text("done")),
  );
  addQuestions(server, tool);
}

function addQuestions(server, tool) {
  tool(
    "sampling",
    ({ prompt }, ctx) =>
      asked(ctx, { answer: sample(prompt) }, ({ answer }) =>
        content(text(`LLM response: ${answer.content.text}`)),
      ),
    z.object({ prompt: z.string() }),
  );
  tool(
    "elicitation",
    ({ message }, ctx) => asked(ctx, { answer: form(message, aUser) }, completed),
    z.object({ message: z.string() }),
  );
  tool("elicitation_sep1034_defaults", (_, ctx) =>
    asked(ctx, { answer: form("Please check", withDefaults) }, completed),
  );
  tool("elicitation_sep1330_enums", (_, ctx) =>
    asked(ctx, { answer: form("Please choose", withChoices) }, completed),
  );
  tool("input_required_result_elicitation", (_, ctx) =>
    asked(ctx, { user_name: name }, ({ user_name }) => content(text(`Hello, ${user_name.content?.name}!`))),
  );
  tool("input_required_result_sampling", (_, ctx) =>
    asked(ctx, { capital_question: capital }, ({ capital_question }) =>
      content(text(capital_question.content.text)),
    ),
  );
  tool("input_required_result_list_roots", (_, ctx) =>
    asked(ctx, { client_roots: inputRequired.listRoots() }, ({ client_roots }) =>
      content(text(client_roots.roots.map(({ uri }) => uri).join(", "))),
    ),
  );
  for (const state of ["request", "tampered"]) {
    tool(`input_required_result_${state}_state`, (_, ctx) =>
      asked(ctx, { confirm: form("Please confirm", anOk) }, () => content(text("state-ok"))),
    );
  }
  tool("input_required_result_multiple_inputs", (_, ctx) => {
    const questions = {
      user_name: name,
      greeting: sample("Generate a greeting", 50),
      client_roots: inputRequired.listRoots(),
    };
    return asked(ctx, questions, ({ user_name, greeting }) =>
      content(text(`${greeting.content.text} ${user_name.content?.name}`)),
    );
  });
  tool("input_required_result_multi_round", (_, ctx) =>
    asked(ctx, { step1: form("Step 1: What is your name?", aName) }, ({ step1 }) => {
      const color = schemaOf({ color: { type: "string" } }, ["color"]);
      return asked(ctx, { step2: form("Step 2: What is your favorite color?", color) }, ({ step2 }) =>
        content(text(`${step1.content?.name} likes ${step2.content?.color}`)),
      );
    }),
  );
  const declared = (ctx) =>
    ctx.mcpReq.envelope?.["io.modelcontextprotocol/clientCapabilities"] ??
    server.server.getClientCapabilities() ??
    {};
  tool("input_required_result_capabilities", (_, ctx) => {
    const { elicitation, sampling } = declared(ctx);
    const questions = { ...(elicitation && { user_name: name }), ...(sampling && { capital }) };
    return asked(ctx, questions, () => content(text("done")));
  });
  tool("streaming_elicitation", (_, ctx) => asked(ctx, { user_name: name }, () => content(text("done"))));
  // The SDK itself refuses clients that cannot be asked.
  tool("missing_capability", (_, ctx) =>
    asked(ctx, { capital }, (answers) => content(answers.capital.content)),
  );
}

function addResources(server) {
  const texts = {
    "static-text": "This is the content of the static text resource.",
    "watched-resource": "This can be watched.",
  };
  for (const [name, text] of Object.entries(texts)) {
    server.registerResource(name, `test://${name}`, { mimeType: "text/plain" }, ({ href }) => ({
      contents: [{ uri: href, mimeType: "text/plain", text }],
    }));
  }
  server.registerResource("static-binary", "test://static-binary", { mimeType: "image/png" }, ({ href }) => ({
    contents: [{ uri: href, mimeType: "image/png", blob: PNG }],
  }));
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { mimeType: "application/json" },
    ({ href }, { id }) => {
      const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
      return { contents: [{ uri: href, mimeType: "application/json", text }] };
    },
  );
  server.server.setRequestHandler("resources/subscribe", () => ({}));
  server.server.setRequestHandler("resources/unsubscribe", () => ({}));
}

function addPrompts(server) {
  const prompt = (name, handler, argsSchema) =>
    server.registerPrompt(`test_${name}`, { description: `The suite's ${name}`, argsSchema }, (...given) =>
      argsSchema === undefined ? handler({}, given[0]) : handler(...given),
    );
  const messages = (...blocks) => ({ messages: says(...blocks) });
  prompt("simple_prompt", () => messages(text("This is a simple prompt for testing.")));
  prompt(
    "prompt_with_arguments",
    ({ arg1, arg2 }) => messages(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
    z.object({
      arg1: completable(z.string().describe("First test argument"), (value) =>
        ["test1", "test2", "paris"].filter((word) => word.startsWith(value)),
      ),
      arg2: z.string().describe("Second test argument"),
    }),
  );
  prompt(
    "prompt_with_embedded_resource",
    ({ resourceUri }) =>
      messages(
        resource(resourceUri, "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
      ),
    z.object({ resourceUri: z.string() }),
  );
  prompt("prompt_with_image", () => messages(image, text("Please analyze the image above.")));
  prompt("input_required_result_prompt", (_, ctx) => {
    const requestedSchema = schemaOf({ context: { type: "string" } }, ["context"]);
    const question = form("What context should the prompt use?", requestedSchema);
    return asked(ctx, { user_context: question }, ({ user_context }) =>
      messages(text(`Use this context: ${user_context.content?.context}`)),
    );
  });
  if (extra.prompt) prompt("prompt_comes_and_goes", () => messages(text("here")));
}

function build(changed) {
  const server = new McpServer(
    { name: "reference", version: "1.0.0" },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        completions: {},
      },
      requestState: { verify: codec.verify },
    },
  );
  addTools(server, changed);
  addResources(server);
  addPrompts(server);
  return server;
}

/** What was sent on streams, for clients that come back to them. */
class Events {
  #events = [];

  async storeEvent(stream, message) {
    this.#events.push({ stream, message });
    return String(this.#events.length - 1);
  }

  async getStreamIdForEventId(id) {
    return this.#events[Number(id)]?.stream;
  }

  async replayEventsAfter(last, { send }) {
    const stream = this.#events[Number(last)]?.stream;
    for (let id = Number(last) + 1; id < this.#events.length; id++) {
      const event = this.#events[id];
      if (event.stream === stream) await send(String(id), event.message);
    }
    return stream;
  }
}

const sessions = new Map();
const modern = createMcpHandler(() => build(changed), { legacy: "reject" });
const serveModern = toNodeHandler(modern);

function changed(kind) {
  if (kind === "tool") modern.notify.toolsChanged();
  else modern.notify.promptsChanged();
  for (const { server } of sessions.values()) {
    if (kind === "tool") server.sendToolListChanged();
    else server.sendPromptListChanged();
  }
}

async function serveOlder(request, response, body) {
  const known = sessions.get(request.headers["mcp-session-id"]);
  if (known !== undefined) return known.transport.handleRequest(request, response, body);
  if (request.headers["mcp-session-id"] !== undefined) return response.writeHead(404).end();
  const server = build(changed);
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new Events(),
    retryInterval: 500,
    onsessioninitialized: (id) => sessions.set(id, { server, transport }),
    onsessionclosed: (id) => sessions.delete(id),
  });
  await server.connect(transport);
  return transport.handleRequest(request, response, body);
}

async function bodyOf(request) {
  let read = "";
  for await (const piece of request.setEncoding("utf8")) read += piece;
  try {
    return JSON.parse(read);
  } catch {
    return undefined;
  }
}

const isLocal = [localhostHostValidation(), localhostOriginValidation()];
async function answer(request, response) {
  const body = request.method === "POST" ? await bodyOf(request) : undefined;
  const isOlder = await isLegacyRequest(await toWebRequest(request, body), body);
  if (isOlder) await serveOlder(request, response, body);
  else await serveModern(request, response, body);
}

const listener = createServer((request, response) => {
  if (!isLocal.every((guard) => guard(request, response))) return;
  answer(request, response).catch((error) => {
    console.error(error);
    response.destroy();
  });
});
listener.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${listener.address().port}/mcp`));
process.stdin.resume().on("end", () => process.exit(0));
