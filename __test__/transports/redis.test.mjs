// Redis as a transport: a worker, and a connection that calls it.

import { after, before } from "node:test";
import { connectRedis } from "@alkdev/operations/transport-redis";
import { missingBroker, startRedis } from "../support/brokers.mjs";
import { startProxy } from "../support/proxy.mjs";
import { ADA, transportTests } from "./kit.mjs";

const skip = missingBroker("redis-server");
let broker;
before(async () => {
  if (!skip) broker = await startRedis();
});
after(() => broker?.stop());

let opened = 0;
transportTests("Redis", {
  skip,
  async open(registry) {
    opened += 1;
    const prefix = `kit${opened}:`;
    const proxy = await startProxy(broker.port);
    const there = await connectRedis({ url: broker.url, name: "worker", prefix });
    await there.serve(registry);
    const url = `redis://127.0.0.1:${proxy.port}`;
    const transport = await connectRedis({ url, name: "caller", prefix });
    return {
      transport,
      as: { identity: ADA },
      cut: () => proxy.stop(),
      shut: (options) => there.close(options),
      end: async () => {
        await transport.close({ drain: 0 });
        await proxy.stop().catch(() => {});
        await there.close({ drain: 0 });
      },
    };
  },
  lost: ["connection-lost"],
});
