// Approvals through the HTTP door.

import assert from "node:assert/strict";
import { test } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";

const tokens = {
  ada: { id: "ada", scopes: [] },
  bob: { id: "bob", scopes: ["approvals:decide"] },
  eve: { id: "eve", scopes: [] },
};

async function served(t) {
  const calls = [];
  const registry = new OperationRegistry();
  registry.register({
    namespace: "files",
    name: "remove",
    version: "1.0.0",
    type: "mutation",
    description: "Removes a file",
    inputSchema: Type.Unknown(),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
    approval: "always",
    handler: async (input) => {
      calls.push(input);
      return "removed";
    },
  });
  const server = await serve(registry, { doors: { http: true }, tokens });
  t.after(() => server.close());
  const request = (path, who, method = "GET", body, headers = {}) =>
    fetch(new URL(path, server.url), {
      method,
      headers: { authorization: `Bearer ${who}`, "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
  const call = (who, input, headers) => request("/api/files/remove", who, "POST", input, headers);
  return { registry, calls, request, call };
}

test("a call that needs an approval is 202 with a Location, and runs once when it is repeated with the header", async (t) => {
  const { calls, request, call } = await served(t);
  const asked = await call("ada", { path: "/a" });
  assert.equal(asked.status, 202);
  const { approval } = await asked.json();
  const location = asked.headers.get("location");
  assert.equal(location, `/api/.approvals/${approval.id}`);
  const state = await (await request(location, "ada")).json();
  assert.deepEqual([state.status, state.mayDecide, state.input], ["pending", false, { path: "/a" }]);
  assert.equal((await call("ada", { path: "/a" }, { approval: approval.id })).status, 202);
  const decided = await request(location, "bob", "POST", { approve: true, reason: "fine" });
  assert.equal(decided.status, 200);
  const { status, by } = await decided.json();
  assert.deepEqual([status, by.id], ["approved", "bob"]);
  assert.equal((await request(location, "bob", "POST", { approve: false })).status, 409);
  assert.equal((await call("ada", { path: "/b" }, { approval: approval.id })).status, 202);
  assert.equal((await call("ada", '{"path":"/a","path":"/b"}', { approval: approval.id })).status, 202);
  assert.equal((await call("eve", { path: "/a" }, { approval: approval.id })).status, 202);
  assert.equal(calls.length, 0);
  const done = await call("ada", { path: "/a" }, { approval: approval.id });
  assert.deepEqual([done.status, await done.json()], [200, "removed"]);
  assert.equal((await call("ada", { path: "/a" }, { approval: approval.id })).status, 202);
  assert.equal(calls.length, 1);
});

test("a denied call is 403 without a challenge", async (t) => {
  const { request, call, calls } = await served(t);
  const asked = await call("ada", 1);
  const { approval } = await asked.json();
  await request(asked.headers.get("location"), "bob", "POST", { approve: false, reason: "no" });
  const denied = await call("ada", 1, { approval: approval.id });
  assert.equal(denied.status, 403);
  assert.equal(denied.headers.get("www-authenticate"), null);
  const { code, details } = await denied.json();
  assert.deepEqual(
    [code, details.reason, details.approval.id],
    ["ACCESS_DENIED", "not-approved", approval.id],
  );
  assert.equal(calls.length, 0);
});

test("only the requester and those who may decide see a request, and no caller decides their own", async (t) => {
  const { request, call, registry } = await served(t);
  const location = (await call("ada", 1)).headers.get("location");
  const own = (await call("bob", 2)).headers.get("location");
  assert.equal((await request(location, "eve")).status, 404);
  assert.equal((await request(location, "eve", "POST", { approve: true })).status, 404);
  assert.equal((await request(location, "ada", "POST", { approve: true })).status, 403);
  assert.equal((await request(own, "bob", "POST", { approve: true })).status, 403);
  for (const body of ["null", "", "[]", '{"approve":"yes"}', '{"approve":true,"reason":1}']) {
    assert.equal((await request(location, "bob", "POST", body)).status, 400, body);
  }
  assert.equal((await request("/api/.approvals/..%2f..%2fetc", "bob")).status, 404);
  assert.equal((await request(location, "bob", "DELETE")).status, 405);
  const listed = async (who) => (await (await request("/api/.approvals", who)).json()).approvals;
  assert.deepEqual((await listed("eve")).length, 0);
  assert.deepEqual(
    (await listed("ada")).map(({ mayDecide }) => mayDecide),
    [false],
  );
  assert.deepEqual((await listed("bob")).map(({ mayDecide }) => mayDecide).sort(), [false, true]);
  assert.equal((await registry.approvals.list({ status: "pending" })).length, 2);
});

test("one caller's requests do not hide those of others from the list", async (t) => {
  const { request, call } = await served(t);
  for (let nr = 0; nr < 5; nr++) {
    assert.equal((await call("eve", { nr, text: "x".repeat(240_000) })).status, 202);
  }
  assert.equal((await call("ada", { path: "/a" })).status, 202);
  const { approvals, isComplete } = await (await request("/api/.approvals", "bob")).json();
  assert.equal(isComplete, false);
  assert.deepEqual(
    approvals.slice(0, 2).map(({ identity }) => identity.id),
    ["eve", "ada"],
  );
});
