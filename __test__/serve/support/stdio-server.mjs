// A registry over standard input and output.

import { OperationRegistry } from "@alkdev/operations";
import { serveStdio } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";

const common = { namespace: "demo", version: "1.0.0", type: "query", description: "An operation" };
const registry = new OperationRegistry();
registry.registerAll([
  {
    ...common,
    name: "greet",
    inputSchema: Type.Object({ name: Type.String() }),
    outputSchema: Type.Object({ text: Type.String() }),
    accessControl: { requiredScopes: [] },
    handler: ({ name }) => ({ text: `Hello, ${name}` }),
  },
  {
    ...common,
    name: "who",
    inputSchema: Type.Object({}),
    outputSchema: Type.String(),
    accessControl: { requiredScopes: ["known"] },
    handler: (_, { identity }) => identity.id,
  },
]);
await serveStdio(registry, { name: "stdio", version: "0.1.0", identity: { id: "me", scopes: ["known"] } });
