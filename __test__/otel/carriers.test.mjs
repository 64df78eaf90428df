// A trace that a peer made up: what is not in the grammar of its field reaches neither a handler nor the headers of a request to
// somebody else, whatever brought it. `__test__/shared-cases.test.mjs` has all the cases; here is every way in.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MessageChannel } from "node:worker_threads";
import {
  buildCallHandler,
  createPortEventTarget,
  FromOpenAPI,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { instrument } from "@alkdev/operations/otel";
import { answers, documentOf, sendJson, serve as upstream } from "../http/support.mjs";
import { bareSocket, hubOf } from "../hub/support.mjs";
import { operation, post, serving } from "../serve/support.mjs";
import { useSdk } from "./support.mjs";

useSdk();

const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const INJECTED = "\r\nx-admin: 1";
/** What a peer sends, and what is left of it. */
const TRACES = [
  [{ traceparent: `${PARENT}${INJECTED}` }, undefined],
  [{ traceparent: PARENT, tracestate: `a=1${INJECTED}`, baggage: `b=2${INJECTED}` }, { traceparent: PARENT }],
  [{ traceparent: "odd", tracestate: "a=1", baggage: "b=2" }, { baggage: "b=2" }],
  [
    { traceparent: PARENT, tracestate: "a=1", "x-admin": "1" },
    { traceparent: PARENT, tracestate: "a=1" },
  ],
];

const api = await upstream((_, response) => sendJson(response, {}));
const paths = { "/items": { get: { operationId: "items", responses: answers() } } };

/** One operation in JavaScript that tells its trace, and one that is done without JavaScript. */
function operations() {
  const seen = [];
  const handler = (_, { trace }) => void seen.push(trace);
  const own = operation({ namespace: "own", name: "trace", handler });
  const imported = FromOpenAPI(documentOf(paths), { namespace: "api", baseUrl: api.url });
  return { seen, all: [own, ...imported] };
}

/** The fields with which the upstream server was called. */
function sentOn() {
  const all = api.received.splice(0);
  for (const { headers } of all) assert.equal(headers["x-admin"], undefined);
  return all.map(({ headers: { traceparent, tracestate, baggage } }) => ({
    traceparent,
    tracestate,
    baggage,
  }));
}

/** Calls both operations with each trace. `call` is given an id and the trace. */
async function holds(registry, seen, call) {
  const stop = instrument(registry);
  for (const [trace, left] of TRACES) {
    await call("own.trace", trace);
    assert.deepEqual(seen.splice(0), [left], JSON.stringify(trace));
    await call("api.items", trace);
    const [sent, ...others] = sentOn();
    assert.deepEqual(others, []);
    const traceId = sent.traceparent.slice(3, 35);
    assert.equal(traceId === PARENT.slice(3, 35), left?.traceparent !== undefined, JSON.stringify(trace));
    assert.deepEqual([sent.tracestate, sent.baggage], [left?.tracestate, left?.baggage]);
  }
  stop();
}

describe("a trace that a peer made up", () => {
  it("a trace that a peer made up is dropped at the HTTP door", async () => {
    const { seen, all } = operations();
    const { registry, url } = await serving(all);
    await holds(registry, seen, async (id, trace) => {
      // A client cannot send a line break, but anything else.
      const headers = Object.fromEntries(
        Object.entries(trace).map(([name, value]) => [name, value.replace("\r\n", "\u00e9")]),
      );
      const response = await post(`${url}/api/${id.replace(".", "/")}`, {}, { headers });
      assert.ok(response.ok, await response.text());
    });
  });

  it("a trace that a peer made up is dropped at the MCP door", async () => {
    const { seen, all } = operations();
    const { registry, url } = await serving(all, { doors: { mcp: true } });
    await holds(registry, seen, async (id, trace) => {
      const name = id.replace(".", "_");
      const call = { name, arguments: {}, _meta: trace };
      const accept = "application/json, text/event-stream";
      const response = await post(
        `${url}/mcp`,
        { jsonrpc: "2.0", id: 1, method: "tools/call", params: call },
        { headers: { accept, "mcp-protocol-version": "2025-06-18" } },
      );
      const text = await response.text();
      assert.ok(response.ok && !text.includes('"isError":true'), text);
    });
  });

  it("a trace that a peer made up is dropped at the hub", async () => {
    const { seen, all } = operations();
    const { address, registry } = await hubOf(all);
    const socket = await bareSocket(address);
    let calls = 0;
    await holds(registry, seen, async (operationId, trace) => {
      calls += 1;
      const requestId = `00000000-0000-4000-8000-${String(calls).padStart(12, "0")}`;
      socket.send("call.requested", { requestId, operationId, input: {}, trace });
      const { type, payload } = await socket.until((frame) => frame.payload?.requestId === requestId);
      assert.equal(type, "call.responded", JSON.stringify(payload));
    });
  });

  it("a trace that a peer made up is dropped from the events of a port, and of any event target", async () => {
    const { port1, port2 } = new MessageChannel();
    const target = new EventTarget();
    const overPort = {
      target: createPortEventTarget(port1),
      send: (detail) => port2.postMessage(JSON.stringify({ type: detail.type, detail })),
      onAnswer: (listener) => port2.on("message", (text) => listener(JSON.parse(text).detail)),
    };
    const onTarget = {
      target,
      send: (detail) => target.dispatchEvent(new CustomEvent(detail.type, { detail })),
      onAnswer: (listener) => {
        for (const type of ["call.responded", "call.error"])
          target.addEventListener(type, ({ detail }) => listener(detail));
      },
    };
    for (const { target: given, send, onAnswer } of [overPort, onTarget]) {
      const { seen, all } = operations();
      const registry = new OperationRegistry();
      registry.registerAll(all);
      const callMap = new PendingRequestMap(given);
      callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
      const waiting = new Map();
      onAnswer(({ type, payload }) => waiting.get(payload.requestId)?.(type));
      await holds(registry, seen, async (operationId, trace) => {
        const requestId = `00000000-0000-4000-8000-${String(waiting.size).padStart(12, "0")}`;
        const answered = new Promise((resolve) => waiting.set(requestId, resolve));
        send({ type: "call.requested", id: "", payload: { requestId, operationId, input: {}, trace } });
        assert.equal(await answered, "call.responded");
      });
    }
    port1.close();
  });
});
