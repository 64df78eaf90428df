// What is held in memory for clients is bounded in bytes: bodies whose calls wait, and responses that nobody reads.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { until } from "../support/waiting.mjs";
import { call, job } from "./support/tasks.mjs";
import { deferred, operation, serving, subscription, unread } from "./support.mjs";

const MB = 1024 * 1024;

const message = (id, method, params = {}) => ({ jsonrpc: "2.0", id, method, params });

describe("batches of lists that nobody reads", () => {
  it("batches of lists that are not read hold no more memory than one list, however often it was requested", async () => {
    const description = "x".repeat(20_000);
    const tools = Array.from({ length: 100 }, (_, at) => operation({ name: `tool${at}`, description }));
    const { url, stats } = await serving(tools, { doors: { mcp: true } });
    const batch = JSON.stringify(Array.from({ length: 30 }, (_, id) => message(id, "tools/list")));
    const answered = await fetch(`${url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: batch,
    });
    const lists = await answered.json();
    assert.deepEqual(
      lists.map(({ id, result }) => [id, result.tools.length]),
      Array.from({ length: 30 }, (_, id) => [id, 100]),
    );
    lists.length = 0;
    globalThis.gc?.();
    const before = process.memoryUsage().rss;
    const begun = stats().requests;
    // 2 MB each, so 30 * 2 MB for each request: 600 MB.
    for (let i = 0; i < 10; i++)
      unread(url, "/mcp", { body: batch, headers: "accept: application/json\r\n" });
    await until(() => stats().requests >= begun + 10 && stats().running === 0, "all are answered");
    const grown = (process.memoryUsage().rss - before) / MB;
    assert.ok(grown < 200, `${Math.round(grown)} MB more than before`);
  });
});

describe("responses that nobody reads", () => {
  it("requests are refused while too many bytes of responses are unread, and accepted again when they are read", async () => {
    let ran = 0;
    const large = operation({
      name: "large",
      type: "mutation",
      handler: () => {
        ran += 1;
        return "x".repeat(12 * MB);
      },
    });
    const small = operation({ name: "small", handler: () => "y" });
    const { url, post, stats } = await serving([large, small], { maxBufferedBytes: 30 * MB });
    const open = [];
    // Those of some are in the buffers of the system.
    for (let i = 0; i < 8; i++) {
      open.push(unread(url, "/api/test/large"));
      await until(() => stats().requests >= open.length && stats().running === 0, "it is answered");
    }
    const before = ran;
    const refused = await post("test/small", {});
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get("retry-after"), "1");
    const problem = await refused.json();
    assert.equal(problem.details.reason, "overloaded");
    assert.equal(problem.mayHaveRun, false);
    assert.equal((await fetch(`${url}/health`)).status, 200);
    assert.equal(ran, before, "what is refused has not run");
    for (const socket of open) socket.destroy();
    const again = await until(async () => {
      const response = await post("test/small", {});
      return response.status === 503 ? undefined : response;
    }, "bytes are free");
    assert.equal(await again.json(), "y");
  });

  it("unread responses of one caller leave room for those of others", async () => {
    const large = operation({ name: "large", handler: () => "x".repeat(24 * MB) });
    const tokens = { ada: { id: "ada", scopes: [] }, bob: { id: "bob", scopes: [] } };
    const { url, post } = await serving([large], { tokens, maxBufferedBytes: 30 * MB });
    const as = (who) => ({ headers: { authorization: `Bearer ${who}` } });
    for (let i = 0; i < 3; i++) unread(url, "/api/test/large", { headers: "authorization: Bearer ada\r\n" });
    await until(async () => (await post("test/large", {}, as("ada"))).status === 503, "the share is used up");
    const response = await post("test/large", {}, as("bob"));
    assert.equal((await response.json()).length, 24 * MB);
  });

  it("unread responses keep calls that have waited from running", async () => {
    const go = deferred();
    let ran = 0;
    const large = operation({
      name: "large",
      handler: async () => {
        await go.promise;
        ran += 1;
        return "x".repeat(24 * MB);
      },
    });
    const { url, stats } = await serving([large], { concurrency: 1, maxBufferedBytes: 30 * MB });
    for (let i = 0; i < 8; i++) unread(url, "/api/test/large");
    await until(() => stats().requests === 8 && stats().waiting === 7, "seven wait");
    go.resolve();
    await until(() => stats().running === 0, "all are answered");
    assert.ok(ran <= 3, `${ran} of 8 ran`);
  });

  it("large answers on event streams of MCP clients that are not read are refused beyond a number of bytes", async () => {
    const go = deferred();
    let waiting = 0;
    const large = operation({
      name: "large",
      handler: async (_, { onProgress }) => {
        onProgress(1, 2);
        waiting += 1;
        await go.promise;
        return "x".repeat(8 * MB);
      },
    });
    const one = subscription({
      name: "one",
      handler: async function* () {
        yield 1;
      },
    });
    const doors = { mcp: true, http: true };
    const { url, post } = await serving([large, one], { doors, maxBufferedBytes: 32 * MB });
    const params = { name: "test_large", arguments: {}, _meta: { progressToken: 1 } };
    const body = JSON.stringify(message(1, "tools/call", params));
    const headers = "accept: application/json, text/event-stream\r\n";
    const clients = Array.from({ length: 20 }, () => unread(url, "/mcp", { body, headers }));
    await until(() => waiting === clients.length, "all have begun");
    go.resolve();
    const isFull = async () => (await (await post("test/one", {})).text()).includes("overloaded");
    await until(isFull, "the share of streams is used up");
    const refused = clients.map(async (socket) => {
      let text = "";
      for await (const bytes of socket) {
        text = `${text}${bytes.toString("latin1")}`.slice(-2_000);
        if (text.includes("could not be held in memory")) return true;
        if (text.endsWith("0\r\n\r\n")) return false;
      }
      return false;
    });
    const count = (await Promise.all(refused)).filter(Boolean).length;
    assert.ok(count >= 5, `${count} of ${clients.length} are refused`);
  });

  it("the responses of a batch count as unread bytes as they are made", async () => {
    const large = operation({ name: "large", handler: () => "x".repeat(2 * MB) });
    const { url } = await serving([large], { doors: { mcp: true }, maxBufferedBytes: 10 * MB });
    const calls = Array.from({ length: 30 }, (_, id) =>
      message(id, "tools/call", { name: "test_large", arguments: {} }),
    );
    const response = await fetch(`${url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify(calls),
    });
    const answers = await response.json();
    assert.equal(answers.length, 30);
    const refused = answers.filter(({ error }) => /in memory/.test(error?.message));
    const served = answers.filter(({ result }) => result !== undefined);
    assert.equal(refused.length + served.length, 30);
    // Each has its text twice, as content and as structured content.
    assert.ok(served.length >= 1 && served.length <= 6, `${served.length} of 30`);
  });
});

