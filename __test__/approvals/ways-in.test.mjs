// Every way to call an operation that needs an approval: by none does it run without one.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, test } from "node:test";
import {
  buildCallHandler,
  buildEnv,
  createRegistry,
  FromOpenAPI,
  MCPClientLoader,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { createClient } from "@alkdev/operations/client";
import { serve } from "@alkdev/operations/serve";
import { catalogue, toTools } from "@alkdev/operations/tools";
import { connectHub } from "@alkdev/operations/transport-websocket";
import { Type } from "@sinclair/typebox";
import { z } from "zod";
import { answers, documentOf, sendJson, serve as upstream } from "../http/support.mjs";
import { stdio } from "../mcp/support/servers.mjs";
import { skip, useNats } from "../nats/support.mjs";
import { runModule } from "../support/run-node.mjs";
import { deferred, failureOf, until } from "../support/waiting.mjs";
import { APPROVAL, newer, older, removing, served, tokens } from "./support/served.mjs";

const ADA = tokens.ada;
const needed = async (call) => {
  const error = await failureOf(call);
  assert.equal(error.code, "APPROVAL_REQUIRED", error.message);
  return error.details.approval;
};

/** A registry with the operation, and what it was called with. */
function guarded(options = {}, more = {}) {
  const calls = [];
  const registry = new OperationRegistry(options);
  registry.register(removing(calls, more));
  return { registry, calls };
}

const paths = { "/items/{id}": {} };
for (const [method, operationId] of [
  ["get", "item"],
  ["delete", "remove"],
]) {
  paths["/items/{id}"][method] = {
    operationId,
    parameters: [{ in: "path", name: "id", required: true, schema: { type: "string" } }],
    responses: answers(),
  };
}

/** Imported operations, one of which needs an approval, and how often its server was called. */
async function imported() {
  const api = await upstream((request, response) => sendJson(response, { method: request.method }));
  const operations = FromOpenAPI(documentOf(paths), { namespace: "api", baseUrl: api.url });
  const removals = () => api.received.filter(({ method }) => method === "DELETE").length;
  return { operations, removals, api };
}

const always = (operation) => ({ ...operation, approval: "always" });

describe("an imported operation, which native code could call by itself", () => {
  it("runs through no door without an approval, and once with it", async (t) => {
    const { operations, removals } = await imported();
    const { url, registry } = await served(t, {
      doors: { hub: true },
      operations: operations.map((each) => (each.name === "remove" ? always(each) : each)),
    });
    const post = (headers) =>
      fetch(`${url}/api/items/7`, { method: "DELETE", headers: { authorization: "Bearer ada", ...headers } });
    const asked = await post();
    assert.equal(asked.status, 202);
    const { approval } = await asked.json();
    const { call } = await older(t, url);
    assert.equal((await call({ id: "7" }, { name: "api_remove" }))._meta[APPROVAL], approval.id);
    const { result } = await newer(url, "tools/call", { name: "api_remove", arguments: { id: "7" } });
    assert.equal(result.resultType, "input_required");
    const hub = await connectHub(`${url.replace("http", "ws")}/hub`, { name: "s", token: "ada" });
    t.after(() => hub.close({ drain: 0 }));
    assert.equal((await needed(hub.callMap.call("api.remove", { id: "7" }))).id, approval.id);
    assert.equal(removals(), 0);
    await registry.approvals.decide(approval.id, { approve: true });
    assert.equal((await post({ approval: approval.id })).status, 200);
    assert.equal((await post({ approval: approval.id })).status, 202);
    assert.equal(removals(), 1);
  });

  it("asks from the moment when it is registered so, or a registry decides", async (t) => {
    const { operations, removals } = await imported();
    const { url, registry } = await served(t, { operations });
    const remove = async () => {
      const headers = { authorization: "Bearer ada" };
      return (await fetch(`${url}/api/items/7`, { method: "DELETE", headers })).status;
    };
    assert.equal(await remove(), 200);
    registry.register(always(registry.get("api.remove")));
    assert.equal(await remove(), 202);
    // Another handler, and other rules, change nothing about it.
    registry.registerHandler("api.remove", registry.getHandler("api.remove"));
    registry.protect("api.*", { requiredScopes: [] });
    assert.equal(await remove(), 202);
    const deciding = await served(t, {
      operations: (await imported()).operations,
      approvals: { decide: ({ operation }) => (operation.name === "remove" ? "ask" : "allow") },
    });
    const init = { method: "DELETE", headers: { authorization: "Bearer ada" } };
    assert.equal((await fetch(`${deciding.url}/api/items/7`, init)).status, 202);
    assert.equal(removals(), 1);
  });

  it("that needs none is called by native code alone, beside others that need one", async () => {
    const { api } = await imported();
    const folder = mkdtempSync(join(tmpdir(), "operations-"));
    const release = join(folder, "release");
    // In a process of its own, whose JavaScript stands still until it finds a file.
    const script = `
      import { existsSync, writeSync } from "node:fs";
      import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
      import { serve } from "@alkdev/operations/serve";
      const registry = new OperationRegistry({ approvals: { expires: 1000 } });
      const document = ${JSON.stringify(documentOf(paths))};
      for (const each of FromOpenAPI(document, { namespace: "api", baseUrl: "${api.url}" }))
        registry.register(each.name === "remove" ? { ...each, approval: "always" } : each);
      const served = await serve(registry, { doors: { http: true } });
      writeSync(1, served.url + "\\n");
      while (!existsSync(${JSON.stringify(release)}));
      await served.close();
    `;
    const url = deferred();
    const ended = runModule(script, { onOutput: (text) => text.endsWith("\n") && url.resolve(text.trim()) });
    try {
      const address = await Promise.race([url.promise, ended.then(({ stderr }) => assert.fail(stderr))]);
      const init = { method: "POST", headers: { "content-type": "application/json" }, body: '{"id":"7"}' };
      const response = await fetch(`${address}/api/api/item`, init);
      assert.deepEqual([response.status, await response.json()], [200, { method: "GET" }]);
    } finally {
      writeFileSync(release, "");
      await ended;
      rmSync(folder, { recursive: true });
    }
  });

  it("still needs an approval when its server offers it anew", async (t) => {
    const loader = new MCPClientLoader();
    t.after(() => loader.closeAll());
    await loader.load({ s: stdio([]) });
    const registry = new OperationRegistry();
    loader.registerAll(registry, { keepInStep: true });
    const learn = async (description) => {
      const { tools } = loader.getClient("s");
      await tools.find(({ name }) => name === "learn").handler({ name: "juggle", description }, {});
      await until(() => registry.getSpec("s.juggle")?.description === description);
    };
    await learn("first");
    registry.register(always(registry.get("s.juggle")));
    await learn("second");
    assert.equal(registry.getSpec("s.juggle").approval, "always");
    await needed(registry.execute("s.juggle", {}, { identity: ADA }));
  });
});

describe("an operation of a spoke", () => {
  it("asks at the spoke, and where the hub says so at the hub, for peers too", async (t) => {
    const { registry: own, calls } = guarded();
    const hub = new OperationRegistry();
    const server = await serve(hub, {
      doors: { hub: { accept: () => ({ namespace: "spoke" }) }, http: true },
      tokens,
    });
    t.after(() => server.close({ drain: 0 }));
    const address = `${server.url.replace("http", "ws")}/hub`;
    const spoke = await connectHub(address, { name: "s", token: "ada" });
    t.after(() => spoke.close({ drain: 0 }));
    await spoke.serve(own);
    const [{ name, namespace }] = hub.getAllSpecs();
    const id = `${namespace}.${name}`;
    const peer = await connectHub(address, { name: "p", token: "bob" });
    t.after(() => peer.close({ drain: 0 }));
    const atSpoke = await needed(peer.callMap.call(id, { path: "/a" }));
    assert.equal((await own.approvals.get(atSpoke.id)).operationId, "files.remove");
    hub.register({ ...hub.get(id), approval: "always" });
    const atHub = await needed(peer.callMap.call(id, { path: "/a" }));
    assert.equal((await hub.approvals.get(atHub.id)).operationId, id);
    assert.equal((await own.approvals.list()).length, 1);
    const post = await fetch(`${server.url}/api/${namespace}/${name}`, {
      method: "POST",
      headers: { authorization: "Bearer bob", "content-type": "application/json" },
      body: "{}",
    });
    assert.equal(post.status, 202);
    assert.equal(calls.length, 0);
  });
});

describe("a worker of a broker", { skip }, () => {
  const nats = useNats();

  it("asks, and runs what was approved once, for an operation of its own or an imported one", async () => {
    const calls = [];
    const { operations, removals } = await imported();
    const worker = await nats.worker([removing(calls), ...operations.map(always)]);
    const caller = await nats.connect({ name: "caller" });
    for (const [id, input] of [
      ["files.remove", { path: "/a" }],
      ["api.remove", { id: "7" }],
    ]) {
      const call = (approval) =>
        caller.callMap.call(id, input, {
          identity: ADA,
          ...(approval && { metadata: { [APPROVAL]: approval.id } }),
        });
      const approval = await needed(call());
      await worker.registry.approvals.decide(approval.id, { approve: true });
      await call(approval);
      await needed(call(approval));
    }
    assert.deepEqual([calls.length, removals()], [1, 1]);
  });
});

test("trust, direct calls that are trusted, an env and a call map are no approval", async () => {
  const { registry, calls } = guarded({ trustDirectCalls: true });
  await needed(registry.execute("files.remove", {}));
  await needed(registry.execute("files.remove", {}, { trusted: true, identity: ADA }));
  await needed(buildEnv({ registry, context: { trusted: true } }).files.remove({}));
  const callMap = new PendingRequestMap();
  callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
  await needed(buildEnv({ registry, context: {}, callMap }).files.remove({}));
  await needed(callMap.call("files.remove", {}, { identity: ADA, metadata: { approve: true } }));
  await needed(
    callMap
      .subscribe("files.remove", {})
      .next()
      .catch(() => callMap.call("files.remove", {})),
  );
  const used = createRegistry([removing(calls)]);
  used.register({
    ...removing([], {
      name: "tidy",
      approval: "never",
      uses: { files: { remove: used.getSpec("files.remove") } },
    }),
    handler: (input, { env }) => env.files.remove(input),
  });
  await needed(used.execute("files.tidy", { path: "/a" }));
  assert.equal(calls.length, 0);
});

test("middleware that changes, repeats or answers a call gives no approval for what it makes of it", async () => {
  const { registry, calls } = guarded();
  const call = (input, more) => registry.execute("files.remove", input, { identity: ADA, ...more });
  const { id } = await needed(call({ path: "/a" }));
  await registry.approvals.decide(id, { approve: true });
  const remove = registry.use((each, next) => next({ input: { path: "/" }, context: { ...each.context } }));
  await needed(call({ path: "/a" }, { approval: id }));
  remove();
  const repeat = registry.use(async (_, next) => {
    await next();
    return next();
  });
  await needed(call({ path: "/a" }, { approval: id }));
  repeat();
  assert.deepEqual(calls, [{ path: "/a" }]);
});

test("a definition, a spec or an entry that is changed after its registration needs an approval all the same", async () => {
  const calls = [];
  const definition = removing(calls);
  const registry = new OperationRegistry();
  registry.register(definition);
  definition.approval = "never";
  registry.getSpec("files.remove").approval = "never";
  registry.get("files.remove").approval = "never";
  registry.list()[0].approval = "never";
  await needed(registry.execute("files.remove", {}));
  registry.registerHandler("files.remove", async (input) => calls.push(input));
  await needed(registry.execute("files.remove", {}));
  const copy = new OperationRegistry();
  copy.registerAll(registry.list());
  await needed(copy.execute("files.remove", {}));
  assert.equal(calls.length, 0);
});

test("an operation whose schemas are of another library runs once with what was approved", async () => {
  const inputSchema = z.object({ path: z.string().trim() });
  const { registry, calls } = guarded({}, { inputSchema });
  const call = (path, approval) => registry.execute("files.remove", { path }, { identity: ADA, approval });
  const { id } = await needed(call(" /a"));
  await registry.approvals.decide(id, { approve: true });
  await needed(call("/a", id));
  await call(" /a", id);
  await needed(call(" /a", id));
  assert.deepEqual(calls, [{ path: "/a" }]);
});

test("a subscription through a door is 202 or an error, and no stream", async (t) => {
  const handler = async function* () {
    yield calls.push("streamed");
  };
  const calls = [];
  const ticks = removing([], { name: "ticks", type: "subscription", handler });
  const { url, registry } = await served(t, { doors: { hub: true }, operations: [ticks] });
  const open = (headers) =>
    fetch(`${url}/api/files/ticks`, {
      method: "POST",
      headers: { authorization: "Bearer ada", "content-type": "application/json", ...headers },
      body: "{}",
    });
  const asked = await open();
  assert.deepEqual([asked.status, asked.headers.get("content-type")], [202, "application/json"]);
  const { approval } = await asked.json();
  const hub = await connectHub(`${url.replace("http", "ws")}/hub`, { name: "s", token: "ada" });
  t.after(() => hub.close({ drain: 0 }));
  await needed(hub.callMap.subscribe("files.ticks", {})[Symbol.asyncIterator]().next());
  const client = createClient(url, { token: "ada" });
  const { id } = await needed(client.$call("files.remove", {}));
  await needed(client.$subscribe("files.ticks", {}).next());
  assert.equal(calls.length, 0);
  await registry.approvals.decide(id, { approve: true });
  assert.deepEqual((await client.files.remove({}, { approval: id })).data, { removed: true });
  await registry.approvals.decide(approval.id, { approve: true });
  const stream = await open({ approval: approval.id });
  assert.match(await stream.text(), /data: 1/);
  assert.equal((await open({ approval: approval.id })).status, 202);
  assert.equal(calls.length, 1);
});

test("an MCP batch, a task and a completion run nothing", async (t) => {
  const calls = [];
  const schema = Type.Object({ city: Type.String() });
  const { url } = await served(t, {
    doors: { mcp: { tasks: { poll: 20 } } },
    operations: [
      removing(calls, { name: "job", _meta: { mcp: { task: "required" } } }),
      removing(calls, { name: "words", type: "query", inputSchema: Type.Unknown() }),
      removing([], {
        ...{ name: "ask", type: "query", approval: "never", inputSchema: schema },
        _meta: { mcp: { prompt: true, complete: { city: "files.words" } } },
      }),
    ],
  });
  const message = (id, name) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name, arguments: {} },
  });
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: "Bearer ada",
    },
    body: JSON.stringify([message(1, "files_remove"), message(2, "files_words")]),
  });
  for (const { result } of await response.json()) assert.equal(result.isError, true);
  const { client } = await older(t, url);
  const ref = { type: "ref/prompt", name: "files_ask" };
  const { completion } = await client.complete({ ref, argument: { name: "city", value: "P" } });
  assert.deepEqual(completion.values, []);
  const options = { tasks: true, elicitation: null };
  const begun = await newer(url, "tools/call", { name: "files_job", arguments: {} }, options);
  const { taskId } = begun.result;
  let task;
  do {
    await new Promise((resolve) => setTimeout(resolve, 20));
    task = (await newer(url, "tasks/get", { taskId }, options)).result;
  } while (task.status === "working");
  assert.equal(task.result.isError, true);
  assert.ok(task.result._meta[APPROVAL]);
  assert.equal(calls.length, 0);
});

