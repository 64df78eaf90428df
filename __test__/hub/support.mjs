// A hub, sockets that speak to it by hand, and spokes.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { connectHub } from "@alkdev/operations/transport-websocket";
import { WebSocket } from "ws";

export { operation, subscription } from "../registry/support/operations.mjs";
export { registryOf } from "../support/registry.mjs";
export { deferred, failureOf, until as eventually } from "../support/waiting.mjs";

export const ADA = { id: "ada", scopes: ["read"] };
export const BOB = { id: "bob", scopes: [] };
export const PROXY = { id: "proxy", scopes: ["hub:impersonate"] };
/** Tokens and whose they are. */
export const tokens = { ada: ADA, bob: BOB, proxy: PROXY };

/** Serves operations at a hub until the tests of the file are done. */
export async function hubOf(operations = [], { hub = true, ...options } = {}) {
  const registry = new OperationRegistry();
  registry.registerAll(operations);
  const served = await serve(registry, { doors: { hub, http: true }, tokens, anonymous: true, ...options });
  after(() => served.close({ drain: 0 }));
  const address = `${served.url.replace("http", "ws")}/hub`;
  return { served, registry, address, url: served.url, spokes: served.hub.spokes };
}

/** A connection that is closed when the tests of the file are done. */
export async function spokeOf(address, options = {}) {
  const spoke = await connectHub(address, { name: "spoke", ...options });
  after(() => spoke.close({ drain: 0 }));
  return spoke;
}

/** A socket without our package: frames that it got, and ways to send and to wait. */
export async function bareSocket(address, { protocols = [], ...options } = {}) {
  const socket = new WebSocket(address, protocols, options);
  const frames = [];
  const waiting = new Set();
  const closed = new Promise((resolve) => {
    socket.on("close", (code, reason) => resolve({ code, reason: String(reason) }));
  });
  socket.on("message", (data, isBinary) => {
    frames.push(isBinary ? data : JSON.parse(String(data)));
    for (const look of waiting) look();
  });
  socket.on("error", () => {});
  await once(socket, "open");
  after(() => socket.terminate());
  const until = (find) =>
    new Promise((resolve) => {
      const look = () => {
        const found = frames.find(find);
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  const send = (type, payload, id = "") => socket.send(JSON.stringify({ type, id, payload }));
  return {
    socket,
    frames,
    closed,
    until,
    send,
    /** Calls an operation, and waits for the first event about it. */
    call: (operationId, input, more = {}) => {
      const requestId = crypto.randomUUID();
      send("call.requested", { requestId, operationId, input, ...more });
      return until(({ payload }) => payload?.requestId === requestId);
    },
  };
}

/** A spoke in a process of its own, which serves the operations of `spoke-process.mjs`. */
export async function spokeProcess(address, name, options = {}) {
  const file = fileURLToPath(new URL("spoke-process.mjs", import.meta.url));
  const child = spawn(process.execPath, [file, JSON.stringify({ address, name, ...options })], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  after(() => child.kill("SIGKILL"));
  child.said = [];
  child.stdout.setEncoding("utf8").on("data", (text) => child.said.push(text));
  await once(child.stdout, "data");
  return child;
}
