// What every way of building has to make run: a local operation with a format of the user's, an HTTP API, a stdio MCP server
// (OPERATIONS_TEST_SERVER: its command, as JSON), and a port with the explorer.

import assert from "node:assert/strict";
import {
  closeMCPClient,
  createMCPClient,
  createRegistry,
  defineOperation,
  FromOpenAPI,
  OperationRegistry,
} from "@alkdev/operations";
import { serve, toOpenAPI } from "@alkdev/operations/serve";
import { FormatRegistry, Type } from "@sinclair/typebox";

FormatRegistry.Set("even", (value) => value.length % 2 === 0);

const greet = defineOperation({
  namespace: "demo",
  name: "greet",
  version: "1.0.0",
  type: "query",
  description: "Greets by name",
  inputSchema: Type.Object({ name: Type.String({ format: "even" }) }),
  outputSchema: Type.Object({ greeting: Type.String() }),
  accessControl: { requiredScopes: [] },
  handler: ({ name }) => ({ greeting: `Hello ${name}` }),
});

export async function main(print = console.log) {
  const registry = createRegistry([greet]);
  const { data } = await registry.execute("demo.greet", { name: "Anna" });
  print(data.greeting);
  await assert.rejects(registry.execute("demo.greet", { name: "Ada" }), { code: "VALIDATION_ERROR" });

  const server = await serve(registry, { port: 0, doors: { http: true, explorer: true } });
  const imported = new OperationRegistry();
  imported.registerAll(
    FromOpenAPI(toOpenAPI(registry, { title: "Demo", version: "1" }), {
      namespace: "remote",
      baseUrl: `${server.url}/api`,
    }),
  );
  const [id] = imported.list().map((spec) => `${spec.namespace}.${spec.name}`);
  const answer = await imported.execute(id, { name: "Otto" }, {});
  assert.deepEqual(answer.data, { greeting: "Hello Otto" });
  assert.match(await (await fetch(server.url)).text(), /<script type="module" src="\.?\/?main\.mjs"/);

  const client = await createMCPClient("notes", JSON.parse(process.env.OPERATIONS_TEST_SERVER));
  imported.registerAll(client.tools);
  const { data: found } = await imported.execute("notes.find_notes", { text: "letter" }, {});
  assert.equal(found.notes.length, 1);
  await closeMCPClient(client);
  await server.close();
  print("built ok");
}

if (process.env.NEXT_RUNTIME === undefined) main();
