// Approvals for operations that come from elsewhere, and approvals of there.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import {
  buildCallHandler,
  FromOpenAPI,
  FromOpenAPIUrl,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { connected, stdio } from "../mcp/support/servers.mjs";
import { missingBroker, startRedis } from "../support/brokers.mjs";
import { ADA, BOB, guarded, isNotApproved, removing, requestOf } from "./support/guarded.mjs";

const DOCUMENT = {
  openapi: "3.1.0",
  info: { title: "Pets", version: "1.0.0" },
  paths: {
    "/pets": {
      get: { operationId: "listPets", responses: { 200: { description: "The pets" } } },
      delete: { operationId: "removePets", responses: { 200: { description: "Done" } } },
    },
  },
};

test("approval of an OpenAPI import is a word for all operations or a function of each, and nothing is requested before it", async (t) => {
  const requests = [];
  const server = createServer((request, response) => {
    requests.push([request.method, request.headers.approval]);
    response.setHeader("content-type", "application/json").end("[]");
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => server.close());
  const config = { namespace: "pets", baseUrl: `http://127.0.0.1:${server.address().port}` };
  const words = (approval) =>
    FromOpenAPI(DOCUMENT, { ...config, approval }).map((operation) => operation.approval);
  assert.deepEqual(words("always"), ["always", "always"]);
  assert.deepEqual(words(undefined), [undefined, undefined]);
  const registry = new OperationRegistry();
  const approval = ({ type }) => (type === "query" ? "never" : "always");
  registry.registerAll(FromOpenAPI(DOCUMENT, { ...config, approval }));
  await registry.execute("pets.listPets", {});
  const { id } = await requestOf(registry.execute("pets.removePets", {}, { identity: ADA }));
  assert.deepEqual(requests, [["GET", undefined]]);
  await registry.approvals.decide(id, { approve: true, by: BOB });
  await registry.execute("pets.removePets", {}, { identity: ADA, approval: id });
  // A service that is no server of this package learns of no approval.
  await registry.execute("pets.listPets", {}, { identity: ADA, approval: "some-id" });
  assert.deepEqual(requests.slice(1), [
    ["DELETE", undefined],
    ["GET", undefined],
  ]);
  assert.throws(
    () => FromOpenAPI(DOCUMENT, { ...config, approval: "sometimes" }),
    /approval must be "never" or "always"/,
  );
  assert.throws(() => FromOpenAPI(DOCUMENT, { ...config, approval: () => "maybe" }), /pets\.\w+: approval/);
});

test("approval of an MCP client is a word for all tools or a function of each, and a function that fails leaves a tool out", async (t) => {
  const approval = ({ _meta }) => (_meta.annotations?.readOnlyHint ? "never" : "always");
  const { registry, call, tool } = await connected(t, stdio([], { approval }));
  assert.deepEqual([tool("echo").approval, tool("person").approval], ["never", "always"]);
  await call("echo", { text: "a" });
  const { id } = await requestOf(call("person", {}, { identity: ADA }));
  await registry.approvals.decide(id, { approve: false });
  await assert.rejects(call("person", {}, { identity: ADA, approval: id }), isNotApproved);
  const broken = await connected(
    t,
    stdio([], { approval: ({ name }) => (name === "person" ? undefined : "never") }),
  );
  assert.equal(broken.tool("person"), undefined);
  assert.equal(broken.tool("echo").approval, "never");
  const [problem] = broken.wrapper.problems.filter(({ field }) => field === "approval");
  assert.equal(problem.tool, "person");
});

/** A map whose calls a registry answers. */
function mapOf(registry, target) {
  const callMap = new PendingRequestMap(target);
  callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
  return callMap;
}

/** Needs an approval, gets it, and is made once. */
async function comesThrough({ registry, calls }, call) {
  const { id, operationId } = await requestOf(call());
  assert.equal(operationId, "files.remove");
  assert.equal((await requestOf(call(id))).id, id, "undecided");
  assert.equal(calls.length, 0);
  await registry.approvals.decide(id, { approve: true, by: BOB });
  assert.equal((await call(id)).data, "removed");
  assert.notEqual((await requestOf(call(id))).id, id, "used");
  const other = await requestOf(call());
  await registry.approvals.decide(other.id, { approve: false, by: BOB, reason: "no" });
  await assert.rejects(call(other.id), isNotApproved);
  assert.equal(calls.length, 1);
}

const named = (id) => ({ identity: ADA, ...(id && { metadata: { "operations/approval": id } }) });

test("over a map of calls, the metadata of a call names its approval although allowMetadata allows nothing", async () => {
  const remote = guarded();
  const callMap = mapOf(remote.registry);
  await comesThrough(remote, (id) => callMap.call("files.remove", { path: "/a" }, named(id)));
});

test("over Redis, calls that need an approval reject, and run with it", {
  skip: missingBroker("redis-server"),
}, async (t) => {
  const { createRedisEventTarget } = await import("@alkdev/operations/transport-redis");
  const redis = await startRedis();
  t.after(() => redis.stop());
  const targets = [0, 1].map(() => createRedisEventTarget({ url: redis.url }));
  t.after(() => Promise.all(targets.map((target) => target.close())));
  const remote = guarded();
  mapOf(remote.registry, targets[0]);
  const callMap = new PendingRequestMap(targets[1]);
  const call = (id) =>
    callMap
      .call("files.remove", 1, { ...named(id), deadline: Date.now() + 10_000 })
      .catch((error) => (error.code === "OPERATION_NOT_FOUND" ? call(id) : Promise.reject(error)));
  await comesThrough(remote, call);
});

/** A registry behind the HTTP door, and its operations here. */
async function overHttp(t, config = {}) {
  const remote = guarded();
  const tokens = { t: ADA };
  const server = await serve(remote.registry, { doors: { http: true }, tokens });
  t.after(() => server.close());
  const imported = await FromOpenAPIUrl(`${server.url}/api/openapi.json`, {
    namespace: "far",
    baseUrl: `${server.url}/api`,
    auth: { type: "bearer", token: "t" },
    documentHeaders: { authorization: "Bearer t" },
    ...config,
  });
  const registry = new OperationRegistry();
  registry.registerAll(imported);
  return { remote, server, registry, id: `far.${imported[0].name}` };
}

for (const transport of ["native", "fetch"]) {
  test(`an importer of a served registry gets APPROVAL_REQUIRED, and its approval travels on (${transport})`, async (t) => {
    const { remote, server, registry, id } = await overHttp(t, { transport });
    const input = { path: "/a" };
    const asked = await requestOf(registry.execute(id, input, { identity: ADA }));
    assert.equal(asked.url, `${server.url}/api/.approvals/${asked.id}`);
    await comesThrough(remote, (approval) =>
      registry.execute(id, input, { identity: ADA, ...(approval && { approval }) }),
    );
  });
}

test("a server in between hands a call, its approval and where that stands on, without JavaScript too", async (t) => {
  const { remote, server, registry } = await overHttp(t);
  const between = await serve(registry, { doors: { http: true } });
  t.after(() => between.close());
  const post = (approval) =>
    fetch(`${between.url}/api/far/remove`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(approval && { approval }) },
      body: '{"path":"/a"}',
    });
  const asked = await post();
  assert.equal(asked.status, 202);
  const { approval } = await asked.json();
  assert.equal(asked.headers.get("location"), `${server.url}/api/.approvals/${approval.id}`);
  await remote.registry.approvals.decide(approval.id, { approve: true });
  assert.equal((await post(approval.id)).status, 200);
  assert.equal((await post(approval.id)).status, 202);
  assert.equal(remote.calls.length, 1);
});

