// Operations over standard input and output, one of which needs an approval.

import { OperationRegistry } from "@alkdev/operations";
import { serveStdio } from "@alkdev/operations/serve";
import { removing } from "./served.mjs";

const calls = [];
const registry = new OperationRegistry();
registry.registerAll([
  removing(calls, {
    handler: (input) => ({ removed: true, calls: calls.push(input) }),
  }),
  removing(calls, {
    name: "decide",
    approval: "never",
    handler: ({ id }) => registry.approvals.decide(id, { approve: true }),
  }),
]);
await serveStdio(registry, { name: "stdio", version: "0.1.0" });
