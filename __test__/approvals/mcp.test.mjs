// Approvals through the MCP door, for clients of both generations.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Type } from "@sinclair/typebox";
import { deferred } from "../support/waiting.mjs";
import { APPROVAL, answers, errorOf, newer, older, remove, removing, served } from "./support/served.mjs";

const accept = () => ({ action: "accept", content: {} });
const BOB = { id: "bob", scopes: ["approvals:decide"] };

describe("a client of an older revision", () => {
  test("that can be asked is shown the exact call, which runs once when its user accepts", async (t) => {
    const { url, calls, registry } = await served(t);
    const { call, asked } = await older(t, url, { answer: accept });
    const { structuredContent } = await call({ path: "/a", depth: 1 });
    assert.deepEqual(structuredContent, { removed: true });
    assert.match(asked[0].message, /files\.remove with \{"depth":1,"path":"\/a"\}/);
    const [approval] = await registry.approvals.list();
    assert.deepEqual([approval.status, approval.by.id], ["used", "ada"]);
    await call({ path: "/a", depth: 1 });
    assert.equal(asked.length, 2);
    assert.equal(calls.length, 2);
  });

  test("whose user declines gets isError with the id of the request, and no challenge", async (t) => {
    const { url, calls, registry } = await served(t);
    const { call } = await older(t, url, { answer: () => ({ action: "decline" }) });
    const result = await call({ path: "/a" });
    const [{ id, status }] = await registry.approvals.list();
    assert.deepEqual(
      [result.isError, errorOf(result).code, result._meta[APPROVAL]],
      [true, "ACCESS_DENIED", id],
    );
    assert.equal(errorOf(result).details.reason, "not-approved");
    assert.equal(status, "denied");
    assert.equal(calls.length, 0);
  });

  test("whose user cancels, or that fails, gets isError with the id, and the request waits", async (t) => {
    const { url, calls, registry } = await served(t);
    const fails = () => {
      throw new Error("no user");
    };
    for (const answer of [() => ({ action: "cancel" }), fails, () => ({ action: "maybe" })]) {
      const { call } = await older(t, url, { answer });
      const result = await call({ path: "/a" });
      const [{ id, status }] = await registry.approvals.list();
      assert.deepEqual([errorOf(result).code, result._meta[APPROVAL]], ["APPROVAL_REQUIRED", id]);
      assert.equal(status, "pending");
    }
    assert.equal(calls.length, 0);
  });

  test("that cannot be asked is told in words what to do, and runs the call with the id in _meta", async (t) => {
    const { url, calls, registry } = await served(t);
    const { call } = await older(t, url);
    const result = await call({ path: "/a" });
    const id = result._meta[APPROVAL];
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /needs the approval of a person, and nothing was done/);
    assert.ok(result.content[0].text.includes(id));
    assert.equal((await call({ path: "/a" }, { meta: { [APPROVAL]: id } }))._meta[APPROVAL], id);
    await registry.approvals.decide(id, { approve: true, by: BOB });
    assert.equal((await call({ path: "/b" }, { meta: { [APPROVAL]: id } })).isError, true);
    assert.equal((await call({ path: "/a" }, { meta: { [APPROVAL]: [id] } })).isError, true);
    const { structuredContent } = await call({ path: "/a" }, { meta: { [APPROVAL]: id } });
    assert.deepEqual(structuredContent, { removed: true });
    assert.equal((await call({ path: "/a" }, { meta: { [APPROVAL]: id } })).isError, true);
    assert.equal(calls.length, 1);
  });

  test("holds no permit of the server while it is asked, and has one again when its call runs", async (t) => {
    const running = deferred();
    const release = deferred();
    const { url, calls, registry } = await served(t, {
      concurrency: 1,
      queue: 0,
      operations: [
        removing([], {
          name: "slow",
          approval: "never",
          handler: async () => {
            running.resolve();
            await release.promise;
            return "slow";
          },
        }),
      ],
    });
    const asked = deferred();
    const answer = deferred();
    const { call } = await older(t, url, {
      answer: async () => {
        asked.resolve();
        await answer.promise;
        return accept();
      },
    });
    const waiting = call({ path: "/a" });
    await asked.promise;
    const other = await older(t, url, { who: "bob" });
    const slow = other.call({}, { name: "files_slow" });
    await running.promise;
    answer.resolve();
    // Its permit is not free: nothing was done, and its user is asked again.
    const refused = await waiting;
    assert.equal(errorOf(refused).details.reason, "overloaded");
    assert.equal(calls.length, 0);
    release.resolve();
    await slow;
    const [{ id, status }] = await registry.approvals.list();
    assert.equal(status, "pending");
    const again = call({ path: "/a" }, { meta: { [APPROVAL]: id } });
    assert.deepEqual((await again).structuredContent, { removed: true });
  });

  test("is waited for no longer than the deadline, and has the id then", async (t) => {
    const { url, calls } = await served(t, { timeout: 2_500 });
    const { call } = await older(t, url, { answer: () => new Promise(() => {}) });
    const result = await call({ path: "/a" });
    assert.equal(errorOf(result).code, "APPROVAL_REQUIRED");
    assert.equal(calls.length, 0);
  });

  test("need not answer any more when another person has decided", async (t) => {
    const { url, calls, registry } = await served(t);
    registry.approvals.on("requested", ({ id, input }) =>
      setImmediate(() => registry.approvals.decide(id, { approve: input.path === "/yes", by: BOB })),
    );
    const { call } = await older(t, url, { answer: () => new Promise(() => {}) });
    assert.deepEqual((await call({ path: "/yes" })).structuredContent, { removed: true });
    const denied = await call({ path: "/no" });
    assert.match(denied.content[0].text, /bob denied it/);
    assert.equal(calls.length, 1);
  });

  test("is not asked where may does not let its user decide about the own request", async (t) => {
    const may = (identity, { identity: requester }) => identity?.id !== requester?.id;
    const { url, calls } = await served(t, { approvals: { may } });
    const { call, asked } = await older(t, url, { answer: accept });
    assert.equal(errorOf(await call({ path: "/a" })).code, "APPROVAL_REQUIRED");
    assert.deepEqual([asked.length, calls.length], [0, 0]);
  });

  test("that opens pages only is sent to the explorer, where the call waits for the decision", async (t) => {
    const { url, calls, registry } = await served(t, { doors: { explorer: true } });
    const opened = deferred();
    const { call, asked } = await older(t, url, {
      capabilities: { elicitation: { url: {} } },
      answer: () => {
        opened.resolve();
        return { action: "accept" };
      },
    });
    const waiting = call({ path: "/a" });
    await opened.promise;
    const [{ id }] = await registry.approvals.list();
    assert.deepEqual([asked[0].mode, asked[0].elicitationId], ["url", id]);
    assert.ok(asked[0].url.startsWith(`${url}/`) && asked[0].url.includes(id), asked[0].url);
    assert.equal(calls.length, 0);
    await registry.approvals.decide(id, { approve: true, by: BOB });
    assert.deepEqual((await waiting).structuredContent, { removed: true });
  });

  test("that takes forms and pages gets the form, and the page for what no form can show in full", async (t) => {
    const { url } = await served(t, { doors: { explorer: true } });
    const both = { elicitation: { form: {}, url: {} } };
    const { call, asked } = await older(t, url, {
      capabilities: both,
      answer: () => ({ action: "decline" }),
    });
    await call({ path: "/a" });
    await call({ path: "/a".repeat(10_000) });
    assert.deepEqual(
      asked.map(({ mode = "form" }) => mode),
      ["form", "url"],
    );
  });

  test("is not asked about what it could not show: the whole call, or a page without an explorer", async (t) => {
    const { url, calls } = await served(t);
    const forms = await older(t, url, { answer: accept });
    assert.equal(errorOf(await forms.call({ path: "/a".repeat(10_000) })).code, "APPROVAL_REQUIRED");
    const pages = await older(t, url, { capabilities: { elicitation: { url: {} } }, answer: accept });
    assert.equal(errorOf(await pages.call({ path: "/a" })).code, "APPROVAL_REQUIRED");
    assert.deepEqual([forms.asked.length, pages.asked.length, calls.length], [0, 0, 0]);
  });

  test("is shown characters that cannot be seen, and those that reorder others, as what they are", async (t) => {
    const { url } = await served(t);
    const { call, asked } = await older(t, url, { answer: accept });
    await call({ path: "/safe\u202e\u200b\u2028\u{e0041}" });
    assert.ok(asked[0].message.includes(String.raw`/safe\u202e\u200b\u2028\udb40\udc41"`), asked[0].message);
  });

  test("is asked about a call that the handler of its call makes, and not twice with one answer", async (t) => {
    const twice = async ({ path }, { env }) => {
      await env.files.remove({ path });
      await env.files.remove({ path });
    };
    const tidy = removing([], { name: "tidy", approval: "never", handler: twice });
    const { url, calls } = await served(t, { operations: [tidy] });
    const { call, asked } = await older(t, url, {
      answer: (_, n) => ({ action: n === 1 ? "accept" : "decline" }),
    });
    const result = await call({ path: "/a" }, { name: "files_tidy" });
    assert.equal(result.isError, true);
    assert.deepEqual([asked.length, calls.length], [2, 1]);
  });
});

