// Calls that outlast their requests: the extension of 2026-07-28 by hand and with our own client, the tasks of 2025-11-25 with
// the SDK's client, and servers that are killed.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { CallError, closeMCPClient, createMCPClient, OperationRegistry } from "@alkdev/operations";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  TaskStatusNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { Type } from "@sinclair/typebox";
import { packaged } from "../mcp/support/servers.mjs";
import { ask, call, EXTENSION, get, isOver, job, PREFIX, startTaskServer, until } from "./support/tasks.mjs";
import { deferred, operation, serving } from "./support.mjs";

/** A server that is closing may still write: what it writes while the folder is removed is removed too. */
async function removed(dir) {
  for (let tries = 1; ; tries++) {
    try {
      return rmSync(dir, { recursive: true, force: true });
    } catch (error) {
      if (tries === 50) throw error;
      await sleep(100);
    }
  }
}

const folders = [];
// A process holds a lock in each folder until it ends, and Windows removes no file that is open: there they stay.
after(() => Promise.all(process.platform === "win32" ? [] : folders.map(removed)));

function folder() {
  const dir = mkdtempSync(join(tmpdir(), "operations-test-tasks-"));
  folders.push(dir);
  return join(dir, "tasks");
}

const mcp = (operations, { tasks, ...more } = {}) =>
  serving(operations, {
    doors: { mcp: { name: "test", version: "1.2.3", tasks: tasks ?? { dir: folder(), poll: 50 } } },
    ...more,
  });

