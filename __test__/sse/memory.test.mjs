// Streams that would fill the memory of the process that reads them, if it let them.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { serve } from "../http/support.mjs";
import { assertNoStalls } from "../support/event-loop.mjs";
import { runModule } from "../support/run-node.mjs";

assertNoStalls();

const MEGABYTE = 1024 * 1024;
/** What a process may grow by: buffers of sockets, batches, and garbage that is not collected yet. */
const ALLOWED_GROWTH = 150 * MEGABYTE;

/** Sends `total` bytes of the given pieces, as fast as the other side reads. */
async function flooding(total, piece, begin = "") {
  const state = { sent: 0 };
  const server = await serve(async (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(begin);
    response.on("error", () => {});
    while (state.sent < total && !response.destroyed) {
      state.sent += piece.length;
      if (response.write(piece)) continue;
      await new Promise((resolve) => {
        response.once("drain", resolve);
        response.once("close", resolve);
      });
    }
    response.end();
  });
  return { ...server, state };
}

/** Runs a consumer in a process of its own; what it prints as JSON is the result. */
async function consume(url, source) {
  const outcome = await runModule(
    `import { FromOpenAPI } from "@alkdev/operations";
     const responses = { 200: { description: "", content: { "text/event-stream": {} } } };
     const document = { openapi: "3.1.0", info: { title: "t", version: "1" }, paths: { "/": { get: { operationId: "it", responses } } } };
     const [{ handler }] = FromOpenAPI(document, { namespace: "t", baseUrl: ${JSON.stringify(url)} });
     const stream = handler({}, {});
     const before = process.memoryUsage.rss();
     let most = before;
     const look = () => { most = Math.max(most, process.memoryUsage.rss()); };
     ${source}
     console.log(JSON.stringify({ growth: most - before, ...result }));
     process.exit();`,
    { timeout: 120_000 },
  );
  assert.equal(outcome.stderr, "");
  return JSON.parse(outcome.stdout);
}

describe("a stream of 400 MB", () => {
  it("a stream of 400 MB waits at the server while it is not read, and arrives whole when it is", async () => {
    const event = `data: ${"x".repeat(64 * 1024 - 8)}\n\n`;
    const { url, state } = await flooding(400 * MEGABYTE, event);
    const stuck = (async () => {
      let before = -1;
      while (state.sent === 0 || state.sent !== before) {
        before = state.sent;
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
      return before;
    })();
    const running = consume(
      url,
      `await stream.next();
       for (let count = 0; count < 30; count++) { await new Promise((resolve) => setTimeout(resolve, 100)); look(); }
       const idle = most - before;
       let bytes = 0;
       let events = 1;
       for await (const { data } of stream) { bytes += data.length; if (events++ % 64 === 0) look(); }
       const result = { events, idle };`,
    );
    const sentWhileIdle = await stuck;
    const { events, growth, idle } = await running;
    assert.ok(sentWhileIdle < 64 * MEGABYTE, `the server could send ${sentWhileIdle} bytes to nobody`);
    assert.ok(idle < ALLOWED_GROWTH, `grew by ${idle} bytes without reading`);
    assert.ok(growth < ALLOWED_GROWTH, `grew by ${growth} bytes`);
    assert.equal(events, (400 * MEGABYTE) / event.length);
  });
});

describe("an event of 200 MB without an end", () => {
  it("an event of 200 MB without an end is refused", async () => {
    const { url, state } = await flooding(200 * MEGABYTE, "x".repeat(64 * 1024), "data: 1\n\ndata: ");
    const { first, code, message, growth } = await consume(
      url,
      `const watch = setInterval(look, 5);
       const first = (await stream.next()).value.data;
       const error = await stream.next().catch((error) => error);
       clearInterval(watch);
       look();
       const result = { first, code: error.code, message: error.message };`,
    );
    assert.equal(first, 1);
    assert.equal(code, "EXECUTION_ERROR");
    assert.match(message, /limit of 16777216 bytes.*sse\.maxEventBytes/);
    assert.ok(growth < ALLOWED_GROWTH, `grew by ${growth} bytes`);
    assert.ok(state.sent < 100 * MEGABYTE, `the server could send ${state.sent} bytes`);
  });
});
