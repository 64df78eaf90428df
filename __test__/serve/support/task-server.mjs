// A server with tasks in a process of its own: `node task-server.mjs <options>`, the options of tasks as JSON, and a port if it matters. It writes its address, and runs until it is
// ended.

import { setTimeout as sleep } from "node:timers/promises";
import { OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";

const registry = new OperationRegistry();
registry.register({
  namespace: "x",
  name: "wait",
  version: "1.0.0",
  type: "mutation",
  description: "Waits",
  inputSchema: Type.Object({ ms: Type.Number() }),
  outputSchema: Type.Object({ waited: Type.Number() }),
  accessControl: { requiredScopes: [] },
  _meta: { mcp: { task: true } },
  handler: async ({ ms }) => {
    await sleep(ms);
    return { waited: ms };
  },
});
const served = await serve(registry, {
  port: Number(process.argv[3] ?? 0),
  doors: { mcp: { tasks: JSON.parse(process.argv[2]) } },
  tokens: { ada: { id: "ada", scopes: [] }, bob: { id: "bob", scopes: [] } },
  anonymous: true,
});
console.log(served.url);
