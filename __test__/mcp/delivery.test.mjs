// What a caller can know about a call that failed: `details.delivery`.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { CallError, closeMCPClient, isRetryable } from "@alkdev/operations";
import { temporaryFolder, until } from "./support/processes.mjs";
import { connected, failure, stdio } from "./support/servers.mjs";

describe("details.delivery", { concurrency: true }, () => {
  for (const [what, expected, config, act] of [
    ["a time limit that passed", "unknown", { timeout: 50 }, ({ call }) => call("never")],
    [
      "a deadline that passed",
      "unknown",
      {},
      ({ tool }) => tool("never").handler({}, { deadline: Date.now() + 50 }),
    ],
    ["a deadline in the past", "none", {}, ({ tool }) => tool("never").handler({}, { deadline: 1e12 })],
    ["an input that is no JSON", "none", {}, ({ tool }) => tool("echo").handler({ text: 1n }, {})],
    ["an input that is no object", "none", {}, ({ tool }) => tool("echo").handler(7, {})],
    [
      "a signal that was aborted before",
      "none",
      {},
      ({ tool }) => tool("never").handler({}, { signal: AbortSignal.abort() }),
    ],
    ["a call without the name of a tool", "none", {}, ({ wrapper }) => wrapper.client.callTool({})],
    ["a tool that does not exist", "done", {}, ({ wrapper }) => wrapper.client.callTool({ name: "nobody" })],
    ["a tool that fails", "done", { onToolError: "throw" }, ({ call }) => call("fail")],
    ["a result that is none", "done", {}, ({ call }) => call("raw-result", { written: "7" })],
    ["a result that is too deep", "unknown", {}, ({ call }) => call("deep", { depth: 20_000 })],
    [
      "a result that is too large",
      "unknown",
      { maxResultBytes: 20_000 },
      ({ call }) => call("large", { bytes: 30_000 }),
    ],
    ["a server that ended", "unknown", {}, ({ call }) => call("die")],
    [
      "a client that was closed",
      "none",
      {},
      async ({ wrapper, call }) => {
        await closeMCPClient(wrapper);
        return call("echo", { text: "x" });
      },
    ],
  ]) {
    it(`details.delivery is ${expected} for ${what}`, async (t) => {
      const error = await failure(act(await connected(t, stdio([], config))));
      assert.ok(error instanceof CallError);
      assert.equal(error.details.delivery, expected);
      assert.match(error.details.reason, /^[a-z-]+$/);
      assert.equal(error.details.reason === "timeout", /limit|deadline/.test(what));
      assert.equal(error.details.server, "test");
    });
  }

  for (const kind of ["read-only", "idempotent"]) {
    it(`details.delivery is unknown for a tool that is ${kind} when its retry finds no server`, async (t) => {
      const marker = join(temporaryFolder(t), "marker");
      const config = stdio(["crash-when-restarted"], { env: { MARKER: marker }, connectTimeout: 10_000 });
      const { call } = await connected(t, config);
      const error = await failure(call(`die-once-${kind}`, { marker }));
      // The first attempt has run.
      assert.equal(readFileSync(marker, "utf8"), "called\n");
      assert.equal(error.details.delivery, "unknown");
      assert.match(error.message, /An earlier attempt may have been carried out/);
      assert.equal(isRetryable(error), false);
      // What is called now was never sent.
      const later = await failure(call("echo", { text: "x" }));
      assert.equal(later.details.delivery, "none");
      assert.equal(isRetryable(later), true);
    });
  }
});

describe("the time limit of a server", () => {
  it("the time limit of a server is not extended by the deadline of a call", async (t) => {
    const { call } = await connected(t, stdio([], { timeout: 100 }));
    const error = await failure(call("never", {}, { deadline: Date.now() + 3_600_000 }));
    assert.equal(error.code, "TIMEOUT");
    assert.equal(error.details.timeout, 100);
  });

  it("the time limit of a server does not outlast an earlier deadline, even with progress", async (t) => {
    const folder = temporaryFolder(t);
    const { call, tool } = await connected(t, stdio([], { resetTimeoutOnProgress: true }));
    const context = { deadline: Date.now() + 300, metadata: { timeout: 60_000 } };
    const error = await failure(tool("wait").handler({ steps: 100_000, pause: 5 }, context));
    assert.equal(error.code, "TIMEOUT");
    await call("write-file", { path: join(folder, "after") });
    await until(() => existsSync(join(folder, "after")), "the server goes on");
  });
});
