// A server of the protocol's newer generation (2026-07-28), on its authors' own SDK: stateless, and with
// questions to the user as results that ask for another round.

import { fromJsonSchema, inputRequired, inputResponse, McpServer } from "@modelcontextprotocol/server";
import { sleep } from "../../support/waiting.mjs";

const schema = (properties, required = Object.keys(properties)) =>
  fromJsonSchema({ type: "object", properties, required });
const text = (value) => ({ content: [{ type: "text", text: value }] });

export function modernServer({ knowsNews = false } = {}) {
  const server = new McpServer(
    { name: "modern", version: "7.8.9" },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.registerTool(
    "add",
    {
      description: "Adds two numbers",
      inputSchema: schema({ a: { type: "number" }, b: { type: "number" } }),
      outputSchema: schema({ sum: { type: "number" } }),
    },
    ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
  );
  server.registerTool(
    "steps",
    { description: "Tells how far it is", inputSchema: schema({ steps: { type: "integer" } }) },
    async ({ steps }, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (let progress = 1; progress <= steps; progress++) {
        await sleep(5);
        if (progressToken === undefined) continue;
        await mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken, progress, total: steps },
        });
      }
      return text("done");
    },
  );
  server.registerTool(
    "greet",
    { description: "Asks for a name", inputSchema: schema({}) },
    (_, { mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, "name");
      if (answer.kind !== "missing") return text(`${answer.action}: ${answer.content?.name}`);
      return inputRequired({
        inputRequests: {
          name: inputRequired.elicit({
            message: "What is your name?",
            requestedSchema: { type: "object", properties: { name: { type: "string" } } },
          }),
        },
      });
    },
  );
  const learn = () =>
    server.registerTool("news", { description: "New", inputSchema: schema({}) }, () => text("news work"));
  let hasLearnt = knowsNews;
  if (hasLearnt) learn();
  server.registerTool("learn", { description: "The server gains a tool", inputSchema: schema({}) }, () => {
    if (hasLearnt) server.sendToolListChanged();
    else learn();
    hasLearnt = true;
    return text("learnt");
  });
  return server;
}
