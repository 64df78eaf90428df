// Streams that their clients do not read keep nothing else waiting.

import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, describe, it } from "node:test";
import { until } from "../support/waiting.mjs";
import { operation, serving, subscription } from "./support.mjs";

const MB = 1024 * 1024;
const STREAMS = 100;

const sockets = [];
after(() => {
  for (const socket of sockets) socket.destroy();
});

/** Sends a request and never reads the response. */
function unread(url, path) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  socket.on("error", () => {});
  socket.pause();
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
  );
}

describe("streams of large events that nobody reads", () => {
  it("streams that are not read are not pulled on, count in bytes, and leave calls alone", async () => {
    let pulled = 0;
    const flood = subscription({
      name: "flood",
      handler: async function* () {
        for (;;) {
          pulled += 1;
          yield "x".repeat(MB);
        }
      },
    });
    const echo = operation({ name: "echo", handler: () => "here" });
    const { url, post } = await serving([flood, echo], { maxBufferedBytes: 32 * MB });
    for (let i = 0; i < STREAMS; i++) unread(url, "/api/test/flood");
    // While they are filled, and when they are full.
    assert.equal(await (await post("test/echo", {})).json(), "here");
    const refused = await until(async () => {
      const abort = new AbortController();
      const response = await post("test/flood", {}, { signal: abort.signal });
      if (response.status === 503) return response.json();
      abort.abort();
      return undefined;
    }, "a further stream is refused");
    assert.equal(refused.details.reason, "overloaded");
    assert.equal(refused.mayHaveRun, false);
    assert.equal(await (await post("test/echo", {})).json(), "here");
    // What the buffers of the system hold, and what is on its way.
    assert.ok(pulled < STREAMS * 16, `${pulled} events were pulled`);
  });
});