test("tools for models get words and an id, and the host runs the call with it", async () => {
  const { registry, calls } = guarded();
  const { call } = toTools(registry, { target: "openai", identity: ADA });
  const result = await call("files_remove", { path: "/a" });
  assert.equal(result.isError, true);
  assert.equal(result.approval.operationId, "files.remove");
  assert.match(result.content, /needs the approval of a person, and nothing was done/);
  assert.ok(result.content.includes(result.approval.id));
  await registry.approvals.decide(result.approval.id, { approve: true });
  const done = await call("files_remove", '{"path":"/a"}', { approval: result.approval.id });
  assert.equal(done.isError, false);
  assert.equal((await call("files_remove", { path: "/a" }, { trusted: true })).isError, true);
  const approved = await call("files_remove", { path: "/b" }, { approve: () => true });
  assert.equal(approved.isError, false);
  assert.equal(calls.length, 2);
});

test("a catalogue's call is for one operation with one input, and asks where its caller can be asked", async (t) => {
  const { registry, calls } = guarded();
  const three = new OperationRegistry();
  three.registerAll(catalogue(registry, { identity: ADA }).asOperations());
  const id = three.getAllSpecs().find(({ name }) => name === "call");
  const call = (input, more) =>
    three.execute(`${id.namespace}.call`, { id: "files.remove", input }, { identity: ADA, ...more });
  const approval = await needed(call({ path: "/a" }, { trusted: true }));
  await registry.approvals.decide(approval.id, { approve: true });
  await needed(call({ path: "/b" }, { approval: approval.id }));
  await call({ path: "/a" }, { approval: approval.id });
  await needed(call({ path: "/a" }, { approval: approval.id }));
  assert.equal(calls.length, 1);
  const searching = await served(t, { doors: { mcp: { catalogue: "search" } } });
  const { client, asked } = await older(t, searching.url, { answer: () => ({ action: "accept" }) });
  const { tools } = await client.listTools();
  const { name } = tools.find((tool) => tool.name.endsWith("call"));
  const args = { id: "files.remove", input: { path: "/a" } };
  await client.callTool({ name, arguments: args });
  assert.match(asked[0].message, /files\.remove with \{"path":"\/a"\}/);
  assert.equal(searching.calls.length, 1);
});
