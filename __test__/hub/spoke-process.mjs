// A spoke in a process of its own. Says something on standard output when it serves, and whenever a call begins.

import { OperationRegistry } from "@alkdev/operations";
import { connectHub } from "@alkdev/operations/transport-websocket";
import { operation, subscription } from "../registry/support/operations.mjs";

const { address, name, ...options } = JSON.parse(process.argv[2]);
const say = (text) => process.stdout.write(`${text}\n`);
const registry = new OperationRegistry();
registry.registerAll([
  operation({ namespace: "spoke", name: "pid", handler: () => process.pid }),
  operation({ namespace: "spoke", name: "echo", handler: (input) => input }),
  operation({
    namespace: "spoke",
    name: "hang",
    handler: () => {
      say("hanging");
      return new Promise(() => {});
    },
  }),
  subscription({
    namespace: "spoke",
    name: "count",
    handler: async function* ({ to }) {
      for (let n = 0; n < to; n++) yield n;
    },
  }),
]);
const hub = await connectHub(address, { name, reconnect: { minDelay: 20, maxDelay: 200 }, ...options });
await hub.serve(registry);
say("serving");