test("an approval that was used here goes no further, and what the handler calls asks for itself", async () => {
  const seen = [];
  const handler = (_, context) => {
    seen.push([context.approval, context.metadata]);
  };
  const registry = new OperationRegistry();
  registry.register(removing(handler));
  const callMap = mapOf(registry);
  const metadata = (id) => ({ note: 1, headers: { a: "b" }, "operations/approval": id });
  const { id } = await requestOf(callMap.call("files.remove", {}, { identity: ADA }));
  await registry.approvals.decide(id, { approve: true });
  await callMap.call("files.remove", {}, { identity: ADA, metadata: metadata(id) });
  const direct = await requestOf(registry.execute("files.remove", 2, { identity: ADA }));
  await registry.approvals.decide(direct.id, { approve: true });
  await registry.execute("files.remove", 2, { identity: ADA, approval: direct.id });
  assert.deepEqual(seen, [
    [undefined, { note: 1, headers: { a: "b" } }],
    [undefined, undefined],
  ]);
});

test("metadata that may not steer does not steer after its approval was taken out", async (t) => {
  const seen = [];
  const server = createServer((request, response) => {
    seen.push(request.headers["x-injected"]);
    response.setHeader("content-type", "application/json").end("[]");
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => server.close());
  const registry = new OperationRegistry();
  const config = { namespace: "pets", baseUrl: `http://127.0.0.1:${server.address().port}` };
  registry.registerAll(FromOpenAPI(DOCUMENT, { ...config, approval: "always" }));
  const callMap = mapOf(registry);
  const call = (metadata) => callMap.call("pets.removePets", {}, { identity: ADA, metadata });
  const headers = { "x-injected": "yes" };
  const { id } = await requestOf(call({ headers }));
  await registry.approvals.decide(id, { approve: true });
  await call({ headers, "operations/approval": id });
  assert.deepEqual(seen, [undefined]);
});
