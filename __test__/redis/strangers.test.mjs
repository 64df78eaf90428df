// Servers that are no Redis: whatever they do, a call has an end, and says why.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, describe, it } from "node:test";
import { PendingRequestMap } from "@alkdev/operations";
import { assertNoStalls } from "../support/event-loop.mjs";
import { closeTargets, openTarget } from "./support.mjs";

assertNoStalls();

async function listening(onConnection) {
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    onConnection(socket);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url: `redis://127.0.0.1:${server.address().port}`, stop };
}

describe("a server that is no Redis", () => {
  const servers = [];
  after(async () => {
    await closeTargets();
    await Promise.all(servers.map(({ stop }) => stop()));
  });

  const endless = Buffer.alloc(64 * 1024, "x");
  for (const [what, onConnection, message] of [
    ["says nothing", () => {}, /took too long/],
    ["closes at once", (socket) => socket.destroy(), /not sent/],
    ["speaks HTTP", (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"), /not speak RESP 2/],
    [
      "sends a line without end",
      (socket) => {
        socket.write("+");
        const more = () => {
          while (!socket.destroyed && socket.write(endless));
        };
        socket.on("drain", more);
        more();
      },
      /line of the server is too long/,
    ],
    [
      "sends a list without end",
      (socket) => socket.write("*2147483647\r\n"),
      /array of the server is too long/,
    ],
    ["sends deep nesting", (socket) => socket.write("*1\r\n".repeat(100_000)), /not sent/],
  ]) {
    it(`a server that is no Redis and ${what} fails calls with what is wrong`, async () => {
      const server = await listening(onConnection);
      servers.push(server);
      const map = new PendingRequestMap(openTarget({ url: server.url, publishTimeout: 300 }));
      await assert.rejects(map.call("t.x", {}), (error) => {
        assert.equal(error.code, "EXECUTION_ERROR");
        assert.match(error.message, message);
        return true;
      });
      assert.equal(map.getPendingCount(), 0);
    });
  }
});
