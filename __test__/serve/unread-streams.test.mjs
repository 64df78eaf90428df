// Streams that their clients do not read keep nothing else waiting.

import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { until } from "../support/waiting.mjs";
import { operation, serving, subscription, unread } from "./support.mjs";

const MB = 1024 * 1024;
const STREAMS = 100;

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

  it("streams that are opened at once are ended beyond a number of bytes, and their clients learn why", async () => {
    let ended = 0;
    const flood = subscription({
      name: "flood",
      handler: async function* () {
        try {
          for (;;) yield "x".repeat(MB);
        } finally {
          ended += 1;
        }
      },
    });
    const { url } = await serving([flood], { maxBufferedBytes: 32 * MB });
    const clients = Array.from({ length: STREAMS }, () => unread(url, "/api/test/flood"));
    // One caller gets half of the bytes; what is sent may be larger than an event by some words.
    await until(() => ended >= STREAMS - 20, "most streams are ended");
    const said = clients.map(async (socket) => {
      let end = "";
      for await (const bytes of socket) {
        end = `${end}${bytes.toString("latin1")}`.slice(-2_000);
        if (/"reason":\s*"overloaded"/.test(end)) return true;
      }
      return false;
    });
    assert.equal(await Promise.race(said.map(async (each) => (await each) || new Promise(() => {}))), true);
  });

  it("streams that are opened at once begin one after the other, so that not all first events are in memory together", async () => {
    let begun = 0;
    let inTurn = 0;
    let most = 0;
    const flood = subscription({
      name: "flood",
      handler: async function* () {
        begun += 1;
        inTurn += 1;
        most = Math.max(most, inTurn);
        setImmediate(() => {
          inTurn = 0;
        });
        yield 1;
      },
    });
    const { url } = await serving([flood]);
    const clients = Array.from({ length: STREAMS }, () => unread(url, "/api/test/flood"));
    await Promise.all(clients.map((socket) => once(socket, "connect")));
    // All requests are there before JavaScript takes the first.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    await until(() => begun === STREAMS, "all have begun");
    assert.ok(most <= 2, `${most} in one turn`);
  });
});
