// Servers that make tasks of calls, and do not keep to the rules: by hand, over HTTP.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { describe, it } from "node:test";
import { until } from "../support/waiting.mjs";
import { defer } from "./support/defer.mjs";
import { connected, failure } from "./support/servers.mjs";

const TASK = { taskId: "a-task", status: "working", ttlMs: null, createdAt: "x", lastUpdatedAt: "x" };

/** A server of 2026-07-28 with one tool, whose calls are tasks. `get` says what becomes of them: a result, or a function that
 * answers itself. */
async function startTaskServer(test, get, first = {}) {
  const asked = [];
  const answers = {
    "server/discover": () => ({ supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }),
    "tools/list": () => ({ tools: [{ name: "work", inputSchema: { type: "object" } }] }),
    "tools/call": () => ({ ...TASK, pollIntervalMs: 0, ...first, resultType: "task" }),
    "tasks/get": get,
    "tasks/cancel": () => ({}),
    "tasks/update": () => ({}),
  };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const { id, method, params } = JSON.parse(body);
    asked.push(method);
    const answer = answers[method]?.(params, asked.filter((each) => each === method).length);
    if (typeof answer === "function") return answer(response, id);
    const result = { resultType: "complete", ttlMs: 0, cacheScope: "private", ...answer };
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  defer(test, () => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, asked };
}

async function calling(test, get, { first, config = {}, context = {} } = {}) {
  const server = await startTaskServer(test, get, first);
  const { call } = await connected(test, { url: server.url, ...config }, "odd");
  const end = call("work", {}, context);
  return { ...server, end };
}

const done = { status: "completed", result: { content: [{ type: "text", text: "done" }] } };

describe("a server whose tasks", () => {
  it("a task that never finishes ends at the time limit, and is cancelled at the server", async (t) => {
    const { end, asked } = await calling(t, () => TASK, { config: { taskTimeout: 300 } });
    const error = await failure(end);
    assert.equal(error.code, "TIMEOUT", error.message);
    assert.equal(error.details.delivery, "unknown");
    await until(() => asked.includes("tasks/cancel"));
  });

  it("a task with a different id than requested is refused", async (t) => {
    const { end } = await calling(t, () => ({ ...TASK, ...done, taskId: "another" }));
    const error = await failure(end);
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /another task/);
  });

  for (const [what, end, message] of [
    ["are done with another task", { result: { ...TASK, resultType: "task" } }, /is itself a task/],
    [
      "have a result and an error",
      { result: done.result, error: { code: -32603, message: "no" } },
      /completed and has an error/,
    ],
  ]) {
    it(`a server whose tasks ${what} is refused`, async (t) => {
      const call = await calling(t, () => ({ ...TASK, status: "completed", ...end }));
      const error = await failure(call.end);
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.match(error.message, message);
      assert.equal(error.details.taskId, TASK.taskId);
    });
  }

  for (const pollIntervalMs of [0, -5, 1e-9]) {
    it(`tasks with a poll interval of ${pollIntervalMs} ms are not polled without a pause`, async (t) => {
      const get = (_, times) => (times < 3 ? { ...TASK, pollIntervalMs } : { ...TASK, ...done });
      const { end, asked } = await calling(t, get, { first: { pollIntervalMs } });
      assert.equal((await end).data[0].text, "done");
      assert.equal(asked.filter((method) => method === "tasks/get").length, 3);
    });
  }

  for (const pollIntervalMs of [1e12, 1e308]) {
    it(`tasks with a poll interval of ${pollIntervalMs} ms do not delay a caller beyond its time limit`, async (t) => {
      const context = { deadline: Date.now() + 1_500 };
      const { end } = await calling(t, () => TASK, { first: { pollIntervalMs }, context });
      assert.equal((await failure(end)).code, "TIMEOUT");
    });
  }

  it("a task that changes its state after its end has the first end", async (t) => {
    const words = ["working", "input_required", "working", "sleeping", "working"];
    const get = (_, times) =>
      times <= words.length ? { ...TASK, status: words[times - 1] } : { ...TASK, ...done };
    const { end } = await calling(t, get);
    assert.equal((await end).data[0].text, "done");
  });

  it("a task with an endless result ends with an error", async (t) => {
    let sent = 0;
    const endless = () => (response, id) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      response.write(
        `{"jsonrpc":"2.0","id":${id},"result":{"taskId":"a-task","status":"completed","result":{"x":"`,
      );
      const piece = "x".repeat(64 * 1024);
      const more = () => {
        while (!response.destroyed && response.write(piece)) sent += piece.length;
        response.once("drain", more);
      };
      more();
    };
    const { end } = await calling(t, endless, { config: { maxResultBytes: 1024 * 1024 } });
    const error = await failure(end);
    assert.equal(error.code, "EXECUTION_ERROR", error.message);
    assert.match(error.message, /larger|large/);
    assert.ok(sent < 256 * 1024 * 1024);
  });

  it("a task without any response ends at the time limit of a request", async (t) => {
    const { end } = await calling(t, () => () => {}, { config: { timeout: 500 } });
    assert.equal((await failure(end)).code, "TIMEOUT");
  });

  it("a task cannot prompt the user without end", async (t) => {
    let questions = 0;
    const get = (_, times) => {
      const ask = (index) => [
        `${times}-${index}`,
        {
          method: "elicitation/create",
          params: { message: "and now?", requestedSchema: { type: "object" } },
        },
      ];
      const inputRequests = Object.fromEntries(Array.from({ length: 30 }, (_, index) => ask(index)));
      return { ...TASK, status: "input_required", inputRequests };
    };
    const onElicitation = () => {
      questions += 1;
      return { action: "decline" };
    };
    const { end } = await calling(t, get, { config: { onElicitation } });
    const error = await failure(end);
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /more than 100 questions/);
    assert.equal(questions, 100);
  });

  for (const [what, task] of Object.entries({
    "without a state": { taskId: "a-task" },
    "that fail without a reason": { ...TASK, status: "failed" },
    "that it has cancelled": { ...TASK, status: "cancelled" },
    "that are deep": { ...TASK, ...done, result: JSON.parse("[".repeat(400) + "]".repeat(400)) },
    "with progress that is none": { ...TASK, ...done, _meta: { "alkdev.operations/progress": [[]] } },
  })) {
    it(`a server whose tasks are those ${what} causes an error or a result, and no crash`, async (t) => {
      const { end } = await calling(t, () => task, { context: { onProgress: () => {} } });
      const outcome = await end.catch((error) => error);
      assert.ok(outcome.code === "EXECUTION_ERROR" || outcome.data !== undefined, String(outcome));
    });
  }
});
