// WebSocket as a transport: a spoke that calls its hub.

import { serve } from "@alkdev/operations/serve";
import { connectHub } from "@alkdev/operations/transport-websocket";
import { startProxy } from "../support/proxy.mjs";
import { ADA, transportTests } from "./kit.mjs";

const GATEWAY = { ...ADA, scopes: [...ADA.scopes, "hub:impersonate"] };

transportTests("WebSocket", {
  async open(registry) {
    // An imported operation is called as whoever calls it, so this connection may speak for others.
    const served = await serve(registry, {
      doors: { hub: true },
      tokens: { t: GATEWAY },
      allowedHosts: ["127.0.0.1"],
    });
    const proxy = await startProxy(Number(new URL(served.url).port));
    const address = `ws://127.0.0.1:${proxy.port}/hub`;
    const transport = await connectHub(address, { name: "kit", token: "t", reconnect: false });
    return {
      transport,
      cut: () => proxy.stop(),
      shut: (options) => served.close(options),
      end: async () => {
        await transport.close({ drain: 0 });
        await served.close({ drain: 0 });
        await proxy.stop().catch(() => {});
      },
    };
  },
  lost: ["peer-lost"],
});
