// What a stranger reads of an exception, and what the operator reads of it.

import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { CallError, createMCPClient } from "@alkdev/operations";
import { toTools } from "@alkdev/operations/tools";
import { configure, reset } from "@logtape/logtape";
import { Type } from "@sinclair/typebox";
import { bareSocket, eventually, failureOf, hubOf, registryOf, spokeOf } from "../hub/support.mjs";
import { runModule } from "../support/run-node.mjs";
import { until } from "../support/waiting.mjs";
import { operation, serving, subscription } from "./support.mjs";

const SECRET = "connect ECONNREFUSED postgres://admin:hunter2@db:5432";
const CAUSE = "the password is hunter2";
const broken = operation({
  name: "broken",
  handler: () => {
    throw new Error(SECRET, { cause: new Error(CAUSE) });
  },
});
const thrown = operation({
  name: "thrown",
  handler: () => {
    throw SECRET;
  },
});
const meant = operation({
  name: "meant",
  handler: () => {
    throw new CallError("EXECUTION_ERROR", "The printer is out of paper");
  },
});
const declared = operation({
  name: "declared",
  errorSchemas: [{ code: "NO_TASK", httpStatus: 404 }],
  handler: () => {
    throw new Error("NO_TASK: there is no task 7");
  },
});
const stream = subscription({
  name: "stream",
  async *handler() {
    yield 1;
    throw new Error(SECRET);
  },
});
const OPERATIONS = [broken, meant, declared, stream];
const DOORS = { http: true, mcp: true, hub: true };

const lines = [];
async function collect() {
  lines.length = 0;
  await configure({
    sinks: { memory: (record) => lines.push(record) },
    loggers: [
      { category: ["operations"], sinks: ["memory"], lowestLevel: "info" },
      { category: ["logtape", "meta"], sinks: [] },
    ],
  });
}
const errors = () => lines.filter(({ level }) => level === "error");
const textOf = ({ message }) => message.join("");

/** What the tools of a server say about themselves. */
async function callTool({ url }, name) {
  const client = await createMCPClient("hub", { url: `${url}/mcp` });
  try {
    const tool = client.tools.find((each) => each.name === name);
    return await tool.handler({}, {});
  } finally {
    await client.close();
  }
}

