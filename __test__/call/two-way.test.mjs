// A port or a socket over which both ends call and serve: what is sent arrives at the other end, and only there.

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, describe, it } from "node:test";
import { MessageChannel } from "node:worker_threads";
import { createPortEventTarget, PendingRequestMap, unwrap } from "@alkdev/operations";
import { createWebSocketEventTarget } from "@alkdev/operations/transport-websocket";
import { WebSocket, WebSocketServer } from "ws";
import { query, record, serving, settled, subscription } from "./support.mjs";

/** The two ends of a wire, as event targets. */
const WIRES = {
  "a MessagePort": async () => {
    const { port1, port2 } = new MessageChannel();
    const targets = [port1, port2].map((port) => createPortEventTarget(port));
    return { targets, close: () => port1.close() };
  },
  "a WebSocket": async () => {
    const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
    await once(server, "listening");
    const accepted = once(server, "connection");
    const socket = new WebSocket(`ws://127.0.0.1:${server.address().port}`);
    const [other] = await accepted;
    const targets = [socket, other].map((each) => createWebSocketEventTarget(each));
    return {
      targets,
      close: () => {
        socket.terminate();
        server.close();
      },
    };
  },
};

for (const [wire, open] of Object.entries(WIRES)) {
  describe(`over ${wire}`, () => {
    const closing = [];
    after(() => {
      for (const close of closing) close();
    });

    const ends = async (operations) => {
      const { targets, close } = await open();
      closing.push(close);
      return targets.map((target, end) => serving(operations(end), { target }).callMap);
    };

    it("a mutation that both ends of a wire serve runs once, at the other end", async () => {
      const ran = [];
      const maps = await ends((end) => [query("remove", () => ran.push(end) && end, { type: "mutation" })]);
      assert.equal(unwrap(await maps[0].call("t.remove", {})), 1);
      assert.equal(unwrap(await maps[1].call("t.remove", {})), 0);
      await settled();
      assert.deepEqual(ran, [1, 0]);
    });

    it(`a call over ${wire} carries the declared fields of the caller's identity, and no other`, async () => {
      const maps = await ends(() => [query("who", (_, { identity }) => identity)]);
      const identity = { id: "ada", scopes: ["read"], resources: { "file:1": ["read"] } };
      const more = { ...identity, accessToken: "hush" };
      assert.deepEqual(unwrap(await maps[0].call("t.who", {}, { identity: more })), identity);
    });

    it(`a subscription over ${wire} runs once, at the other end, although both ends serve it`, async () => {
      const maps = await ends((end) => [
        subscription("numbers", async function* () {
          yield end;
          yield end;
        }),
      ]);
      const got = [];
      for await (const envelope of maps[0].subscribe("t.numbers", {})) got.push(unwrap(envelope));
      assert.deepEqual(got, [1, 1]);
    });

    it(`an operation that only the caller's end of ${wire} has is not found`, async () => {
      const maps = await ends((end) => (end === 0 ? [query("mine", () => "mine")] : []));
      await assert.rejects(maps[0].call("t.mine", {}), { code: "OPERATION_NOT_FOUND" });
    });

    it(`listeners of a map on ${wire} hear the other end, and not what the map itself sends`, async () => {
      const maps = await ends(() => [query("echo", (input) => input)]);
      const [here, there] = maps.map(record);
      await maps[0].call("t.echo", 1);
      assert.deepEqual(
        [here, there].map((events) => events.map(([type]) => type)),
        [["call.responded"], ["call.requested"]],
      );
    });

    it(`the end of ${wire} that serves a call can abort it, and the handler and the caller learn of it`, async () => {
      let isAborted = false;
      let begin;
      const begun = new Promise((resolve) => {
        begin = resolve;
      });
      const wait = (_, { requestId, signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            isAborted = true;
            resolve();
          });
          begin(requestId);
        });
      const [caller, server] = await ends(() => [query("wait", wait)]);
      const rejected = assert.rejects(caller.call("t.wait", {}), { code: "ABORTED" });
      server.abort(await begun);
      await rejected;
      assert.equal(isAborted, true);
    });
  });
}

describe("on one in-process target", () => {
  it("two maps on one in-process target talk to each other", async () => {
    const target = new EventTarget();
    serving([query("echo", (input) => input)], { target });
    assert.equal(unwrap(await new PendingRequestMap(target).call("t.echo", 7)), 7);
  });
});
