// Servers that die, and come back.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { collectLog } from "../registry/support/warnings.mjs";
import { startsFile, temporaryFolder, until, untilDead, untilReaped } from "./support/processes.mjs";
import { connected, failure, stdio } from "./support/servers.mjs";

const timesCalled = (marker) => readFileSync(marker, "utf8").split("\n").filter(Boolean).length;

describe("a server that dies in mid-call", () => {
  it("a server that dies in mid-call fails the call, which may have been carried out", async (t) => {
    const { call } = await connected(t, stdio());
    const error = await failure(call("die", { words: "the roof is on fire" }));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.equal(error.details.delivery, "unknown");
    assert.match(error.message, /may have been carried out/);
    assert.match(error.message, /the roof is on fire/);
    assert.equal(error.details.exitCode, 7);
    assert.equal(error.details.tool, "die");
    assert.equal(error.details.server, "test");
  });

  it("a server that dies fails all running calls", async (t) => {
    const { call } = await connected(t, stdio());
    const pending = Array.from({ length: 20 }, () => failure(call("never")));
    await failure(call("die"));
    for (const error of await Promise.all(pending)) {
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.equal(error.details.delivery, "unknown");
    }
  });

  it("a call is not repeated after its server died", async (t) => {
    const { call } = await connected(t, stdio());
    const marker = join(temporaryFolder(t), "marker");
    const error = await failure(call("die-once", { marker }));
    assert.equal(error.details.delivery, "unknown");
    await call("echo", { text: "next" });
    assert.equal(timesCalled(marker), 1);
  });

  for (const tool of ["die-once-read-only", "die-once-idempotent"]) {
    it(`a call is repeated after its server died if the tool allows it: ${tool}`, async (t) => {
      const { call } = await connected(t, stdio());
      const marker = join(temporaryFolder(t), "marker");
      assert.equal((await call(tool, { marker })).data[0].text, "alive again");
      assert.equal(timesCalled(marker), 2);
    });
  }
});

describe("the next call", () => {
  const log = collectLog();

  it("the next call after a server's death starts it again", async (t) => {
    const starts = startsFile(t);
    const { call, ask } = await connected(t, stdio([], { env: { STARTS_FILE: starts.path } }));
    const before = await ask("about-me");
    await failure(call("die"));
    const after = await ask("about-me");
    assert.notEqual(after.pid, before.pid);
    assert.equal(starts.pids("server").length, 2);
    await untilDead([before.pid]);
  });

  it("many calls at once after a server's death start it once", async (t) => {
    const starts = startsFile(t);
    const { call } = await connected(t, stdio([], { env: { STARTS_FILE: starts.path } }));
    await failure(call("die"));
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => call("echo", { text: `${i}` })));
    assert.deepEqual(
      answers.map(({ data }) => data[0].text),
      Array.from({ length: 20 }, (_, i) => `${i}`),
    );
    assert.equal(starts.pids("server").length, 2);
  });

  it("the next call works after a server died without a call in flight", async (t) => {
    const { ask } = await connected(t, stdio());
    const { pid } = await ask("about-me");
    process.kill(pid, "SIGKILL");
    await untilReaped(pid);
    assert.notEqual((await ask("about-me")).pid, pid);
  });

  it("a server that dies again and again is started each time", async (t) => {
    const { call } = await connected(t, stdio());
    for (let round = 0; round < 4; round++) {
      await failure(call("die"));
      assert.equal((await call("echo", { text: `round ${round}` })).data[0].text, `round ${round}`);
    }
    assert.ok(log.some(({ text }) => /test/.test(text)));
  });

  it("a server that dies at each call is started again after longer and longer pauses, and calls say when", async (t) => {
    const starts = startsFile(t);
    const { call } = await connected(t, stdio([], { env: { STARTS_FILE: starts.path } }));
    let calls = 0;
    let error;
    do {
      calls += 1;
      error = await failure(call("die"));
    } while (calls < 20 && error.details.reason !== "backing-off");
    assert.equal(error.details.reason, "backing-off", error.message);
    assert.equal(error.details.delivery, "none");
    assert.ok(error.details.retryInMs > 1_000, String(error.details.retryInMs));
    assert.match(error.message, /failed \d+ times in a row and is tried again in \d+ ms/);
    assert.equal(starts.pids("server").length, calls - 1);
  });

  it("the next call waits for the restart as long as its own time limit", async (t) => {
    const starts = startsFile(t);
    const marker = join(temporaryFolder(t), "marker");
    const env = { STARTS_FILE: starts.path, MARKER: marker };
    const { call } = await connected(t, stdio(["silent-when-restarted"], { env }));
    await failure(call("die-once", { marker }));
    const error = await failure(call("echo", { text: "hello?" }, { metadata: { timeout: 500 } }));
    assert.equal(error.code, "TIMEOUT");
    assert.equal(error.details.delivery, "none");
    const controller = new AbortController();
    const pending = failure(call("echo", { text: "hello?" }, { signal: controller.signal }));
    setTimeout(() => controller.abort(), 100);
    assert.equal((await pending).code, "ABORTED");
  });

  it("a call says why the server does not come back, and that nothing was carried out", async (t) => {
    const marker = join(temporaryFolder(t), "marker");
    const env = { MARKER: marker };
    const { call } = await connected(t, stdio(["crash-when-restarted"], { env }));
    await failure(call("die-once", { marker }));
    for (let attempt = 0; attempt < 2; attempt++) {
      const error = await failure(call("echo", { text: "hello?" }));
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.match(error.message, /cannot open the database/);
      assert.equal(error.details.delivery, "none");
    }
  });

  it("calls that wait for a start that fails end with it, and do not start the server again", async (t) => {
    const marker = join(temporaryFolder(t), "marker");
    const { call } = await connected(t, stdio(["crash-when-restarted"], { env: { MARKER: marker } }));
    await failure(call("die-once", { marker }));
    const errors = await Promise.all(
      Array.from({ length: 8 }, () => failure(call("echo", { text: "hello?" }))),
    );
    for (const error of errors) {
      assert.match(error.message, /cannot open the database/);
      assert.notEqual(error.details.reason, "backing-off");
      assert.equal(error.details.delivery, "none");
    }
  });

  it("a restarted server's new tools are available", async (t) => {
    const marker = join(temporaryFolder(t), "marker");
    const env = { MARKER: marker };
    const { call, wrapper } = await connected(t, stdio(["knows-news-when-restarted"], { env }));
    const changes = [];
    wrapper.onToolsChanged((tools) => changes.push(tools.map(({ name }) => name)));
    await failure(call("die-once", { marker }));
    await call("echo", { text: "hello" });
    await until(() => changes.some((names) => names.includes("news")), "the listener hears of the new tool");
    assert.ok(wrapper.tools.some(({ name }) => name === "news"));
  });
});

describe("reconnect: false", () => {
  it("with reconnect: false a dead server stays dead", async (t) => {
    const starts = startsFile(t);
    const config = stdio([], { reconnect: false, env: { STARTS_FILE: starts.path } });
    const { call } = await connected(t, config);
    await failure(call("die", { words: "last words" }));
    const error = await failure(call("echo", { text: "hello?" }));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.equal(error.details.delivery, "none");
    assert.match(error.message, /reconnect/);
    assert.match(error.message, /last words/);
    assert.equal(starts.pids("server").length, 1);
  });
});