describe("an exception of a handler", () => {
  afterEach(() => reset());

  it("an exception of a handler tells a caller over HTTP nothing but the request that failed", async () => {
    const { post } = await serving(OPERATIONS, { doors: DOORS });
    const response = await post("test/broken", {});
    const problem = await response.json();
    assert.equal(response.status, 500);
    assert.deepEqual([problem.code, problem.detail], ["EXECUTION_ERROR", "The operation failed"]);
    assert.equal(problem.requestId, response.headers.get("x-request-id"));
    const events = await (await post("test/stream", {})).text();
    assert.match(events, /event: error\ndata: .*The operation failed/);
    for (const text of [JSON.stringify(problem), events]) assert.doesNotMatch(text, /hunter2/);
  });

  it("an exception of a handler tells a model over MCP nothing but the request that failed", async () => {
    const served = await serving(OPERATIONS, { doors: DOORS });
    const { data, meta } = await callTool(served, "test_broken");
    assert.equal(meta.isError, true);
    const text = JSON.stringify([data, meta]);
    assert.match(text, /The operation failed \(request [\w-]+\)/);
    assert.doesNotMatch(text, /hunter2/);
  });

  it("an exception of a handler tells a caller at the hub nothing but the request that failed", async () => {
    const { address } = await hubOf(OPERATIONS);
    const spoke = await spokeOf(address, { token: "bob" });
    const error = await failureOf(spoke.callMap.call("test.broken", {}));
    assert.deepEqual([error.code, error.message], ["EXECUTION_ERROR", "The operation failed"]);
  });

  it("an exception of a handler reaches the log of the operator with its message, stack and cause", async () => {
    await collect();
    const { post } = await serving(OPERATIONS);
    const { requestId } = await (await post("test/broken", {})).json();
    const [line, ...more] = errors();
    assert.equal(more.length, 0);
    assert.equal(textOf(line), `test.broken failed: ${SECRET}`);
    assert.deepEqual(line.category, ["operations", "serve"]);
    assert.equal(line.properties.requestId, requestId);
    assert.match(line.properties.stack, /masked-errors\.test\.mjs/);
    assert.equal(line.properties.cause.message, CAUSE);
  });

  it("an exception of a handler is a warning of the process, once and with its request, while no log sink is configured", async () => {
    const { stderr, stdout } = await runModule(
      `import { OperationRegistry } from "@alkdev/operations";
       import { serve } from "@alkdev/operations/serve";
       import { operation } from "../registry/support/operations.mjs";
       const registry = new OperationRegistry();
       registry.register(operation({
         namespace: "a", name: "b", handler: () => { throw new Error("it is broken"); },
       }));
       const served = await serve(registry, { doors: { http: true } });
       const call = async () => (await fetch(served.url + "/api/a/b", { method: "POST" })).json();
       console.log("first", (await call()).requestId);
       for (let i = 0; i < 2; i++) await call();
       await served.close();
       console.log("done");`,
      { cwd: new URL(".", import.meta.url) },
    );
    assert.match(stdout, /done/, stderr);
    const warning = /OperationsWarning: a\.b failed: it is broken \(request ([\w-]+)\)/g;
    const [[, requestId], ...more] = stderr.matchAll(warning);
    assert.equal(more.length, 0, stderr);
    assert.equal(requestId, /first (\S+)/.exec(stdout)[1]);
  });

  it("the message of an exception reaches callers with errors: expose", async () => {
    const { post } = await serving(OPERATIONS, { errors: "expose" });
    assert.equal((await (await post("test/broken", {})).json()).detail, SECRET);
    const doors = { http: { errors: "expose" }, mcp: true };
    const one = await serving(OPERATIONS, { doors });
    assert.equal((await (await one.post("test/broken", {})).json()).detail, SECRET);
    assert.doesNotMatch(JSON.stringify(await callTool(one, "test_broken")), /hunter2/);
  });

  it("an exception of a handler tells a model nothing through toTools, and reaches the log", async () => {
    await collect();
    const registry = registryOf(broken, meant);
    const { call } = toTools(registry, { target: "anthropic" });
    const broke = await call("test_broken", {}, { requestId: "r-1" });
    assert.equal(broke.content, "EXECUTION_ERROR: The operation failed");
    assert.match((await call("test_meant", {})).content, /out of paper/);
    assert.equal(textOf(errors()[0]), `test.broken failed: ${SECRET}`);
    const { operationId, requestId } = errors()[0].properties;
    assert.deepEqual([operationId, requestId], ["test.broken", "r-1"]);
    const exposing = toTools(registry, { target: "anthropic", errors: "expose" });
    assert.match((await exposing.call("test_broken", {})).content, /ECONNREFUSED/);
  });

  it("a thrown text never reaches a model, even with errors: expose, and reaches the log", async () => {
    for (const how of ["mask", "expose"]) {
      await collect();
      const { call } = toTools(registryOf(thrown), { target: "anthropic", errors: how });
      const { content } = await call("test_thrown", {});
      assert.match(content, /^UNKNOWN_ERROR/);
      assert.doesNotMatch(content, /hunter2/);
      assert.equal(errors().length, 1, how);
      assert.match(textOf(errors()[0]), /hunter2/);
      await reset();
    }
  });
});

describe("an error that is meant for its caller", () => {
  it("an error that is meant for its caller crosses every door whole", async () => {
    const served = await serving(OPERATIONS, { doors: DOORS });
    const { detail } = await (await served.post("test/meant", {})).json();
    assert.equal(detail, "The printer is out of paper");
    const missing = await served.post("test/declared", {});
    const { code, detail: why } = await missing.json();
    assert.deepEqual([missing.status, code, why], [404, "NO_TASK", "NO_TASK: there is no task 7"]);
    assert.match(JSON.stringify(await callTool(served, "test_meant")), /out of paper/);
    const { address } = await hubOf(OPERATIONS);
    const spoke = await spokeOf(address, { token: "bob" });
    const error = await failureOf(spoke.callMap.call("test.meant", {}));
    assert.equal(error.message, "The printer is out of paper");
  });
});

describe("an exception in the details of an error", () => {
  const jsonable = Object.assign(new Error(SECRET), {
    toJSON: () => ({ message: SECRET, stack: "at hunter2" }),
  });
  const wrapped = operation({
    name: "wrapped",
    handler: () => {
      const cause = new TypeError(SECRET, { cause: new Error(CAUSE) });
      const again = new CallError("BUSY", "try again");
      const holder = { toJSON: () => ({ inner: cause }) };
      throw new CallError("NOT_SAVED", "The task was not saved", {
        ...{ id: 7, at: [1, { cause }], jsonable, again, holder },
        many: new AggregateError([cause], SECRET),
      });
    },
  });
  const failed = { name: "Error", message: "The operation failed" };
  const masked = {
    id: 7,
    at: [1, { cause: { ...failed, name: "TypeError" } }],
    jsonable: failed,
    again: { name: "CallError", message: "try again" },
    holder: { inner: { ...failed, name: "TypeError" } },
    many: { ...failed, name: "AggregateError" },
  };

  it("the caller reads the error and its other details, but nothing of an exception in them", async () => {
    await collect();
    const served = await serving([wrapped], { doors: DOORS });
    const { code, detail, details } = await (await served.post("test/wrapped", {})).json();
    assert.deepEqual([code, detail], ["NOT_SAVED", "The task was not saved"]);
    assert.deepEqual(details, masked);
    assert.doesNotMatch(JSON.stringify(await callTool(served, "test_wrapped")), /hunter2/);
    const { address } = await hubOf([wrapped]);
    const spoke = await spokeOf(address, { token: "bob" });
    const { delivery: _, ...sent } = (await failureOf(spoke.callMap.call("test.wrapped", {}))).details;
    assert.deepEqual(sent, masked);
    assert.equal(textOf(errors()[0]), `test.wrapped failed: ${SECRET}`);
    assert.match(errors()[0].properties.stack, /masked-errors\.test\.mjs/);
    await reset();
  });
});

