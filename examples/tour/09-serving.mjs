// A registry as a server: every operation for any HTTP client, any OpenAPI client and any MCP client.

import { CallError, FromOpenAPIUrl, OperationRegistry, OperationType, unwrap } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Type } from "@sinclair/typebox";
import { say, show } from "./show.mjs";

const TOKEN = "a-token-of-ada";

export default async function serving() {
  const served = await serve(tasks(), {
    doors: { http: true, mcp: { name: "tasks", version: "1.0.0" } },
    tokens: { [TOKEN]: { id: "ada", scopes: ["tasks:write"] } },
  });
  try {
    await call(served);
  } finally {
    await served.close();
  }
}

async function call(served) {
  const authorization = `Bearer ${TOKEN}`;

  say("A QUERY is a GET, everything else a POST with its input as JSON:");
  const found = await fetch(`${served.url}/api/tasks/find?text=plants&limit=1`, {
    headers: { authorization },
  });
  show("GET /api/tasks/find", await found.json());
  const post = (headers, input) =>
    fetch(`${served.url}/api/tasks/add`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(input),
    });
  show("POST /api/tasks/add", await (await post({ authorization }, { title: "Post the letter" })).json());

  say("Errors are problem details, and access rules hold for everybody:");
  for (const response of [await post({}, { title: "x" }), await post({ authorization }, { titel: "x" })]) {
    const { status, code, mayHaveRun } = await response.json();
    show(`${status} ${code}`, `mayHaveRun: ${mayHaveRun}`);
  }

  say("A SUBSCRIPTION is an event stream:");
  const events = await fetch(`${served.url}/api/tasks/countdown`, {
    method: "POST",
    headers: { authorization },
  });
  show(
    "POST /api/tasks/countdown",
    (await events.text()).trim().split("\n\n").join(" | ").replaceAll("\n", ", "),
  );

  say(
    "The document at /api/openapi.json tells of what its reader may call. Imported, it gives the same operations:",
  );
  const remote = new OperationRegistry();
  remote.registerAll(
    await FromOpenAPIUrl(`${served.url}/api/openapi.json`, {
      auth: { type: "bearer", token: TOKEN },
      documentHeaders: { authorization },
    }),
  );
  for (const { namespace, name, type, _meta } of remote.getAllSpecs()) {
    show(`${namespace}.${name}`, `${type}, ${_meta.method} ${_meta.path}`);
  }
  show("tasks.find, from afar", unwrap(await remote.execute("tasks.find", { text: "letter" }, {})));
  await remote.execute("tasks.add", { title: "" }, {}).catch(({ code, message }) => show(code, message));

  say("And to an MCP client, they are tools:");
  const client = new Client({ name: "tour", version: "1.0.0" });
  const requestInit = { headers: { authorization } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${served.url}/mcp`), { requestInit }));
  const { tools } = await client.listTools();
  show("tools", tools.map(({ name }) => name).join(", "));
  const result = await client.callTool({ name: "tasks_find", arguments: { text: "plants" } });
  show("tasks_find", result.structuredContent);
  await client.close();

  const { requests, refused } = served.stats();
  show("requests", `${requests}, ${refused} of them refused`);
}

function tasks() {
  const titles = ["Water the plants"];
  const registry = new OperationRegistry();
  const operation = (name, type, more) => ({
    namespace: "tasks",
    name,
    version: "1.0.0",
    type,
    description: `${name} of the tour`,
    inputSchema: Type.Unknown(),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
    ...more,
  });
  registry.registerAll([
    operation("find", OperationType.QUERY, {
      inputSchema: Type.Object({ text: Type.String(), limit: Type.Optional(Type.Integer()) }),
      outputSchema: Type.Object({ titles: Type.Array(Type.String()) }),
      handler: ({ text, limit }) => ({
        titles: titles.filter((title) => title.includes(text)).slice(0, limit),
      }),
    }),
    operation("add", OperationType.MUTATION, {
      inputSchema: Type.Object({ title: Type.String() }),
      outputSchema: Type.Object({ id: Type.Integer() }),
      accessControl: { requiredScopes: ["tasks:write"] },
      errorSchemas: [
        { code: "NO_TITLE", description: "A task needs a title", schema: Type.Unknown(), httpStatus: 422 },
      ],
      handler: ({ title }) => {
        if (title === "") throw new CallError("NO_TITLE", "A task needs a title");
        return { id: titles.push(title) };
      },
    }),
    operation("countdown", OperationType.SUBSCRIPTION, {
      handler: async function* () {
        yield* [3, 2, 1];
      },
    }),
  ]);
  return registry;
}
