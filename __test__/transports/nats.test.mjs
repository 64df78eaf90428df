// NATS as a transport: a worker, and a connection that calls it.

import { after, before } from "node:test";
import { connectNats } from "@alkdev/operations/transport-nats";
import { missingBroker, startNats } from "../support/brokers.mjs";
import { startProxy } from "../support/proxy.mjs";
import { ADA, transportTests } from "./kit.mjs";

const skip = missingBroker("nats-server");
let broker;
before(async () => {
  if (!skip) broker = await startNats();
});
after(() => broker?.stop());

let opened = 0;
transportTests("NATS", {
  skip,
  async open(registry) {
    opened += 1;
    const prefix = `kit${opened}`;
    const proxy = await startProxy(Number(new URL(broker.url).port));
    const there = await connectNats({ servers: `nats://127.0.0.1:${proxy.port}`, name: "worker", prefix });
    await there.serve(registry);
    const transport = await connectNats({ servers: broker.url, name: "caller", prefix });
    return {
      transport,
      as: { identity: ADA },
      changed: () => there.serve(registry),
      // As if its machine had gone.
      cut: () => proxy.cut(),
      shut: (options) => there.close(options),
      end: async () => {
        await transport.close({ drain: 0 });
        await proxy.stop().catch(() => {});
        await there.close({ drain: 0 });
      },
    };
  },
  lost: ["worker-lost"],
});
