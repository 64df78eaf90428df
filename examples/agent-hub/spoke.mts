// A laptop that joins the hub. The hub has its operations while it is connected.

import { createRegistry, defineOperation } from "@alkdev/operations";
import { connectHub } from "@alkdev/operations/transport-websocket";
import { Type } from "@sinclair/typebox";

const battery = defineOperation({
  namespace: "power",
  name: "battery",
  version: "1.0.0",
  type: "query",
  description: "How full the battery of the laptop is",
  inputSchema: Type.Object({}),
  outputSchema: Type.Object({ percent: Type.Integer() }),
  accessControl: { requiredScopes: [] },
  handler: () => ({ percent: 80 }),
});

export async function joinHub(url: string, token: string) {
  const hub = await connectHub(`${url.replace("http", "ws")}/hub`, { name: "laptop", token });
  await hub.serve(createRegistry([battery]));
  return hub;
}
