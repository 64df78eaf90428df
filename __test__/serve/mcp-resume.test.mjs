// Streams of calls that clients of revision 2025-11-25 leave and resume.

import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { until } from "../support/waiting.mjs";
import { deferred, operation, serving } from "./support.mjs";

const VERSION = "2025-11-25";

const mcp = (operations, resume, more = {}) =>
  serving(operations, { doors: { mcp: { name: "test", version: "1.2.3", resume } }, ...more });

const job = (name, handler) => operation({ namespace: "x", name, type: "mutation", handler });

const request = (url, method, params, headers = {}, more = {}) =>
  fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    ...more,
  });

async function session(url, headers = {}) {
  const clientInfo = { name: "test", version: "1" };
  const params = { protocolVersion: VERSION, capabilities: {}, clientInfo };
  const response = await request(url, "initialize", params, headers);
  await response.text();
  return { ...headers, "mcp-session-id": response.headers.get("mcp-session-id") };
}

const call = (url, name, headers, more, params = {}) =>
  request(url, "tools/call", { name, arguments: {}, ...params }, headers, more);

const resumed = (url, headers, id) =>
  fetch(`${url}/mcp`, {
    headers: {
      accept: "text/event-stream",
      "mcp-protocol-version": VERSION,
      ...headers,
      "last-event-id": id,
    },
  });

/** The events of a whole stream, and the id of the last. */
async function events(response) {
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const blocks = (await response.text()).split("\n\n").filter((block) => /^(id|data)/m.test(block));
  const list = blocks.map((block) =>
    Object.fromEntries(
      block
        .split("\n")
        .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
    ),
  );
  const messages = list.filter(({ data }) => data !== "").map(({ data }) => JSON.parse(data));
  return { list, messages, last: list.at(-1)?.id };
}

describe("a stream that the server ends", () => {
  it("a stream that the server ends is resumed by its client, and the call has gone on", async () => {
    const go = deferred();
    let began = 0;
    const { url } = await mcp(
      [
        job("slow", async () => {
          began++;
          await go.promise;
          return { done: true };
        }),
      ],
      { hold: 50 },
    );
    const headers = await session(url);
    const first = await events(await call(url, "x_slow", headers));
    assert.equal(first.list.length, 1);
    assert.equal(first.list[0].data, "");
    assert.ok(Number(first.list[0].retry) > 0);
    // Still nothing.
    const second = await events(await resumed(url, headers, first.last));
    assert.deepEqual(second.messages, []);
    go.resolve();
    const third = await events(await resumed(url, headers, first.last));
    assert.deepEqual(third.messages[0].result.structuredContent, { done: true });
    // The end may have been lost on the way.
    const again = await events(await resumed(url, headers, first.last));
    assert.deepEqual(again.messages, third.messages);
    assert.equal(began, 1);
  });

  it("a resumed stream repeats only what its client has not seen", async () => {
    const go = deferred();
    const { url } = await mcp(
      [
        job("tells", async (_, { onProgress }) => {
          onProgress(1, 3);
          onProgress(2, 3);
          await go.promise;
          return "done";
        }),
      ],
      { hold: 50 },
    );
    const headers = await session(url);
    const params = { _meta: { progressToken: "p" } };
    const first = await events(await call(url, "x_tells", headers, {}, params));
    assert.deepEqual(
      first.messages.map(({ params }) => params.progress),
      [1, 2],
    );
    go.resolve();
    const [, one] = first.list;
    const rest = await events(await resumed(url, headers, one.id));
    assert.equal(rest.messages[0].params.progress, 2);
    assert.equal(rest.messages[1].id, 1);
    assert.equal(rest.messages.length, 2);
  });

  it("a stream can be resumed by its own caller only", async () => {
    const tokens = { ada: { id: "ada", scopes: [] }, bob: { id: "bob", scopes: [] } };
    const { url } = await mcp([job("slow", () => new Promise(() => {}))], { hold: 50 }, { tokens });
    const ada = await session(url, { authorization: "Bearer ada" });
    const { last } = await events(await call(url, "x_slow", ada));
    const other = await session(url, { authorization: "Bearer ada" });
    const bob = { ...ada, authorization: "Bearer bob" };
    for (const headers of [other, bob]) assert.equal((await resumed(url, headers, last)).status, 400);
    for (const id of ["nonsense", last.replace(/^./, "-"), `${last}9999999999999999999999`]) {
      assert.equal((await resumed(url, ada, id)).status, 400, id);
    }
    assert.equal((await resumed(url, ada, last)).status, 200);
  });

  it("a stream that is resumed counts for `streams`", async () => {
    const { url } = await mcp([job("slow", () => new Promise(() => {}))], { hold: 50 }, { streams: 1 });
    const headers = await session(url);
    const { last } = await events(await call(url, "x_slow", headers));
    const other = new AbortController();
    const listening = await fetch(`${url}/mcp`, {
      headers: { ...headers, accept: "text/event-stream", "mcp-protocol-version": VERSION },
      signal: other.signal,
    });
    assert.equal(listening.status, 200);
    assert.equal((await resumed(url, headers, last)).status, 503);
    other.abort();
    const again = await until(async () => {
      const response = await resumed(url, headers, last);
      return response.status === 503 ? undefined : response;
    }, "the permit is free");
    assert.equal(again.status, 200);
  });
});

describe("a client that does not come back", () => {
  it("a client that does not come back aborts its call after a while", async () => {
    const begun = deferred();
    const { url } = await mcp(
      [
        job("slow", async (_, { signal }) => {
          begun.resolve(signal);
          await once(signal, "abort");
        }),
      ],
      { wait: 50 },
    );
    const headers = await session(url);
    const controller = new AbortController();
    const response = await call(url, "x_slow", headers, { signal: controller.signal });
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    const signal = await begun.promise;
    controller.abort();
    if (!signal.aborted) await once(signal, "abort");
  });

  it("a client that leaves aborts its call at once if streams cannot be resumed", async () => {
    const begun = deferred();
    const { url } = await mcp(
      [
        job("slow", async (_, { signal }) => {
          begun.resolve(signal);
          await once(signal, "abort");
        }),
      ],
      false,
    );
    const headers = await session(url);
    const controller = new AbortController();
    const left = call(url, "x_slow", headers, { signal: controller.signal });
    const signal = await begun.promise;
    controller.abort();
    await assert.rejects(left, { name: "AbortError" });
    if (!signal.aborted) await once(signal, "abort");
  });
});

it("quick calls, and clients of other revisions, get no resumable streams", async () => {
  const { url } = await mcp([job("quick", () => 1)], { hold: 50 });
  const headers = await session(url);
  const quick = await call(url, "x_quick", headers);
  assert.match(quick.headers.get("content-type"), /^application\/json/);
  const older = await call(url, "x_quick", { ...headers, "mcp-protocol-version": "2025-06-18" });
  assert.match(older.headers.get("content-type"), /^application\/json/);
});
