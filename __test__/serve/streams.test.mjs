// Streams have a limit of their own: what never ends keeps nothing else waiting.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { operation, serving, subscription, unread } from "./support.mjs";

/** Never ends by itself. `open` counts those that run. */
function endless() {
  const running = { open: 0 };
  const stream = subscription({
    name: "endless",
    handler: async function* (_, { signal }) {
      running.open += 1;
      try {
        yield "first";
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      } finally {
        running.open -= 1;
      }
    },
  });
  return { running, stream };
}

const bearer = (who) => (who === undefined ? {} : { authorization: `Bearer ${who}` });

/** Opens a stream and reads its beginning; its status where it is refused. */
async function open(url, { who, path = "/api/test/endless", method = "POST", ...more } = {}) {
  const abort = new AbortController();
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...bearer(who),
    },
    ...(method === "POST" && { body: "{}" }),
    ...more,
    signal: abort.signal,
  });
  if (response.status !== 200) return { status: response.status, body: await response.json() };
  await response.body.getReader().read();
  return { status: 200, close: () => abort.abort() };
}

const echo = operation({ name: "echo", handler: () => "here" });

describe("endless streams", () => {
  it("endless streams leave calls alone, however many there are", async () => {
    const { stream, running } = endless();
    const { url, post } = await serving([stream, echo], { concurrency: 8 });
    const opened = await Promise.all(Array.from({ length: 24 }, () => open(url)));
    assert.equal(running.open, 24);
    const response = await post("test/echo", {});
    assert.equal(await response.json(), "here");
    for (const { close } of opened) close();
    while (running.open > 0) await wait(5);
  });

  it("streams are refused beyond `streams`, and accepted again when others end", async () => {
    const { stream, running } = endless();
    const { url } = await serving([stream, echo], { streams: 2 });
    const first = await open(url);
    await open(url);
    const refused = await open(url);
    assert.equal(refused.status, 503);
    assert.equal(refused.body.details.reason, "overloaded");
    assert.match(refused.body.message ?? refused.body.detail, /Too many streams/);
    assert.equal(refused.body.mayHaveRun, false);
    first.close();
    while (running.open > 1) await wait(5);
    let again = await open(url);
    // The permit is free a moment after the handler has ended.
    while (again.status === 503) again = await open(url);
    assert.equal(again.status, 200);
  });

  it("endless streams of one caller leave room for those of others, and for calls of the same caller", async () => {
    const { stream } = endless();
    const tokens = { ada: { id: "ada", scopes: [] }, bob: { id: "bob", scopes: [] } };
    const { url, post } = await serving([stream, echo], { tokens, perCaller: 2 });
    for (let i = 0; i < 2; i++) assert.equal((await open(url, { who: "ada" })).status, 200);
    assert.equal((await open(url, { who: "ada" })).status, 503);
    assert.equal((await open(url, { who: "bob" })).status, 200);
    assert.equal((await post("test/echo", {}, { headers: bearer("ada") })).status, 200);
  });

  it("1,000 streams that are closed at once end, each of them once, while calls are answered", async () => {
    const ends = [];
    let open = 0;
    const busy = subscription({
      name: "busy",
      handler: async function* (_, { requestId, signal }) {
        open += 1;
        try {
          for (let i = 0; ; i += 1) {
            yield i;
            await wait(200, undefined, { signal });
          }
        } finally {
          open -= 1;
          ends.push(requestId);
        }
      },
    });
    const { url, post, stats } = await serving([busy, echo], { streams: 1_000 });
    const sockets = Array.from({ length: 1_000 }, () => unread(url, "/api/test/busy"));
    for (const socket of sockets) socket.resume();
    while (open < 1_000) await wait(5);
    for (const socket of sockets) socket.destroy();
    assert.equal(await (await post("test/echo", {})).json(), "here");
    while (open > 0) await wait(5);
    assert.equal(new Set(ends).size, 1_000);
    assert.equal(ends.length, 1_000);
    while (stats().running > 0) await wait(5);
  });

  it("streams of MCP notifications count as streams, in both generations", async () => {
    const { url } = await serving([echo], { doors: { http: true, mcp: true }, streams: 2, perOperation: 1 });
    const get = { path: "/mcp", method: "GET" };
    const prefix = "io.modelcontextprotocol/";
    const listen = {
      path: "/mcp",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "subscriptions/listen",
      },
      body: JSON.stringify({
        ...{ jsonrpc: "2.0", id: 1, method: "subscriptions/listen" },
        params: {
          notifications: { toolsListChanged: true },
          _meta: { [`${prefix}protocolVersion`]: "2026-07-28", [`${prefix}clientCapabilities`]: {} },
        },
      }),
    };
    const first = await open(url, get);
    assert.equal(first.status, 200);
    assert.equal((await open(url, listen)).status, 200);
    assert.equal((await open(url, get)).status, 503);
    const refused = await open(url, listen);
    assert.equal(refused.status, 503);
    assert.match(refused.body.error.message, /Too many streams/);
    first.close();
    let again = await open(url, get);
    while (again.status === 503) again = await open(url, get);
    assert.equal(again.status, 200);
  });
});
