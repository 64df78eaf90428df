// A registry with an operation that needs an approval, and clients of its MCP door.

import { OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Type } from "@sinclair/typebox";

export const PREFIX = "io.modelcontextprotocol/";
export const APPROVAL = "operations/approval";
export const tokens = { ada: { id: "ada", scopes: [] }, bob: { id: "bob", scopes: ["approvals:decide"] } };

/** An operation that needs an approval. */
export function removing(calls, more = {}) {
  return {
    namespace: "files",
    name: "remove",
    version: "1.0.0",
    type: "mutation",
    description: "Removes a file",
    inputSchema: Type.Object({ path: Type.Optional(Type.String()) }, { additionalProperties: true }),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
    approval: "always",
    handler: async (input) => {
      calls.push(input);
      return { removed: true };
    },
    ...more,
  };
}

/** Serves it until the test is over. */
export async function served(t, { doors, approvals, operations = [], ...options } = {}) {
  const calls = [];
  const registry = new OperationRegistry({ approvals });
  registry.registerAll([removing(calls), ...operations]);
  const server = await serve(registry, { doors: { mcp: true, http: true, ...doors }, tokens, ...options });
  t.after(() => server.close({ drain: 0 }));
  return { calls, registry, url: server.url, server };
}

/** A client of an older revision, which answers as it is asked, if it can be. */
export async function older(t, url, { answer, capabilities, who = "ada" } = {}) {
  const client = new Client(
    { name: "test", version: "1" },
    { capabilities: capabilities ?? (answer === undefined ? {} : { elicitation: {} }) },
  );
  const asked = [];
  if (answer !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params);
      return answer(params, asked.length);
    });
  }
  const requestInit = { headers: { authorization: `Bearer ${who}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  t.after(() => client.close());
  const call = (args, { meta, name = "files_remove" } = {}) =>
    client.callTool({ name, arguments: args, ...(meta && { _meta: meta }) });
  return { client, asked, call };
}

/** A request of a client of 2026-07-28. */
export async function newer(url, method, params, { elicitation = {}, who = "ada", meta = {}, tasks } = {}) {
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${who}`,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      "mcp-name": params.name ?? params.uri ?? params.taskId,
    },
    body: JSON.stringify({
      ...{ jsonrpc: "2.0", id: 1, method },
      params: {
        ...params,
        _meta: {
          [`${PREFIX}protocolVersion`]: "2026-07-28",
          [`${PREFIX}clientCapabilities`]: {
            ...(elicitation && { elicitation }),
            ...(tasks && { extensions: { [`${PREFIX}tasks`]: {} } }),
          },
          ...meta,
        },
      },
    }),
  });
  return { response, ...(await response.json()) };
}

/** The same for the tool that needs an approval. */
export const remove = (url, args, { inputResponses, requestState, ...more } = {}) =>
  newer(
    url,
    "tools/call",
    {
      ...{ name: "files_remove", arguments: args },
      ...(inputResponses && { inputResponses }),
      ...(requestState && { requestState }),
    },
    more,
  );

/** The same answer to all that a result wants to know. */
export const answers = ({ inputRequests }, action = "accept") =>
  Object.fromEntries(Object.keys(inputRequests).map((key) => [key, { action }]));

export const errorOf = ({ _meta }) => _meta["alkdev.operations/error"];