describe("bodies whose calls wait", () => {
  it("bodies whose calls wait are bounded in bytes, and every request gets an answer", async () => {
    const go = deferred();
    const slow = operation({ name: "slow", handler: () => go.promise });
    const { post } = await serving([slow], { concurrency: 1, maxBufferedBytes: 2 * MB });
    const body = "x".repeat(MB / 2);
    const answers = [];
    const calls = Array.from({ length: 20 }, async () => {
      const response = await post("test/slow", body);
      answers.push({ status: response.status, body: await response.json() });
    });
    // No more than four of them fit.
    await until(() => answers.length >= 16, "most are refused");
    for (const { status, body } of answers) {
      assert.equal(status, 503);
      assert.equal(body.details.reason, "overloaded");
      assert.equal(body.mayHaveRun, false);
    }
    go.resolve("done");
    await Promise.all(calls);
    const done = answers.filter(({ status }) => status === 200);
    assert.equal(done.length + answers.filter(({ status }) => status === 503).length, 20);
    assert.ok(done.length <= 4, `${done.length}`);
    assert.equal((await post("test/slow", body)).status, 200);
  });

  it("calls that were admitted are answered, however many others come while they wait", async () => {
    const go = deferred();
    const slow = operation({ name: "slow", type: "mutation", handler: () => go.promise });
    const tokens = Object.fromEntries(["ada", "bob", "cyd"].map((id) => [id, { id, scopes: [] }]));
    const { post, stats } = await serving([slow], { tokens, concurrency: 1, maxBufferedBytes: 16 * MB });
    const body = "x".repeat(MB - 2);
    const answers = [];
    // Each holds half of what the others have left.
    for (const [id, count] of [
      ["ada", 8],
      ["bob", 4],
      ["cyd", 2],
    ]) {
      for (let i = 0; i < count; i++) {
        const answered = post("test/slow", body, { headers: { authorization: `Bearer ${id}` } });
        answers.push(answered.then(async (response) => [response.status, (await response.json()).length]));
      }
      await until(() => stats().waiting === answers.length - 1, `the calls of ${id} wait`);
    }
    go.resolve("y".repeat(64 * 1024));
    assert.deepEqual(await Promise.all(answers), Array(14).fill([200, 64 * 1024]));
  });

  it("the bodies of tasks count until their calls have ended", async () => {
    const dir = mkdtempSync(join(tmpdir(), "operations-test-budget-"));
    const go = deferred();
    const slow = job("slow", () => go.promise);
    const { url, post } = await serving([slow], {
      doors: { http: true, mcp: { tasks: { dir } } },
      concurrency: 1,
      maxBufferedBytes: 2.5 * MB,
    });
    // After the server is closed, which may still write the end of a task.
    after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 20 }));
    const made = [];
    for (let i = 0; i < 20; i++) made.push(await call(url, "x_slow", { text: "x".repeat(MB / 2) }));
    const tasks = made.filter(({ result }) => result?.resultType === "task");
    assert.ok(tasks.length >= 2 && tasks.length <= 4, `${tasks.length}`);
    go.resolve("done");
    await until(async () => (await post("x/slow", {})).status === 200, "bytes are free");
  });
});
