// What is large, deep or endless.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, createMCPClient } from "@alkdev/operations";
import { assertNoStalls } from "../support/event-loop.mjs";
import { startHTTPServer } from "./support/http-server.mjs";
import { connected, failure, stdio } from "./support/servers.mjs";

const MB = 1_000_000;

for (const [transport, start] of Object.entries({
  stdio: () => stdio(),
  "HTTP as JSON": (t) => startHTTPServer(t).then(({ url }) => ({ url })),
  "HTTP as a stream": (t) => startHTTPServer(t, { answers: "sse" }).then(({ url }) => ({ url })),
})) {
  describe(`over ${transport}`, () => {
    it(`results of 20 and of 50 MB pass over ${transport}`, async (t) => {
      const { call } = await connected(t, await start(t));
      for (const bytes of [20 * MB, 50 * MB]) {
        const { data } = await call("large", { bytes });
        assert.equal(data[0].text.length, bytes);
        assert.equal(data[0].text.at(-1), "x");
      }
    });

    it("a result beyond the limit is an error that names the limit, and the client stays usable", async (t) => {
      const { call } = await connected(t, await start(t));
      const error = await failure(call("large", { bytes: 80 * MB }));
      assert.ok(error instanceof CallError);
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.match(error.message, /maxResultBytes/);
      assert.equal(error.details.delivery, "unknown");
      assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
    });

    it(`the limit of results can be set, over ${transport}`, async (t) => {
      const { call } = await connected(t, { ...(await start(t)), maxResultBytes: 100_000 });
      assert.equal((await call("large", { bytes: 90_000 })).data[0].text.length, 90_000);
      const error = await failure(call("large", { bytes: 110_000 }));
      assert.match(error.message, /100000/);
      assert.equal(error.details.maxResultBytes, 100_000);
      assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
    });

    it(`large inputs pass over ${transport}`, async (t) => {
      const { ask } = await connected(t, await start(t));
      const text = "y".repeat(5 * MB);
      assert.equal((await ask("arguments", { text })).text.length, text.length);
    });

    it(`many results at once pass over ${transport}`, async (t) => {
      const { call } = await connected(t, await start(t));
      const results = await Promise.all(Array.from({ length: 16 }, () => call("large", { bytes: MB })));
      for (const { data } of results) assert.equal(data[0].text.length, MB);
    });
  });
}

describe("a line on stdout", () => {
  assertNoStalls();

  it("100 MB on stdout without a newline are not buffered: the time limit ends the call", async () => {
    const before = process.memoryUsage().rss;
    const config = stdio(["endless-line", "deaf"], { connectTimeout: 4_000, maxResultBytes: MB });
    const error = await failure(createMCPClient("endless", config));
    assert.equal(error.code, "TIMEOUT");
    assert.ok(process.memoryUsage().rss - before < 60 * MB);
  });

  it("100 MB of garbage before a message on stdout cost that message only", async (t) => {
    // The question which protocol the server speaks: it is asked in another way then.
    const { call } = await connected(t, stdio(["endless-line"]));
    assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
  });

  it("100 MB of garbage on stdout are skipped", async (t) => {
    const { call } = await connected(t, stdio(["long-line"]));
    assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
  });
});

describe("depth", () => {
  assertNoStalls();

  it("a deeply nested result is harmless", async (t) => {
    const { tool } = await connected(t, stdio());
    await assert.rejects(tool("deep").handler({ depth: 100_000 }, {}), (error) => {
      assert.ok(error instanceof CallError);
      assert.match(error.message, /nested more than 10000 levels deep/);
      return true;
    });
    const shallow = await tool("deep").handler({ depth: 500 }, {});
    let depth = 0;
    for (let value = shallow.data; value.next !== undefined; value = value.next) depth++;
    assert.equal(depth, 500);
  });

  it("a deeply nested schema is harmless, and the other tools are available", async (t) => {
    const { call } = await connected(t, stdio(["deep-schema"]));
    assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
    await call("deep-schema", {}).catch((error) => assert.ok(error instanceof CallError));
  });
});

it("ten thousand progress notifications all arrive", async (t) => {
  const { call } = await connected(t, stdio());
  let count = 0;
  await call("chatter", { count: 10_000 }, { onProgress: () => count++ });
  assert.equal(count, 10_000);
});
