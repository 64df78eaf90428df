// Clients that are not ours, against a server of ours.

import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { after, describe, it } from "node:test";
import { Type } from "@sinclair/typebox";
import { EventSource } from "eventsource";
import createClient from "openapi-fetch";
import { Agent, request, stream } from "undici";
import { deferred, operation, serving, subscription } from "./support.mjs";

const find = operation({
  namespace: "notes",
  name: "find",
  inputSchema: Type.Object({ text: Type.String(), limit: Type.Optional(Type.Integer()) }),
  outputSchema: Type.Array(Type.String()),
  handler: ({ text, limit = 1 }) => Array.from({ length: limit }, () => text),
});
const add = operation({
  namespace: "notes",
  name: "add",
  type: "mutation",
  inputSchema: Type.Object({ text: Type.String(), tags: Type.Array(Type.String()) }),
  outputSchema: Type.Object({ id: Type.Integer() }),
  errorSchemas: [{ code: "FULL", description: "No room", schema: Type.Unknown(), httpStatus: 409 }],
  handler: ({ text }) => {
    if (text === "too much") throw new Error("FULL: no room for it");
    return { id: text.length };
  },
});

describe("openapi-fetch", () => {
  it("openapi-fetch calls what the document describes", async () => {
    const { url } = await serving([find, add]);
    const { servers } = await (await fetch(`${url}/api/openapi.json`)).json();
    const client = createClient({ baseUrl: new URL(servers[0].url, url).href });
    const found = await client.GET("/notes/find", { params: { query: { text: "é & ü", limit: 2 } } });
    assert.deepEqual(found.data, ["é & ü", "é & ü"]);
    const added = await client.POST("/notes/add", { body: { text: "water", tags: [] } });
    assert.deepEqual(added.data, { id: 5 });
    const refused = await client.POST("/notes/add", { body: { text: "too much", tags: [] } });
    assert.equal(refused.response.status, 409);
    assert.equal(refused.error.code, "FULL");
    const invalid = await client.GET("/notes/find", { params: { query: { text: "x", limit: 1.5 } } });
    assert.equal(invalid.response.status, 400);
    assert.equal(invalid.error.errors[0].path, "/limit");
  });
});

describe("eventsource", () => {
  it("eventsource reads a subscription, and resumes where it was", async () => {
    const seen = [];
    const ended = deferred();
    const count = subscription({
      name: "count",
      inputSchema: Type.Unknown(),
      handler: async function* (_, { metadata }) {
        seen.push(metadata.lastEventId);
        yield { n: 1 };
        yield { n: 2 };
        // The stream ends, and the client opens it again.
        if (seen.length > 1) await new Promise(() => {});
      },
    });
    const { url } = await serving([count]);
    const source = new EventSource(`${url}/api/test/count`, {
      fetch: (input, init) =>
        fetch(input, {
          ...init,
          method: "POST",
          body: "{}",
          headers: { ...init.headers, "content-type": "application/json" },
        }),
    });
    after(() => source.close());
    const events = [];
    source.addEventListener("message", ({ data, lastEventId }) => {
      events.push([lastEventId, JSON.parse(data).n]);
      if (events.length === 4) ended.resolve();
    });
    await ended.promise;
    source.close();
    assert.deepEqual(events, [
      ["1", 1],
      ["2", 2],
      ["3", 1],
      ["4", 2],
    ]);
    assert.deepEqual(seen, [undefined, "2"]);
  });
});

describe("undici", () => {
  it("undici reuses its connection, sends chunked bodies, and reads streams", async () => {
    const { url, stats } = await serving([
      find,
      add,
      subscription({
        name: "three",
        handler: async function* () {
          yield* [1, 2, 3];
        },
      }),
    ]);
    const dispatcher = new Agent({ connections: 1 });
    after(() => dispatcher.close());
    for (let n = 0; n < 20; n++) {
      const { statusCode, body } = await request(`${url}/api/notes/find?text=${n}`, { dispatcher });
      assert.equal(statusCode, 200);
      assert.deepEqual(await body.json(), [String(n)]);
    }
    assert.equal(stats().connections, 1);
    const pieces = async function* () {
      yield '{"text":"';
      for (let n = 0; n < 100; n++) yield "x".repeat(1000);
      yield '","tags":[]}';
    };
    const sent = await request(`${url}/api/notes/add`, {
      dispatcher,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: pieces(),
    });
    assert.deepEqual(await sent.body.json(), { id: 100_000 });
    const chunks = [];
    await stream(
      `${url}/api/test/three`,
      { dispatcher, method: "POST", opaque: chunks },
      ({ opaque }) =>
        new Writable({
          write(chunk, _, done) {
            opaque.push(chunk);
            done();
          },
        }),
    );
    assert.equal(Buffer.concat(chunks).toString(), "id: 1\ndata: 1\n\nid: 2\ndata: 2\n\nid: 3\ndata: 3\n\n");
  });
});