describe("tasks of 2026-07-28", () => {
  it("tasks of 2026-07-28 report their progress, and have their results", async () => {
    const go = deferred();
    const served = await mcp([
      job("work", async (_, { onProgress }) => {
        onProgress(1, 2, "half of it");
        await go.promise;
        return { done: true };
      }),
    ]);
    const { result: made } = await call(served.url, "x_work");
    assert.equal(made.resultType, "task");
    const working = await until(served.url, made.taskId, ({ statusMessage }) => statusMessage !== undefined);
    assert.equal(working.status, "working");
    assert.equal(working.statusMessage, "half of it");
    assert.equal(working.ttlMs, 86_400_000);
    go.resolve();
    const done = await until(served.url, made.taskId, isOver);
    assert.equal(done.status, "completed");
    assert.deepEqual(done.result.structuredContent, { done: true });
  });

  it("clients that do not know tasks wait for the result", async () => {
    const served = await mcp([
      job("quick", () => 1),
      job("slow", () => 1, { _meta: { mcp: { task: "required" } } }),
      operation({ namespace: "x", name: "plain", type: "mutation", handler: () => 2 }),
    ]);
    const undeclared = { declares: false };
    const quick = await call(served.url, "x_quick", {}, undeclared);
    assert.deepEqual(quick.result.structuredContent, 1);
    const slow = await call(served.url, "x_slow", {}, undeclared);
    assert.equal(slow.error.code, -32021);
    assert.deepEqual(slow.error.data.requiredCapabilities, { extensions: { [EXTENSION]: {} } });
    const plain = await call(served.url, "x_plain");
    assert.equal(plain.result.resultType, "complete");
    const refused = await ask(served.url, "tasks/get", { taskId: "any" }, undeclared);
    assert.equal(refused.error.code, -32021);
  });

  it("a task belongs to the caller who began it", async () => {
    const tokens = { "for-ada": { id: "ada", scopes: [] }, "for-bob": { id: "bob", scopes: [] } };
    const served = await mcp([job("secret", () => "of ada")], { tokens, anonymous: true });
    const as = (name) => ({ headers: { authorization: `Bearer for-${name}` } });
    const { result: made } = await call(served.url, "x_secret", {}, as("ada"));
    const done = await until(served.url, made.taskId, isOver, as("ada"));
    assert.deepEqual(done.result.structuredContent, "of ada");
    for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
      for (const more of [as("bob"), {}]) {
        const params = { taskId: made.taskId, inputResponses: {} };
        const { error } = await ask(served.url, method, params, more);
        assert.equal(error.code, -32602, method);
      }
    }
  });

  it("a task's work ends when it is cancelled, and when the server closes", async () => {
    const signals = [];
    const served = await mcp([
      job("wait", async (_, { signal }) => {
        signals.push(signal);
        await once(signal, "abort");
        throw signal.reason;
      }),
    ]);
    const { result: one } = await call(served.url, "x_wait");
    while (signals.length < 1) await sleep(5);
    const { result: two } = await call(served.url, "x_wait");
    while (signals.length < 2) await sleep(5);
    assert.equal(
      (await ask(served.url, "tasks/cancel", { taskId: one.taskId })).result.resultType,
      "complete",
    );
    assert.equal((await get(served.url, one.taskId)).status, "cancelled");
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [true, false],
    );
    const ended = once(signals[1], "abort");
    await served.close({ drain: 0 });
    await ended;
    assert.notEqual(two.taskId, one.taskId);
  });

  it("task ids cannot be guessed, and invalid ids are unknown tasks", async () => {
    const served = await mcp([job("quick", () => 1)]);
    for (const taskId of [
      "",
      "../../etc/passwd",
      "00000000-0000-4000-8000-000000000000",
      "x".repeat(10_000),
    ]) {
      const { error } = await ask(served.url, "tasks/get", { taskId }, { headers: { "mcp-name": taskId } });
      assert.equal(error.code, -32602, taskId.slice(0, 40));
    }
  });

  it("tasks are stored for a time within bounds", async () => {
    for (const keep of [0, 0.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e300, 31_536_000_001, "60000"]) {
      await assert.rejects(mcp([job("quick", () => 1)], { tasks: { dir: folder(), keep } }), (error) => {
        assert.ok(error instanceof CallError);
        assert.equal(error.code, "VALIDATION_ERROR");
        assert.match(error.message, /tasks\.keep.*from 1 to 31536000000/);
        return true;
      });
    }
  });

  it("tasks that run into their time limit leave no files behind", async () => {
    const dir = folder();
    const signals = [];
    const wait = job("wait", async (_, { signal }) => {
      signals.push(signal);
      await once(signal, "abort");
      return "too late";
    });
    const served = await mcp([wait], { tasks: { dir, keep: 40, poll: 50 } });
    for (let i = 0; i < 5; i++) await call(served.url, "x_wait");
    // On a busy machine the time of a task can be over before its handler begins: then there is no signal. One is needed.
    while (signals.length === 0) await call(served.url, "x_wait");
    while (!signals.every(({ aborted }) => aborted)) await sleep(5);
    // Old tasks are removed when there is a new one, the last of these.
    const last = async () => {
      const { result } = await call(served.url, "x_wait");
      const files = readdirSync(dir).filter((name) => !name.endsWith(".lock"));
      return files.every((name) => name.startsWith(result.taskId));
    };
    await sleep(200);
    assert.equal(await last(), true);
  });

  it("tasks become plain calls if they cannot be stored", async () => {
    const file = join(tmpdir(), `operations-test-${process.pid}`);
    writeFileSync(file, "in the way");
    after(() => rmSync(file));
    const served = await mcp([job("quick", () => 1)], { tasks: { dir: join(file, "tasks") } });
    const { result } = await call(served.url, "x_quick");
    assert.equal(result.resultType, "complete");
    assert.deepEqual(result.structuredContent, 1);
  });

  it("tasks can be turned off", async () => {
    const served = await mcp([job("quick", () => 1)], { tasks: false });
    assert.equal((await call(served.url, "x_quick")).result.resultType, "complete");
    assert.equal((await ask(served.url, "tasks/get", { taskId: "any" })).error.code, -32601);
  });

  it("files of tasks are readable by their user only", { skip: process.platform === "win32" }, async () => {
    const dir = folder();
    const served = await mcp([job("quick", () => 1)], { tasks: { dir } });
    const { result } = await call(served.url, "x_quick");
    await until(served.url, result.taskId, isOver);
    assert.equal(statSync(dir).mode & 0o777, 0o700);
    for (const file of readdirSync(dir)) assert.equal(statSync(join(dir, file)).mode & 0o777, 0o600, file);
  });
});

/** Our own client, connected to a server. */
async function connected(served, more = {}) {
  const wrapper = await createMCPClient("peer", { url: `${served.url}/mcp`, keepIds: true, ...more });
  after(() => closeMCPClient(wrapper));
  const registry = new OperationRegistry();
  registry.registerAll(wrapper.tools);
  return registry;
}

