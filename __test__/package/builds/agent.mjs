// A coding agent's use of the package, in the shape of opencode's: MCP servers from a configuration file (the first argument),
// some of which fail or want a login, tools for the AI SDK, results that are too large for a prompt in files. Prints JSON.

import { readFileSync, statSync } from "node:fs";
import { defineOperation, MCPClientLoader, OperationRegistry } from "@alkdev/operations";
import { toAISDKTools } from "@alkdev/operations/tools";
import { Type } from "@sinclair/typebox";
import { generateText, stepCountIs } from "ai";

const SPILL_OVER = 50_000;

/** The configuration as users write it: a command is one list, and each server has a kind. */
function serversOf({ mcp }) {
  const servers = {};
  for (const [name, { type, command, url, enabled = true, environment }] of Object.entries(mcp)) {
    if (!enabled) continue;
    const [program, ...args] = command ?? [];
    servers[name] =
      type === "local" ? { command: program, args, env: environment } : { url, connectTimeout: 10_000 };
  }
  return servers;
}

/** What the interface shows for each server. */
function statusOf(failures, connected) {
  const status = {};
  for (const { name } of connected) status[name] = "connected";
  for (const { name, error } of failures) {
    status[name] = error.details?.status === 401 ? "needs_auth" : "failed";
  }
  return status;
}

const read = defineOperation({
  namespace: "files",
  name: "read",
  version: "1.0.0",
  type: "query",
  description: "A file of the project",
  inputSchema: Type.Object({ lines: Type.Integer() }),
  outputSchema: Type.String(),
  accessControl: { requiredScopes: [] },
  handler: ({ lines }) => "a line of a file\n".repeat(lines),
});

/** A model that calls each tool once, by the end of its name, and then says what it got. */
function modelCalling(...calls) {
  let turn = 0;
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  return {
    specificationVersion: "v4",
    provider: "none",
    modelId: "none",
    supportedUrls: {},
    async doGenerate({ prompt, tools }) {
      const call = calls[turn++];
      const reason = call === undefined ? "stop" : "tool-calls";
      const content =
        call === undefined
          ? { type: "text", text: JSON.stringify(prompt.filter(({ role }) => role === "tool")) }
          : {
              type: "tool-call",
              toolCallId: `call-${turn}`,
              toolName: tools.find(({ name }) => name.endsWith(call.tool)).name,
              input: JSON.stringify(call.input),
            };
      return { content: [content], finishReason: { unified: reason, raw: reason }, usage, warnings: [] };
    },
  };
}

async function main() {
  const registry = new OperationRegistry({ spill: { over: SPILL_OVER } });
  registry.register(read);
  const loader = new MCPClientLoader();
  const config = JSON.parse(readFileSync(process.argv.at(-1), "utf8"));
  const { failures, wrappers } = await loader.load(serversOf(config), { partial: true });
  loader.registerAll(registry, { keepInStep: true });

  const { text } = await generateText({
    model: modelCalling(
      { tool: "find_notes", input: { text: "letter" } },
      { tool: "read", input: { lines: 2 } },
    ),
    tools: toAISDKTools(registry),
    prompt: "What is left to do?",
    stopWhen: stepCountIs(5),
  });
  const { data, meta } = await registry.execute("files.read", { lines: 10_000 });
  console.log(
    JSON.stringify({
      status: statusOf(failures, wrappers),
      said: text,
      spilled: { bytes: statSync(meta.spill.path).size, preview: data.length < SPILL_OVER },
    }),
  );
  await loader.closeAll();
}

main();
