// Streams that their clients do not read keep nothing else waiting.

import assert from "node:assert/strict";
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
});
