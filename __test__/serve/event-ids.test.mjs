// Server-sent events that pass through: each keeps its own id, name and retry, whichever way it takes.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { FromOpenAPI, httpEnvelope, OperationRegistry } from "@alkdev/operations";
import { createHandler } from "@alkdev/operations/serve";
import { answers, documentOf, serve as upstream } from "../http/support.mjs";
import { hubOf, spokeOf } from "../hub/support.mjs";
import { serving, subscription } from "./support.mjs";

/** Equal names, no names, no ids, an id that counts for the next event, and one that is taken back. */
const EVENTS = [
  "data: 0\n\n",
  "id: a\ndata: 1\n\n",
  "id: b\ndata: 2\n\n",
  "data: 3\n\n",
  "id: c\nevent: tick\nretry: 1500\ndata: 4\n\n",
  "id: d\nevent: tick\ndata: 5\n\n",
  "id\ndata: 6\n\n",
  "id: e\ndata: 7\n\n",
];
/** As a client reads them. */
const EXPECTED = [
  { event: "message", id: "", retry: undefined, data: 0 },
  { event: "message", id: "a", retry: undefined, data: 1 },
  { event: "message", id: "b", retry: undefined, data: 2 },
  { event: "message", id: "b", retry: undefined, data: 3 },
  { event: "tick", id: "c", retry: 1500, data: 4 },
  { event: "tick", id: "d", retry: undefined, data: 5 },
  { event: "message", id: "", retry: undefined, data: 6 },
  { event: "message", id: "e", retry: undefined, data: 7 },
];

const api = await upstream((_request, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(EVENTS.join(""));
});
const document = documentOf({
  "/events": { get: { operationId: "events", responses: answers("text/event-stream") } },
});

function imported(changes = {}) {
  const [operation] = FromOpenAPI(document, { namespace: "up", baseUrl: api.url });
  return { ...operation, ...changes };
}

/** What a client that knows nothing of us reads. */
function read(text) {
  let id = "";
  return text
    .split("\n\n")
    .filter((block) => block !== "")
    .map((block) => {
      const fields = Object.fromEntries(
        block.split("\n").map((line) => {
          const [name, ...value] = line.split(":");
          return [name, value.join(":").trimStart()];
        }),
      );
      id = fields.id ?? id;
      const retry = fields.retry === undefined ? undefined : Number(fields.retry);
      return { event: fields.event ?? "message", id, retry, data: JSON.parse(fields.data) };
    });
}

async function eventsOf(response) {
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  return read(await response.text());
}

describe("a served event has its own id, name and retry", () => {
  it("a served event has its own id, name and retry at the HTTP door, answered natively", async () => {
    const { url } = await serving([imported()]);
    assert.deepEqual(await eventsOf(await fetch(`${url}/api/events`)), EXPECTED);
  });

  it("a served event has its own id, name and retry at the HTTP door, answered by JavaScript", async () => {
    const { url, registry } = await serving([imported()]);
    registry.use((_call, next) => next());
    assert.deepEqual(await eventsOf(await fetch(`${url}/api/events`)), EXPECTED);
  });

  it("a served event has the id, name and retry that a handler put into its own envelopes", async () => {
    const ticks = subscription({
      name: "ticks",
      handler: async function* () {
        const meta = { statusCode: 200, headers: {}, contentType: "text/event-stream" };
        for (const { data, ...sse } of EXPECTED) {
          if (sse.retry === undefined) delete sse.retry;
          yield httpEnvelope(data, { ...meta, sse });
        }
      },
    });
    const { post } = await serving([ticks]);
    assert.deepEqual(await eventsOf(await post("test/ticks")), EXPECTED);
  });

  it("a served event has its own id, name and retry through createHandler", async () => {
    const registry = new OperationRegistry();
    registry.register(imported());
    const handler = createHandler(registry, { doors: { http: true } });
    after(() => handler.close({ drain: 0 }));
    const response = await handler.fetch(new Request("http://localhost/api/events"));
    assert.deepEqual(await eventsOf(response), EXPECTED);
  });

  for (const how of ["natively", "by JavaScript"]) {
    it(`a served event has its own id, name and retry through a hub whose spoke answers ${how}`, async () => {
      const { address, url } = await hubOf([], { hub: { accept: ({ name }) => ({ namespace: name }) } });
      const registry = new OperationRegistry();
      registry.register(imported());
      if (how !== "natively") registry.use((_call, next) => next());
      const spoke = await spokeOf(address, { name: "up", token: "ada" });
      await spoke.serve(registry);
      const headers = { authorization: "Bearer ada", "content-type": "application/json" };
      const response = await fetch(`${url}/api/up/events`, { method: "POST", headers, body: "{}" });
      assert.deepEqual(await eventsOf(response), EXPECTED);
    });
  }

  it("a client that lost its connection goes on after the last event that it has", async () => {
    const all = EXPECTED.filter(({ id }) => id !== "" && id !== "b");
    const resumable = subscription({
      name: "resumable",
      handler: async function* (_input, { metadata }) {
        const at = all.findIndex(({ id }) => id === metadata.lastEventId);
        for (const { data, id } of all.slice(at + 1)) {
          const meta = { statusCode: 200, headers: {}, contentType: "text/event-stream" };
          yield httpEnvelope(data, { ...meta, sse: { event: "message", id } });
        }
      },
    });
    const { post } = await serving([resumable]);
    const [, second] = await eventsOf(await post("test/resumable"));
    const rest = await eventsOf(
      await post("test/resumable", undefined, { headers: { "last-event-id": second.id } }),
    );
    assert.deepEqual(
      rest.map(({ id }) => id),
      all.slice(2).map(({ id }) => id),
    );
  });
});