describe("a client of 2026-07-28", () => {
  test("gets what to ask with a sealed state, and its call runs when it repeats it with the answer", async (t) => {
    const { url, calls, registry } = await served(t);
    const { result } = await remove(url, { path: "/a" });
    assert.equal(result.resultType, "input_required");
    const [{ id }] = await registry.approvals.list();
    const [[key, { method, params }]] = Object.entries(result.inputRequests);
    assert.deepEqual([key, method], [`approval-${id}`, "elicitation/create"]);
    assert.match(params.message, /files\.remove with \{"path":"\/a"\}/);
    assert.equal(calls.length, 0);
    const { requestState } = result;
    const inputResponses = answers(result);
    const done = await remove(url, { path: "/a" }, { requestState, inputResponses });
    assert.deepEqual(done.result.structuredContent, { removed: true });
    const [{ status, by }] = await registry.approvals.list();
    assert.deepEqual([status, by.id], ["used", "ada"]);
    // The same answer once more is no second approval.
    const again = await remove(url, { path: "/a" }, { requestState, inputResponses });
    assert.equal(again.result.resultType, "input_required");
    assert.equal(calls.length, 1);
  });

  test("cannot use its answer for other arguments, nor for another caller", async (t) => {
    const { url, calls } = await served(t);
    const { result } = await remove(url, { path: "/a" });
    const { requestState } = result;
    const inputResponses = answers(result);
    const other = await remove(url, { path: "/b" }, { requestState, inputResponses });
    assert.equal(other.error.code, -32602);
    const bob = await remove(url, { path: "/a" }, { requestState, inputResponses, who: "bob" });
    assert.equal(bob.error.code, -32602);
    for (const [args, who] of [
      [{ path: "/b" }, "ada"],
      [{ path: "/a" }, "bob"],
    ]) {
      const { result } = await remove(url, args, { inputResponses, who });
      assert.equal(result.resultType, "input_required");
      assert.notDeepEqual(Object.keys(result.inputRequests), Object.keys(inputResponses));
    }
    assert.equal(calls.length, 0);
  });

  test("cannot answer unasked where may does not let its user decide", async (t) => {
    const may = (identity, { identity: requester }) => identity?.id !== requester?.id;
    const { url, calls } = await served(t, { approvals: { may } });
    const { result } = await remove(url, { path: "/a" });
    const id = result._meta[APPROVAL];
    const inputResponses = { [`approval-${id}`]: { action: "accept" } };
    const forged = await remove(url, { path: "/a" }, { inputResponses });
    assert.equal(forged.result._meta[APPROVAL], id);
    assert.equal(calls.length, 0);
  });

  test("that declines gets isError with the id; one that cannot be asked may repeat its call with it", async (t) => {
    const { url, calls, registry } = await served(t);
    const { result } = await remove(url, { path: "/a" });
    const declined = await remove(
      url,
      { path: "/a" },
      { requestState: result.requestState, inputResponses: answers(result, "decline") },
    );
    assert.equal(declined.response.status, 200);
    assert.equal(declined.response.headers.get("www-authenticate"), null);
    assert.equal(errorOf(declined.result).details.reason, "not-approved");
    assert.ok(declined.result._meta[APPROVAL]);
    const waiting = await remove(url, { path: "/a" }, { elicitation: null });
    const id = waiting.result._meta[APPROVAL];
    assert.equal(waiting.result.isError, true);
    await registry.approvals.decide(id, { approve: true, by: BOB });
    const done = await remove(url, { path: "/a" }, { elicitation: null, meta: { [APPROVAL]: id } });
    assert.deepEqual(done.result.structuredContent, { removed: true });
    assert.equal(calls.length, 1);
  });

  test("is asked for the input of a task, which then goes on", async (t) => {
    const calls = [];
    const job = removing(calls, { name: "job", _meta: { mcp: { task: true } } });
    const { url } = await served(t, { doors: { mcp: { tasks: { poll: 20 } } }, operations: [job] });
    const options = { tasks: true };
    const { result } = await newer(url, "tools/call", { name: "files_job", arguments: {} }, options);
    const { taskId } = result;
    const until = async (status) => {
      for (;;) {
        const { result } = await newer(url, "tasks/get", { taskId }, options);
        if (result.status === status) return result;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    const task = await until("input_required");
    assert.equal(calls.length, 0);
    await newer(url, "tasks/update", { taskId, inputResponses: answers(task) }, options);
    await until("completed");
    assert.equal(calls.length, 1);
  });
});

test("a program waits where may does not let the user of its client decide, and goes on once that is decided", async (t) => {
  const may = (identity, { identity: requester }) => identity?.id !== requester?.id;
  const { url, calls, registry } = await served(t, { approvals: { may }, doors: { mcp: { code: true } } });
  const { client, asked } = await older(t, url, { answer: accept });
  const run = async (args) => {
    const { content } = await client.callTool({ name: "code_run", arguments: args });
    return JSON.parse(content[0].text);
  };
  const waiting = await run({ code: "return await files.remove({ path: '/a' })" });
  assert.deepEqual([waiting.status, asked.length, calls.length], ["waiting", 0, 0]);
  await registry.approvals.decide(waiting.approvals[0].id, { approve: true, by: BOB });
  const done = await run({ resume: waiting.id });
  assert.deepEqual([done.status, calls.length], ["completed", 1]);
});

test("prompts and resources ask, too, and what is not approved is an error without a challenge", async (t) => {
  const calls = [];
  const shared = { inputSchema: Type.Object({}), type: "query" };
  const { url, registry } = await served(t, {
    operations: [
      removing(calls, { ...shared, name: "prompt", _meta: { mcp: { prompt: true } } }),
      removing(calls, { ...shared, name: "page", _meta: { mcp: { resource: { uri: "files://page" } } } }),
    ],
  });
  for (const [method, params] of [
    ["prompts/get", { name: "files_prompt" }],
    ["resources/read", { uri: "files://page" }],
  ]) {
    const { error, response } = await newer(url, method, params, { elicitation: null });
    const { id } = error.data.details.approval;
    assert.equal(error.data.code, "APPROVAL_REQUIRED");
    await registry.approvals.decide(id, { approve: false });
    const denied = await newer(url, method, params, { elicitation: null, meta: { [APPROVAL]: id } });
    assert.deepEqual(
      [denied.error.data.code, denied.error.data.details.reason],
      ["ACCESS_DENIED", "not-approved"],
    );
    assert.equal(denied.response.headers.get("www-authenticate"), null);
    const asked = await newer(url, method, params);
    assert.equal(asked.result.resultType, "input_required", method);
    assert.equal(calls.length, 0, method);
    const { requestState } = asked.result;
    await newer(url, method, { ...params, requestState, inputResponses: answers(asked.result) });
    assert.equal(calls.length, 1, method);
    assert.ok(response);
    calls.length = 0;
  }
});

test("a client over standard input and output is asked, and the call runs once it accepts", async (t) => {
  const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
  const asked = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params.message);
    return { action: asked.length === 1 ? "accept" : "cancel" };
  });
  const program = fileURLToPath(new URL("./support/stdio-server.mjs", import.meta.url));
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [program] }));
  t.after(() => client.close());
  const call = (meta) =>
    client.callTool({ name: "files_remove", arguments: { path: "/a" }, ...(meta && { _meta: meta }) });
  assert.deepEqual((await call()).structuredContent, { removed: true, calls: 1 });
  const waiting = await call();
  const id = waiting._meta[APPROVAL];
  assert.equal(errorOf(waiting).code, "APPROVAL_REQUIRED");
  // This server decides by itself about what is in its store.
  await client.callTool({ name: "files_decide", arguments: { id } });
  assert.deepEqual((await call({ [APPROVAL]: id })).structuredContent, { removed: true, calls: 2 });
});
