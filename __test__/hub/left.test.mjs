// Calls that cannot reach their hub, and names that are taken there.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, it } from "node:test";
import { PendingRequestMap } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { createWebSocketEventTarget } from "@alkdev/operations/transport-websocket";
import { WebSocket } from "ws";
import { ADA, eventually, failureOf, hubOf, operation, registryOf, spokeOf } from "./support.mjs";

const greet = operation({ namespace: "demo", name: "greet", handler: () => "Hello" });
const reconnect = { minDelay: 10, maxDelay: 50 };

it("a call on a socket that does not open fails when the socket closes, and was not delivered", async () => {
  const server = createServer((socket) => socket.destroy());
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  const socket = new WebSocket(`ws://127.0.0.1:${server.address().port}/`);
  const map = new PendingRequestMap(createWebSocketEventTarget(socket));
  const error = await failureOf(map.call("demo.greet", {}));
  assert.deepEqual([error.details.reason, error.details.delivery], ["peer-lost", "none"]);
  assert.equal(map.getPendingCount(), 0);
});

it("a call on a socket that reports an error and no close before it opens fails", async () => {
  const socket = Object.assign(new EventTarget(), { readyState: 0, send() {} });
  const map = new PendingRequestMap(createWebSocketEventTarget(socket));
  const failure = failureOf(map.call("demo.greet", {}));
  socket.dispatchEvent(new Event("error"));
  assert.equal((await failure).details.delivery, "none");
});

it("a call that waits for a hub fails when the hub refuses the token", async () => {
  const first = await hubOf([greet]);
  const port = Number(new URL(first.url).port);
  const spoke = await spokeOf(first.address, { token: "ada", reconnect });
  await first.served.close({ drain: 0 });
  await eventually(() => spoke.status().state === "disconnected");
  const waiting = failureOf(spoke.callMap.call("demo.greet", {}));
  const again = await serve(registryOf(greet), { port, doors: { hub: true }, tokens: { other: ADA } });
  after(() => again.close({ drain: 0 }));
  const error = await waiting;
  assert.equal(error.code, "ACCESS_DENIED");
  assert.match(error.message, /demo\.greet was not sent.*the hub refused the token/);
  const { reason, delivery, statusCode, operationId } = error.details;
  assert.deepEqual([reason, delivery, statusCode, operationId], ["refused", "none", 401, "demo.greet"]);
});

it("a new operation whose name is taken at the hub does not keep others out", async () => {
  const taken = operation({ namespace: "laptop", name: "write", handler: () => "the hub's" });
  const { address, registry } = await hubOf([taken], {
    hub: { accept: ({ name }) => ({ namespace: name }) },
  });
  const spoke = await spokeOf(address, { name: "laptop" });
  const mine = registryOf(operation({ namespace: "files", name: "read" }));
  await spoke.serve(mine);
  mine.register(operation({ namespace: "files", name: "write" }));
  mine.register(operation({ namespace: "notes", name: "read" }));
  mine.register(operation({ namespace: "files", name: "list" }));
  await eventually(() => registry.get("laptop.list") !== undefined);
  mine.register(operation({ namespace: "files", name: "move" }));
  mine.unregister("files.list");
  await eventually(
    () => registry.get("laptop.move") !== undefined && registry.get("laptop.list") === undefined,
  );
  assert.equal((await registry.execute("laptop.write", {})).data, "the hub's");
  assert.notEqual(registry.get("laptop.read"), undefined);
});