describe("an exception of a peer", () => {
  const accept = ({ name }) => ({ namespace: name });
  const authorization = "Bearer ada";

  it("an exception of a peer is masked at the hub's door as well, and what the peer meant for callers is not", async () => {
    await collect();
    const { address, url, registry } = await hubOf([], { hub: { accept } });
    const spoke = await spokeOf(address, { token: "bob" });
    await spoke.serve(registryOf(broken, meant));
    await eventually(() => registry.get("spoke.broken") !== undefined);
    const ask = async (name) =>
      (await fetch(`${url}/api/spoke/${name}`, { method: "POST", headers: { authorization } })).json();
    assert.equal((await ask("broken")).detail, "The operation failed");
    assert.equal((await ask("meant")).detail, "The printer is out of paper");
    // The operator of the hub reads what the peer said.
    await eventually(() => errors().some((line) => textOf(line).includes(SECRET)));
    // Within the program, nothing is hidden.
    const error = await failureOf(registry.execute("spoke.broken", {}));
    assert.equal(error.message, SECRET);
    await reset();
  });

  it("an exception of a peer is masked when middleware keeps the call in JavaScript", async () => {
    const { address, url, registry } = await hubOf([], { hub: { accept } });
    registry.use((_, next) => next());
    const spoke = await spokeOf(address, { token: "bob" });
    await spoke.serve(registryOf(broken));
    await eventually(() => registry.get("spoke.broken") !== undefined);
    const response = await fetch(`${url}/api/spoke/broken`, { method: "POST", headers: { authorization } });
    assert.equal((await response.json()).detail, "The operation failed");
  });

  it("an exception of an older peer, which does not say what was meant for callers, is masked", async () => {
    const { address, url, registry } = await hubOf([], { hub: { accept } });
    const peer = await bareSocket(`${address}?name=old`, { headers: { authorization: "Bearer bob" } });
    const described = { name: "broken", namespace: "test", version: "1.0.0", type: "query", description: "" };
    const schemas = { inputSchema: {}, outputSchema: {} };
    peer.send("hub.offer", { operations: [{ ...described, ...schemas }] }, "1");
    await eventually(() => registry.list().length > 0);
    const [{ namespace }] = registry.list();
    const ask = async (payload) => {
      const seen = peer.frames.length;
      const answer = fetch(`${url}/api/${namespace}/broken`, { method: "POST", headers: { authorization } });
      const isNew = (frame) => frame.type === "call.requested" && peer.frames.indexOf(frame) >= seen;
      const { payload: request } = await peer.until(isNew);
      peer.send("call.error", { requestId: request.requestId, ...payload });
      return (await (await answer).json()).detail;
    };
    const error = { code: "EXECUTION_ERROR", message: SECRET };
    assert.equal(await ask(error), "The operation failed");
    assert.equal(await ask({ ...error, isInternal: false }), SECRET);
    assert.equal(await ask({ ...error, details: { reason: "busy" } }), SECRET);
    assert.equal(await ask({ ...error, details: { a: 1 }, isInternal: true }), "The operation failed");
  });
});

describe("an output that a strict registry refuses", () => {
  const leaky = operation({
    name: "leaky",
    outputSchema: Type.Object({ count: Type.Number() }),
    handler: () => ({ count: "three", passwordHash: SECRET }),
    _meta: { output: "strict" },
  });

  it("nothing of a refused output reaches the caller, and the operator's log says what was wrong", async () => {
    await collect();
    const served = await serving([leaky], { doors: DOORS });
    const response = await served.post("test/leaky", {});
    const text = await response.text();
    assert.equal(response.status, 500, text);
    assert.match(text, /Expected number/);
    const client = await createMCPClient("hub", { url: `${served.url}/mcp` });
    const result = JSON.stringify(await client.client.callTool({ name: "test_leaky", arguments: {} }));
    await client.close();
    assert.match(result, /Expected number/);
    for (const seen of [text, result])
      assert.ok(!seen.includes("hunter2") && !seen.includes("passwordHash"), seen);
    const logged = () => errors().filter((line) => textOf(line).includes("Expected number")).length;
    await until(() => logged() === 2, "both refusals are in the log");
  });
});
