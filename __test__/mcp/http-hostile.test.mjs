// HTTP servers whose answers have no end, or never come.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { closeMCPClient, createMCPClient } from "@alkdev/operations";
import { assertNoStalls } from "../support/event-loop.mjs";
import { startHTTPServer } from "./support/http-server.mjs";
import { until } from "./support/processes.mjs";
import { connected, failure } from "./support/servers.mjs";

assertNoStalls();

const PIECE = Buffer.alloc(1_000_000, "x");
const isCall = (message) => message?.method === "tools/call";

/** Writes as long as somebody reads. */
function writeForEver(response, status, type, beginning = "", piece = PIECE) {
  response.writeHead(status, { "Content-Type": type });
  response.write(beginning);
  const more = () => {
    while (!response.destroyed) if (!response.write(piece)) return response.once("drain", more);
  };
  more();
  return true;
}

describe("a status without a body instead of an answer", () => {
  for (const status of [202, 204]) {
    it(`a bare status ${status} fails the call at once, and the client stays usable`, async (t) => {
      const { url } = await startHTTPServer(t, {
        before: (_, response, message) =>
          isCall(message) && message.params.name === "person" && response.writeHead(status).end(),
      });
      const { call } = await connected(t, { url, timeout: 3_600_000 });
      const error = await failure(call("person"));
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.match(error.message, new RegExp(`HTTP ${status} .*instead of an answer`));
      assert.equal(error.details.delivery, "unknown");
      assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
    });
  }
});

describe("an answer without an end", () => {
  for (const [what, answer] of Object.entries({
    "as JSON": (response, { id }) =>
      writeForEver(
        response,
        200,
        "application/json",
        `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"a":"`,
      ),
    "as an event": (response) => writeForEver(response, 200, "text/event-stream", "data: "),
  })) {
    it(`an endless response ${what} ends at the limit, and the client stays usable`, async (t) => {
      const { url } = await startHTTPServer(t, {
        before: (_, response, message) =>
          isCall(message) && message.params.name === "person" && answer(response, message),
      });
      const { call } = await connected(t, { url, maxResultBytes: 5_000_000 });
      const error = await failure(call("person"));
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.match(error.message, /maxResultBytes/);
      assert.equal(error.details.delivery, "unknown");
      assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
    });
  }

  it("an endless response of small meaningless events ends at the time limit", async (t) => {
    const events = Buffer.from("data: nothing\n\n: still here\n\n".repeat(10_000));
    const { url } = await startHTTPServer(t, {
      before: (_, response, message) =>
        isCall(message) &&
        message.params.name === "person" &&
        writeForEver(response, 200, "text/event-stream", "", events),
    });
    const { call } = await connected(t, { url });
    assert.equal((await failure(call("person", {}, { metadata: { timeout: 1_000 } }))).code, "TIMEOUT");
    assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
  });

  it("an endless error page is not read", async (t) => {
    const { url } = await startHTTPServer(t, {
      before: (_, response) => writeForEver(response, 500, "text/html"),
    });
    const error = await failure(createMCPClient("endless", { url }));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /500/);
  });

  it("an endless response that is compressed is not inflated beyond the limit", async (t) => {
    const bomb = await promisify(gzip)(Buffer.alloc(200_000_000, "x"));
    const { url } = await startHTTPServer(t, {
      before(_, response, message) {
        if (!isCall(message)) return false;
        response.writeHead(200, { "Content-Type": "application/json", "Content-Encoding": "gzip" }).end(bomb);
        return true;
      },
    });
    const { call } = await connected(t, { url, maxResultBytes: 5_000_000 });
    assert.match((await failure(call("echo", { text: "a" }))).message, /maxResultBytes/);
  });
});

describe("streams that end", { concurrency: true }, () => {
  it("streams that end without a response end at the time limit, without a storm of requests", async (t) => {
    // `retry: 0` asks the client to come back at once.
    const server = await startHTTPServer(t, {
      before(request, response, message) {
        if (!isCall(message) && request.method !== "GET") return false;
        response.writeHead(200, { "Content-Type": "text/event-stream" });
        response.end("id: 7\nretry: 0\ndata: \n\n");
        return true;
      },
    });
    const { call } = await connected(t, { url: server.url });
    const error = await failure(call("echo", { text: "a" }, { metadata: { timeout: 2_000 } }));
    assert.ok(["TIMEOUT", "EXECUTION_ERROR"].includes(error.code));
    assert.equal(error.details.delivery, "unknown");
    assert.ok(server.requests.length < 500, String(server.requests.length));
  });

  it("streams that end at once, each time, do not hinder calls", async (t) => {
    const server = await startHTTPServer(t, {
      before(request, response) {
        if (request.method !== "GET") return false;
        response.writeHead(200, { "Content-Type": "text/event-stream" }).end();
        return true;
      },
    });
    const { call } = await connected(t, { url: server.url });
    await until(() => server.requests.filter(({ method }) => method === "GET").length >= 2, "it came back");
    assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
  });
});

describe("closing", () => {
  it("closing does not wait for a server that is gone", async (t) => {
    const server = await startHTTPServer(t);
    const { wrapper } = await connected(t, { url: server.url });
    await server.close();
    await closeMCPClient(wrapper);
  });

  it("closing does not wait without limit for the response to DELETE", async (t) => {
    const { url } = await startHTTPServer(t, { before: ({ method }) => method === "DELETE" });
    const { wrapper } = await connected(t, { url });
    await closeMCPClient(wrapper);
  });
});