describe("calls that become tasks when they take long", () => {
  const later = (name, handler, more = {}) =>
    job(name, handler, { _meta: { mcp: { task: { after: 100, ...more } } } });

  it("quick calls are answered plainly although long ones become tasks", async () => {
    const served = await mcp([later("quick", () => ({ done: true }))]);
    const { result } = await call(served.url, "x_quick");
    assert.equal(result.resultType, "complete");
    assert.deepEqual(result.structuredContent, { done: true });
  });

  it("a long call goes on as a task, without beginning again", async () => {
    const go = deferred();
    let began = 0;
    const served = await mcp([
      later("slow", async (_, { onProgress }) => {
        began++;
        await go.promise;
        onProgress(1, 1, "nearly");
        return { began };
      }),
    ]);
    const { result: made } = await call(served.url, "x_slow");
    assert.equal(made.resultType, "task");
    go.resolve();
    const done = await until(served.url, made.taskId, isOver);
    assert.equal(done.status, "completed");
    assert.deepEqual(done.result.structuredContent, { began: 1 });
  });

  it("a call elicits with its result before it is a task, and as a task after", async () => {
    const go = deferred();
    const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
    const served = await mcp([
      later("asks", async (_, { elicit }) => {
        const first = await elicit({ message: "who?", requestedSchema });
        await go.promise;
        const second = await elicit({ message: "who else?", requestedSchema });
        return [first.content.name, second.content.name];
      }),
    ]);
    const more = { capabilities: { elicitation: {} } };
    const says = (name) => ({ action: "accept", content: { name } });
    const { result: asked } = await call(served.url, "x_asks", {}, more);
    assert.equal(asked.resultType, "input_required");
    assert.equal(asked.taskId, undefined);
    const { requestState } = asked;
    const [key] = Object.keys(asked.inputRequests);
    const params = { name: "x_asks", arguments: {}, requestState, inputResponses: { [key]: says("ada") } };
    const { result: made } = await ask(served.url, "tools/call", params, more);
    assert.equal(made.resultType, "task");
    go.resolve();
    const waiting = await until(served.url, made.taskId, ({ status }) => status === "input_required", more);
    const [next] = Object.keys(waiting.inputRequests);
    const inputResponses = { [next]: says("bob") };
    await ask(served.url, "tasks/update", { taskId: made.taskId, inputResponses }, more);
    const done = await until(served.url, made.taskId, isOver, more);
    assert.deepEqual(done.result.structuredContent, ["ada", "bob"]);
  });

  it("clients of 2025-11-25 can begin a call as a task", async () => {
    const served = await mcp([later("quick", () => 1)]);
    const response = await fetch(`${served.url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "x_quick", arguments: {}, task: {} },
      }),
    });
    const { result } = await response.json();
    assert.ok(result.task.taskId);
  });
});

describe("clients are told what becomes of their tasks", () => {
  /** Reads messages of a stream until one is wanted. */
  async function heard(response, isWanted) {
    const messages = [];
    let text = "";
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const lines = text.split("\n");
      text = lines.pop();
      for (const line of lines) {
        if (!line.startsWith("data: {")) continue;
        const message = JSON.parse(line.slice(6));
        messages.push(message);
        if (isWanted(message)) return messages;
      }
    }
    return messages;
  }

  const listen = (url, taskIds, declares = true) =>
    fetch(`${url}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "subscriptions/listen",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 7,
        method: "subscriptions/listen",
        params: {
          notifications: { taskIds },
          _meta: {
            [`${PREFIX}protocolVersion`]: "2026-07-28",
            [`${PREFIX}clientCapabilities`]: declares ? { extensions: { [EXTENSION]: {} } } : {},
          },
        },
      }),
    });

  const waiting = (go) =>
    job("work", async (_, { onProgress }) => {
      await go.promise;
      onProgress(1, 2, "half of it");
      await sleep(50);
      return { done: true };
    });

  it("clients of 2026-07-28 are notified of the tasks that they name", async () => {
    const go = deferred();
    const served = await mcp([waiting(go), job("other", () => 1)]);
    const { result: made } = await call(served.url, "x_work");
    const response = await listen(served.url, [made.taskId, "no name"]);
    const isEnd = ({ params }) => params?.status === "completed";
    const listening = heard(response, isEnd);
    const { result: other } = await call(served.url, "x_other");
    await until(served.url, other.taskId, isOver);
    go.resolve();
    const [acknowledged, ...told] = await listening;
    assert.deepEqual(acknowledged.params.notifications, { taskIds: [made.taskId] });
    assert.ok(
      told.every(({ method, params }) => method === "notifications/tasks" && params.taskId === made.taskId),
    );
    assert.equal(told[0].params.statusMessage, "half of it");
    assert.equal(told[0].params._meta[`${PREFIX}subscriptionId`], 7);
    assert.deepEqual(told.at(-1).params.result.structuredContent, { done: true });
    const refused = await (await listen(served.url, [made.taskId], false)).json();
    assert.equal(refused.error.code, -32021);
  });

  it("clients of 2025-11-25 are notified of the tasks of their session", async () => {
    const go = deferred();
    const served = await mcp([waiting(go)]);
    const clients = [];
    for (const name of ["one", "two"]) {
      const client = new Client({ name, version: "1" });
      const told = [];
      client.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => void told.push(params));
      await client.connect(new StreamableHTTPClientTransport(new URL(`${served.url}/mcp`)));
      after(() => client.close());
      clients.push({ client, told });
    }
    const [one, two] = clients;
    // Their streams stand when something else was answered.
    await Promise.all(clients.map(({ client }) => client.listTools()));
    await sleep(100);
    const params = { name: "x_work", arguments: {}, task: {} };
    const made = await one.client.request({ method: "tools/call", params }, CreateTaskResultSchema);
    go.resolve();
    while (one.told.at(-1)?.status !== "completed") await sleep(20);
    assert.ok(one.told.every(({ taskId }) => taskId === made.task.taskId));
    assert.deepEqual(two.told, []);
  });
});

