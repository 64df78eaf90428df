// A hub in a process of its own. Says its address on standard output, and how much memory it has taken when it is called.

import { OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { operation } from "../registry/support/operations.mjs";

const registry = new OperationRegistry();
registry.registerAll([
  operation({ namespace: "demo", name: "size", handler: (input) => input.length }),
  operation({ namespace: "demo", name: "text", handler: (length) => "x".repeat(length) }),
  operation({
    namespace: "demo",
    name: "memory",
    handler: () => {
      globalThis.gc();
      return process.memoryUsage.rss();
    },
  }),
]);
const { url } = await serve(registry, { doors: { hub: true } });
process.stdout.write(`${url.replace("http", "ws")}/hub`);
