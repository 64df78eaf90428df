// A hub and a spoke: the hub has the spoke's operations as its own while it is there.

import { createRegistry, OperationRegistry, unwrap } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { connectHub } from "@alkdev/operations/transport-websocket";
import { Type } from "@sinclair/typebox";
import { say, show } from "./show.mjs";

const laptop = createRegistry([
  {
    namespace: "files",
    name: "read",
    version: "1.0.0",
    type: "query",
    description: "The text of a file",
    inputSchema: Type.Object({ path: Type.String() }),
    outputSchema: Type.Object({ path: Type.String(), readBy: Type.String() }),
    accessControl: { requiredScopes: [] },
    handler: ({ path }, { identity }) => ({ path, readBy: identity?.id ?? "anonymous" }),
  },
]);

export default async function hubAndSpokes() {
  const registry = new OperationRegistry();
  const served = await serve(registry, {
    doors: { hub: { accept: ({ name }) => ({ namespace: name }) }, http: true },
    tokens: { "a-token": { id: "ada", scopes: [] } },
  });
  const address = `${served.url.replace("http", "ws")}/hub`;

  say("A spoke connects and offers what it has:");
  const spoke = await connectHub(address, { name: "laptop", token: "a-token" });
  show("the hub calls it", (await spoke.serve(laptop)).operations);
  show(
    "spokes",
    served.hub.spokes.list().map(({ name, identity }) => `${name} (${identity.id})`),
  );

  say("It is in the hub's registry, and behind its other doors:");
  const bob = { identity: { id: "bob", scopes: [] } };
  show("registry.execute", unwrap(await registry.execute("laptop.read", { path: "/a" }, bob)));
  const answer = await fetch(`${served.url}/api/laptop/read?path=/b`, {
    headers: { authorization: "Bearer a-token" },
  });
  show("over HTTP", await answer.json());

  say("Others discover it, and have it as their own:");
  const agent = await connectHub(address, { name: "agent", token: "a-token" });
  const { operations } = await agent.discover();
  show(
    "discovered",
    operations.map(({ namespace, name }) => `${namespace}.${name}`),
  );
  const mine = new OperationRegistry();
  await agent.import({ keepInStep: mine });
  show("mine.execute", unwrap(await mine.execute("laptop.read", { path: "/c" })));

  const left = new Promise((resolve) => served.hub.spokes.on("left", resolve));
  await spoke.close();
  await left;
  show("after the spoke has left", registry.list());
  await agent.close();
  await served.close();
}
