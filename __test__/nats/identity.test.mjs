// `verifyIdentity`: who calls is what a message says, until the application has looked at it.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, FromOpenAPI, OperationRegistry, unwrap } from "@alkdev/operations";
import { sendJson, serve } from "../http/support.mjs";
import { DOCUMENT } from "./http-document.mjs";
import { deferred, query, skip, subscription, until, useNats, watch } from "./support.mjs";

const ADMIN = { id: "admin", scopes: ["admin"] };
const TOKENS = { "token of ada": { id: "ada", scopes: ["read"] } };
/** What an application would do: the claim does not count, the token does. */
const byToken = (_, { metadata }) => TOKENS[metadata?.token];
const restricted = (scope) => ({ accessControl: { requiredScopes: [scope] } });
const whoAmI = (_, { identity }) => identity ?? null;

describe("verifyIdentity", { skip, timeout: 60_000 }, () => {
  const nats = useNats();
  let prefixes = 0;

  /** A worker with this hook, and somebody who calls it. */
  async function pair(operations, verifyIdentity) {
    const prefix = `p${++prefixes}`;
    const worker = await nats.worker(operations, { verifyIdentity, prefix });
    const { callMap } = await nats.connect({ prefix, inbox: "callers" });
    return { worker, callMap };
  }

  it("verifyIdentity decides who calls: a claim is replaced, also by no identity", async () => {
    const { callMap } = await pair(
      [
        query("whoAmI", whoAmI),
        query("read", whoAmI, restricted("read")),
        query("admin", whoAmI, restricted("admin")),
        subscription("stream", async function* (_, { identity }) {
          yield identity ?? null;
        }),
      ],
      byToken,
    );
    const asAda = { identity: ADMIN, metadata: { token: "token of ada" } };
    assert.deepEqual(unwrap(await callMap.call("t.whoAmI", {}, asAda)), TOKENS["token of ada"]);
    assert.deepEqual(unwrap(await callMap.call("t.read", {}, asAda)), TOKENS["token of ada"]);
    await assert.rejects(callMap.call("t.admin", {}, asAda), {
      code: "ACCESS_DENIED",
      message: /missing required scopes: admin/,
    });
    assert.equal(unwrap(await callMap.call("t.whoAmI", {}, { identity: ADMIN })), null);
    await assert.rejects(callMap.call("t.admin", {}, { identity: ADMIN }), { code: "ACCESS_DENIED" });
    for await (const event of callMap.subscribe("t.stream", {}, asAda)) {
      assert.deepEqual(unwrap(event), TOKENS["token of ada"]);
    }
  });

  it("verifyIdentity refuses by false, by a throw and by nonsense: ACCESS_DENIED, and nothing runs", async () => {
    const ran = [];
    const answers = {
      false: () => false,
      later: async () => false,
      throws: () => {
        throw new Error("the password is hunter2");
      },
      rejects: async () => Promise.reject(new Error("the password is hunter2")),
      number: () => 1,
      malformed: () => ({ id: 7, scopes: "all" }),
    };
    const { callMap } = await pair([query("open", () => ran.push("open"))], (_, { metadata }) =>
      answers[metadata.how](),
    );
    for (const how of Object.keys(answers)) {
      await assert.rejects(callMap.call("t.open", {}, { identity: ADMIN, metadata: { how } }), (error) => {
        assert.equal(error.code, "ACCESS_DENIED", how);
        assert.match(error.message, /t\.open: the identity of the caller could not be verified/);
        assert.equal(error.details.reason, "identity-refused");
        assert.doesNotMatch(JSON.stringify([error.message, error.details]), /hunter2/);
        return true;
      });
    }
    assert.deepEqual(ran, []);
  });

  it("verifyIdentity may say why, by an ACCESS_DENIED of its own", async () => {
    const { callMap } = await pair([query("open", () => 1)], () => {
      throw new CallError("ACCESS_DENIED", "Your session has ended: sign in again", { session: "over" });
    });
    await assert.rejects(callMap.call("t.open", {}), (error) => {
      assert.equal(error.message, "Your session has ended: sign in again");
      assert.equal(error.details.session, "over");
      return true;
    });
  });

  it("verifyIdentity accepts a claim by true, and gets the claim and the message", async () => {
    const seen = [];
    const { callMap } = await pair([query("whoAmI", whoAmI)], async (identity, message) => {
      seen.push([identity, message]);
      return true;
    });
    assert.deepEqual(
      unwrap(await callMap.call("t.whoAmI", { a: 1 }, { identity: ADMIN, metadata: { m: 2 } })),
      ADMIN,
    );
    assert.equal(unwrap(await callMap.call("t.whoAmI", {})), null);
    const [[identity, message], [nobody]] = seen;
    assert.deepEqual(identity, ADMIN);
    assert.equal(nobody, undefined);
    const { requestId, from, ...rest } = message;
    assert.deepEqual(rest, { operationId: "t.whoAmI", input: { a: 1 }, metadata: { m: 2 } });
    assert.match(requestId, /^[0-9a-f-]{36}$/);
    assert.match(from, /^callers\.[0-9a-f]{32}$/);
  });

  it("verifyIdentity runs before native operations, too", async () => {
    const api = await serve((_, response) => sendJson(response, { id: "1", count: 1 }));
    const imported = FromOpenAPI(DOCUMENT, {
      namespace: "api",
      baseUrl: api.url,
      accessControl: { requiredScopes: ["read"] },
    });
    const { worker, callMap } = await pair(imported, byToken);
    const seen = watch(worker.registry);
    await assert.rejects(
      callMap.call("api.item", { id: "1" }, { identity: { id: "mallory", scopes: ["read"] } }),
      { code: "ACCESS_DENIED" },
    );
    assert.equal(api.received.length, 0);
    const asAda = { metadata: { token: "token of ada" } };
    assert.equal(unwrap(await callMap.call("api.item", { id: "1" }, asAda)).id, "1");
    assert.equal(api.received.length, 1);
    assert.deepEqual(seen, ["api.item", "api.item"]);
    // Nor does it lose its say when more is served.
    worker.registry.register(query("later", whoAmI));
    await worker.serve(worker.registry);
    await assert.rejects(callMap.call("api.item", { id: "1" }, { identity: { id: "m", scopes: ["read"] } }), {
      code: "ACCESS_DENIED",
    });
    assert.deepEqual(unwrap(await callMap.call("t.later", {}, asAda)), TOKENS["token of ada"]);
    await assert.rejects(worker.serve(worker.registry, { verifyIdentity: () => true }), {
      code: "VALIDATION_ERROR",
      message: /verifyIdentity cannot be changed/,
    });
  });

  it("verifyIdentity may be slow, and a call that is aborted meanwhile never runs", async () => {
    const ran = [];
    const asked = deferred();
    const answer = deferred();
    const { worker, callMap } = await pair([query("open", () => ran.push("open"))], async () => {
      asked.resolve();
      return answer.promise;
    });
    const controller = new AbortController();
    const call = callMap.call("t.open", {}, { signal: controller.signal });
    await asked.promise;
    controller.abort();
    await assert.rejects(call, { code: "ABORTED" });
    await until(() => worker.stats().running === 0);
    answer.resolve(true);
    await until(() => worker.stats().overrunning === 0);
    assert.deepEqual(ran, []);
    assert.equal(unwrap(await callMap.call("t.open", {})), 1);
  });

  it("verifyIdentity must be a function", async () => {
    const connection = await nats.connect();
    await assert.rejects(connection.serve(new OperationRegistry(), { verifyIdentity: true }), {
      code: "VALIDATION_ERROR",
      message: /verifyIdentity must be a function/,
    });
  });
});