describe("our client and tasks", () => {
  it("our client gets the results of tasks like any other", async () => {
    const served = await mcp([
      job(
        "add",
        async ({ a }) => {
          await sleep(60);
          return { sum: a + 1 };
        },
        { inputSchema: Type.Object({ a: Type.Number() }), outputSchema: Type.Object({ sum: Type.Number() }) },
      ),
      job(
        "fails",
        () => {
          throw new CallError("NO_LUCK", "Not today", { why: 7 });
        },
        { errorSchemas: [{ code: "NO_LUCK", description: "", schema: {} }] },
      ),
    ]);
    const registry = await connected(served);
    const { data, meta } = await registry.execute("x.add", { a: 1 }, {});
    assert.deepEqual(data, { sum: 2 });
    assert.equal(meta.source, "mcp");
    await assert.rejects(registry.execute("x.fails", {}, {}), { code: "NO_LUCK", details: { why: 7 } });
  });

  it("our client answers the elicitation of a task", async () => {
    const served = await mcp([
      job("asks", async (_, { elicit }) => {
        const answers = await Promise.all([elicit({ message: "one" }), elicit({ message: "two" })]);
        const last = await elicit({ message: "three" });
        return [...answers, last].map(({ action }) => action);
      }),
    ]);
    const asked = [];
    const registry = await connected(served, {
      onElicitation: ({ message }) => {
        asked.push(message);
        return { action: message === "two" ? "decline" : "accept", content: {} };
      },
    });
    const { data } = await registry.execute("x.asks", {}, {});
    assert.deepEqual(data, ["accept", "decline", "accept"]);
    assert.deepEqual(asked.slice(0, 2).sort(), ["one", "two"]);
    assert.deepEqual(asked.slice(2), ["three"]);
  });

  it("our client gets the progress of a task", async () => {
    const seen = deferred();
    const served = await mcp([
      job("work", async (_, { onProgress }) => {
        onProgress(1, 4, "reading");
        await seen.promise;
        onProgress(3, 4);
        await sleep(200);
        return "done";
      }),
    ]);
    const registry = await connected(served);
    const heard = [];
    const onProgress = (progress) => {
      heard.push(progress);
      seen.resolve();
    };
    const { data } = await registry.execute("x.work", {}, { onProgress });
    assert.equal(data, "done");
    assert.deepEqual(heard, [
      { progress: 1, total: 4, message: "reading" },
      { progress: 3, total: 4 },
    ]);
  });

  it("our client cancels the task of a call that was aborted", async () => {
    const signals = [];
    const served = await mcp([
      job("asks", async (_, { signal, elicit }) => {
        signals.push(signal);
        await elicit({ message: "still there?" });
      }),
    ]);
    const controller = new AbortController();
    // It knows by then that there is a task.
    const onElicitation = () => {
      controller.abort();
      return new Promise(() => {});
    };
    const registry = await connected(served, { onElicitation });
    const call = registry.execute("x.asks", {}, { signal: controller.signal });
    await assert.rejects(call, { code: "ABORTED" });
    if (!signals[0].aborted) await once(signals[0], "abort");
    const late = registry.execute("x.asks", {}, { deadline: Date.now() + 500 });
    await assert.rejects(late, { code: "TIMEOUT" });
  });

  it("our client calls tools of 2025-11-25 that must be tasks", async () => {
    const wrapper = await createMCPClient("everything", packaged("server-everything", ["stdio"]));
    after(() => closeMCPClient(wrapper));
    const registry = new OperationRegistry();
    registry.registerAll(wrapper.tools);
    const input = { topic: "bees", ambiguous: false };
    const heard = [];
    const onProgress = ({ message }) => heard.push(message);
    const { data } = await registry.execute("everything.simulate-research-query", input, { onProgress });
    assert.match(data[0].text, /Research Report: bees/);
    // Its status messages.
    assert.ok(heard.length > 0);
    assert.equal(typeof heard[0], "string");
  });
});

