// `await using` on everything that is opened.

import {
  createMCPClient,
  createPortEventTarget,
  createRegistry,
  MCPClientLoader,
  OpenAPIServiceRegistry,
  PendingRequestMap,
  subscribe,
} from "@alkdev/operations";
import { connectNats } from "@alkdev/operations/transport-nats";
import { createRedisEventTarget } from "@alkdev/operations/transport-redis";

declare const port: import("node:worker_threads").MessagePort;

export async function opened(): Promise<void> {
  await using server = await createMCPClient("files", { command: "files" });
  await using _client = server.client;
  await using _servers = new MCPClientLoader();
  await using _services = new OpenAPIServiceRegistry();
  await using nats = await connectNats({ servers: "nats://127.0.0.1", name: "worker" });
  await using target = createRedisEventTarget({ url: "redis://127.0.0.1" });
  using _port = createPortEventTarget(port);
  const registry = createRegistry([]);
  await using _a = subscribe(registry, "t.ticks" as never, {} as never);
  await using _b = registry.subscribe("t.ticks" as never, {} as never);
  await using _c = new PendingRequestMap(target).subscribe("t.ticks", {});
  await using _d = nats.callMap.subscribe("t.ticks", {});
  // @ts-expect-error: a registry holds nothing open
  await using _e = registry;
}
