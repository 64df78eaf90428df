// Tasks whose server is away for a while, or cannot tell of them: the client goes on asking.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startTaskServer } from "../serve/support/tasks.mjs";
import { defer } from "./support/defer.mjs";
import { temporaryFolder, until } from "./support/processes.mjs";
import { connected, failure } from "./support/servers.mjs";

const TASK = { taskId: "a-task", status: "working", ttlMs: null, createdAt: "x", lastUpdatedAt: "x" };
const DONE = { ...TASK, status: "completed", result: { content: [{ type: "text", text: "done" }] } };

/** A server of 2026-07-28 whose only tool makes tasks. `get` answers each `tasks/get` by itself. */
async function startServer(test, get) {
  const asked = [];
  const results = {
    "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
    "tools/list": { tools: [{ name: "work", inputSchema: { type: "object" } }] },
    "tools/call": { ...TASK, pollIntervalMs: 50, resultType: "task" },
    "tasks/cancel": {},
  };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const { id, method } = JSON.parse(body);
    asked.push(method);
    const answer = (members, status = 200) => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...members }));
    };
    const tell = (result) =>
      answer({ result: { resultType: "complete", ttlMs: 0, cacheScope: "private", ...result } });
    if (method !== "tasks/get") return tell(results[method]);
    get({ times: asked.filter((each) => each === method).length, response, answer, tell });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  defer(test, () => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, asked };
}

const unreadable = { error: { code: -32603, message: "Try again later" } };

describe("a task", () => {
  for (const [what, fail] of [
    ["that cannot be read at the moment", ({ answer }) => answer(unreadable)],
    ["whose server drops the connection", ({ response }) => response.destroy()],
    ["whose server is behind a gateway that fails", ({ response }) => response.writeHead(502).end()],
    ["whose server is too busy", ({ response }) => response.writeHead(503).end()],
  ]) {
    it(`a task ${what} is polled again`, async (t) => {
      const { url, asked } = await startServer(t, (get) => (get.times <= 3 ? fail(get) : get.tell(DONE)));
      const { call } = await connected(t, { url }, "away");
      assert.equal((await call("work", {})).data[0].text, "done");
      assert.equal(asked.filter((method) => method === "tasks/get").length, 4);
      assert.ok(!asked.includes("tasks/cancel"));
    });
  }

  it("a task that can never be read ends at the time limit; the error names it", async (t) => {
    const { url, asked } = await startServer(t, ({ response }) => response.destroy());
    const { call } = await connected(t, { url, taskTimeout: 400 }, "away");
    const error = await failure(call("work", {}));
    assert.equal(error.code, "TIMEOUT", error.message);
    assert.equal(error.details.delivery, "unknown");
    assert.equal(error.details.taskId, "a-task");
    await until(() => asked.includes("tasks/cancel"), "the server is told");
  });

  for (const [what, fail] of [
    ["nobody knows", ({ answer }) => answer({ error: { code: -32602, message: "There is no such task" } })],
    ["is forbidden", ({ response }) => response.writeHead(401).end()],
  ]) {
    it(`a task that ${what} ends the call at once, and may have run`, async (t) => {
      const { url, asked } = await startServer(t, fail);
      const { call } = await connected(t, { url }, "away");
      const error = await failure(call("work", {}));
      assert.equal(error.code, "EXECUTION_ERROR", error.message);
      assert.equal(error.details.delivery, "unknown");
      assert.equal(error.details.taskId, "a-task");
      assert.doesNotMatch(error.message, /not carried out/);
      assert.equal(asked.filter((method) => method === "tasks/get").length, 1);
    });
  }

  /** A server in a process of its own, which can be started anew where it was. */
  async function restartable(test, poll) {
    const dir = join(temporaryFolder(test), "tasks");
    let server = await startTaskServer({ dir, poll });
    defer(test, () => server.kill());
    const { url } = server;
    const config = { url: `${url}/mcp`, headers: { authorization: "Bearer ada" } };
    const { call } = await connected(test, config, "away");
    const again = async () => {
      server = await startTaskServer({ dir, poll }, Number(new URL(url).port));
    };
    const kept = () => {
      try {
        return (
          readdirSync(dir, { recursive: true, withFileTypes: true })
            // What is still being written has another ending.
            .filter((entry) => entry.isFile() && entry.name.endsWith(".json"))
            .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
            .join()
        );
      } catch (error) {
        // The server has just not made it yet, or put something in its place.
        if (error.code === "ENOENT") return "";
        throw error;
      }
    };
    return { call, kept, again, kill: () => server.kill() };
  }

  it("a task that is done has its result after a restart of the server", async (t) => {
    const { call, kept, kill, again } = await restartable(t, 1_000);
    const end = call("x_wait", { ms: 1 });
    await until(() => kept().includes('"completed"'), "the end of the task is kept");
    await kill();
    await sleep(1_500);
    await again();
    assert.deepEqual((await end).data, { waited: 1 });
  });

  it("a task that was running when its server ended fails with what the next server says", async (t) => {
    const { call, kept, kill, again } = await restartable(t, 50);
    const end = failure(call("x_wait", { ms: 600_000 }));
    await until(() => kept() !== "", "the task is kept");
    await sleep(200);
    await kill();
    await sleep(300);
    await again();
    const error = await end;
    assert.equal(error.code, "EXECUTION_ERROR", error.message);
    assert.notEqual(error.details.reason, "request-failed", error.message);
    assert.equal(typeof error.details.taskId, "string");
  });
});