describe("tasks of 2025-11-25", () => {
  it("tasks of 2025-11-25 work with the SDK's client", async () => {
    const served = await mcp([
      job(
        "add",
        async ({ a }) => {
          await sleep(100);
          return { sum: a + 1 };
        },
        { inputSchema: Type.Object({ a: Type.Number() }), outputSchema: Type.Object({ sum: Type.Number() }) },
      ),
      job("wait", (_, { signal }) => once(signal, "abort"), { _meta: { mcp: { task: "required" } } }),
      job("fail", () => Promise.reject(new CallError("NO_YEAR", "there is no such year"))),
    ]);
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${served.url}/mcp`)));
    after(() => client.close());
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ execution }) => execution?.taskSupport),
      ["optional", "required", "optional"],
    );
    const { tasks } = client.experimental;
    const params = { name: "x_add", arguments: { a: 1 } };
    const seen = [];
    let result;
    for await (const message of tasks.callToolStream(params, CallToolResultSchema, {
      task: { ttl: 60_000 },
    })) {
      seen.push(message.type);
      if (message.type === "result") result = message.result;
    }
    assert.equal(seen[0], "taskCreated");
    assert.deepEqual(result.structuredContent, { sum: 2 });
    assert.ok(result._meta[`${PREFIX}related-task`].taskId);
    // Without being asked for a task, it is an ordinary tool.
    assert.deepEqual((await client.callTool(params)).structuredContent, { sum: 2 });
    const waiting = tasks.callToolStream({ name: "x_wait", arguments: {} }, CallToolResultSchema, {
      task: { ttl: 60_000 },
    });
    const { value: created } = await waiting.next();
    const { taskId } = created.task;
    assert.equal((await tasks.getTask(taskId)).status, "working");
    assert.equal((await tasks.cancelTask(taskId)).status, "cancelled");
    await waiting.return();
    await assert.rejects(tasks.cancelTask(taskId), { code: -32602 });
    // A tool that fails fails its task in this generation, and has a result that says why.
    const failing = tasks.callToolStream({ name: "x_fail", arguments: {} }, CallToolResultSchema, {
      task: { ttl: 60_000 },
    });
    const { value: begun } = await failing.next();
    await failing.return();
    while ((await tasks.getTask(begun.task.taskId)).status === "working") await sleep(10);
    assert.equal((await tasks.getTask(begun.task.taskId)).status, "failed");
    const failure = await tasks.getTaskResult(begun.task.taskId, CallToolResultSchema);
    assert.equal(failure.isError, true);
    assert.match(failure.content[0].text, /there is no such year/);
  });
});

describe("tasks and the ends of their servers", () => {
  it("a task's result in a file outlives its server, and unfinished work is lost", async () => {
    const dir = folder();
    const first = await startTaskServer({ dir, poll: 50 });
    const { result: short } = await call(first.url, "x_wait", { ms: 0 });
    const { result: long } = await call(first.url, "x_wait", { ms: 600_000 });
    await until(first.url, short.taskId, isOver);
    const second = await startTaskServer({ dir, poll: 50 });
    // While the process lives that works on it, another one knows that.
    assert.equal((await get(second.url, long.taskId)).status, "working");
    const refused = await ask(second.url, "tasks/cancel", { taskId: long.taskId });
    assert.match(refused.error.message, /Another process/);
    await first.kill();
    const done = await get(second.url, short.taskId);
    assert.equal(done.status, "completed");
    assert.deepEqual(done.result.structuredContent, { waited: 0 });
    const lost = await get(second.url, long.taskId);
    assert.equal(lost.status, "failed");
    assert.match(lost.error.message, /has ended/);
    await second.kill();
    const third = await startTaskServer({ dir, poll: 50 });
    assert.equal((await get(third.url, long.taskId)).status, "failed");
    await third.kill();
  });
});
