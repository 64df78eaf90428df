// Answers that do not follow the protocol, and listeners that fail.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MessageChannel } from "node:worker_threads";
import { createPortEventTarget, localEnvelope, PendingRequestMap, unwrap } from "@alkdev/operations";
import { runModule } from "../support/run-node.mjs";

const META = { source: "local", operationId: "t.x", timestamp: 1 };
const HTTP = { source: "http", statusCode: 200, headers: {}, contentType: "text/event-stream" };
const NO_ENVELOPES = [
  ...[undefined, null, 5, "text", [], {}, { data: 1 }, { meta: META.source }, { data: 1, meta: null }],
  ...[
    { data: 1, meta: { ...META, source: "elsewhere" } },
    { data: 1, meta: { source: "local" } },
  ],
  ...[
    { data: 1, meta: { source: "http", statusCode: "200" } },
    { data: 1, meta: { source: "mcp" } },
  ],
  // What is optional may be absent, not anything.
  ...[
    ...[5, "note", [5], [{ path: "/a" }], { 0: "note" }].map((notes) => ({ ...META, notes })),
    { ...META, spill: { path: "/etc/passwd" } },
    ...["id", { event: "e" }, { event: "e", id: 1 }, { event: "e", id: "1", retry: "soon" }].map((sse) => ({
      ...HTTP,
      sse,
    })),
    { ...HTTP, headers: { "x-a": 1 } },
    ...[[5], [{ text: "a" }], [{ type: 1 }], "a"].map((content) => ({
      source: "mcp",
      isError: false,
      content,
    })),
  ].map((meta) => ({ data: 1, meta })),
];

/** A map, how to send events to it, and how to learn the id of its next request. */
const WAYS = {
  "an event target": () => {
    const target = new EventTarget();
    const send = (type, payload) =>
      target.dispatchEvent(new CustomEvent(type, { detail: { type, id: "", payload } }));
    const requested = () =>
      new Promise((resolve) => {
        const take = ({ detail }) => resolve(detail.payload.requestId);
        target.addEventListener("call.requested", take, { once: true });
      });
    return { map: new PendingRequestMap(target), send, requested, close: () => {} };
  },
  "a port": () => {
    const { port1, port2 } = new MessageChannel();
    const send = (type, payload) =>
      port2.postMessage(JSON.stringify({ type, detail: { type, id: "", payload } }));
    const requested = () =>
      new Promise((resolve) => {
        port2.once("message", (text) => resolve(JSON.parse(text).detail.payload.requestId));
      });
    const map = new PendingRequestMap(createPortEventTarget(port1));
    return { map, send, requested, close: () => port1.close() };
  },
};

for (const [way, open] of Object.entries(WAYS)) {
  describe(`over ${way}`, () => {
    it("an answer that is no envelope fails its request, is counted, and reaches no listener", async () => {
      const { map, send, requested, close } = open();
      const heard = [];
      map["call.responded"].subscribe(({ output }) => heard.push(output.meta.source));
      for (const [index, output] of NO_ENVELOPES.entries()) {
        const asked = requested();
        const call = map.call("t.x", {});
        send("call.responded", { requestId: await asked, output });
        await assert.rejects(call, { code: "EXECUTION_ERROR", message: /does not follow the call protocol/ });
        assert.deepEqual(map.stats(), {
          dropped: index + 1,
          droppedBy: { ...NONE, "call.responded": index + 1 },
        });
      }
      assert.deepEqual(heard, []);
      close();
    });

    it(`an envelope with notes, sse or content blocks arrives over ${way}`, async () => {
      const notes = [{ path: "/a", message: "invented" }];
      for (const meta of [
        { ...META, notes },
        { ...HTTP, headers: { "x-a": "1" }, sse: { event: "e", id: "1", retry: 5 }, notes },
        { source: "mcp", isError: true, content: [{ type: "text", text: "no" }], _meta: { a: 1 } },
        { source: "mcp", isError: false, content: [{ type: "hologram" }], structuredContent: [1] },
      ]) {
        const { map, send, requested, close } = open();
        const asked = requested();
        const call = map.call("t.x", {});
        send("call.responded", { requestId: await asked, output: { data: 1, meta } });
        assert.deepEqual(await call, { data: 1, meta });
        close();
      }
    });

    it(`a subscription over ${way} fails with the first answer that is no envelope`, async () => {
      const { map, send, requested, close } = open();
      const asked = requested();
      const stream = map.subscribe("t.x", {});
      const first = stream.next();
      const requestId = await asked;
      send("call.responded", { requestId, output: localEnvelope(1, "t.x") });
      assert.equal(unwrap((await first).value), 1);
      const second = stream.next();
      send("call.responded", { requestId, output: 5 });
      await assert.rejects(second, /does not follow the call protocol/);
      assert.equal(map.getPendingCount(), 0);
      close();
    });

    it(`an error over ${way} without a code fails its request`, async () => {
      const { map, send, requested, close } = open();
      const asked = requested();
      const call = map.call("t.x", {});
      send("call.error", { requestId: await asked, message: "no code" });
      await assert.rejects(call, /does not follow the call protocol/);
      assert.equal(map.stats().droppedBy["call.error"], 1);
      close();
    });

    it(`an envelope whose data was undefined arrives over ${way}`, async () => {
      const { map, send, requested, close } = open();
      const asked = requested();
      const call = map.call("t.x", {});
      send("call.responded", { requestId: await asked, output: { meta: META } });
      assert.deepEqual(await call, { data: undefined, meta: META });
      close();
    });
  });
}

const NONE = {
  "call.requested": 0,
  "call.responded": 0,
  "call.completed": 0,
  "call.aborted": 0,
  "call.error": 0,
};

describe("a listener that fails", () => {
  for (const target of [undefined, "new EventTarget()"]) {
    it(`a listener that throws ends neither the process nor the call: ${target ?? "a map of its own"}`, async () => {
      const { code, stdout, stderr } = await runModule(`
        import { localEnvelope, PendingRequestMap } from "@alkdev/operations";
        const map = new PendingRequestMap(${target ?? ""});
        map["call.responded"].subscribe(() => { throw new Error("thrown"); });
        map["call.responded"].subscribe(async () => { throw new Error("rejected"); });
        map["call.responded"].subscribe(({ output }) => console.log("heard", output.data));
        map["call.requested"].subscribe(({ requestId }) => map.respond(requestId, localEnvelope(7, "t.x")));
        const { data } = await map.call("t.x", {});
        await new Promise((resolve) => setImmediate(resolve));
        console.log("answered", data);
      `);
      assert.equal(stderr, "");
      assert.equal(code, 0);
      assert.deepEqual(stdout.trim().split("\n"), ["heard 7", "answered 7"]);
    });
  }
});
