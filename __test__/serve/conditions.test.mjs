// `when`: access rules that look at the call. Served operations are checked natively, others by JavaScript.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMCPClient, FromOpenAPI } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { documentOf, sendJson, serve as upstream } from "../http/support.mjs";
import { operation, serving } from "./support.mjs";

const ADMIN = "token-of-the-admin";
const ADA = "token-of-ada";
const tokens = {
  [ADMIN]: { id: "root", scopes: ["admin"] },
  [ADA]: { id: "ada", scopes: [], claims: { tenant: "t1" } },
};
const bearer = (token) => ({ headers: { authorization: `Bearer ${token}` } });
const when = [{ "input.path": { under: "/public" } }, { "identity.scopes": { contains: "admin" } }];
const DENIED = "Access denied to operation files.read: the call does not meet the condition on input.path";

const query = (name) => ({ name, in: "query", schema: { type: "string" } });
const document = documentOf({
  "/files": {
    get: {
      operationId: "read",
      parameters: [query("path"), query("tenant")],
      responses: { 200: { description: "", content: { "application/json": { schema: {} } } } },
    },
  },
});

/** A server of files that writes down what it is asked. */
async function files() {
  const { url, received: asked } = await upstream((_, response) => sendJson(response, "content"));
  const operations = (accessControl) =>
    FromOpenAPI(document, { namespace: "files", baseUrl: url, accessControl });
  return { asked, operations };
}

describe("conditions of access rules", () => {
  it("hold for an operation that is called without JavaScript, at each door, and nothing is sent for a denied call", async (t) => {
    const { asked, operations } = await files();
    const { url, post } = await serving(operations({ requiredScopes: [], when }), {
      doors: { http: true, mcp: true },
      tokens,
    });
    const status = async (token, path) => (await post("files/read", { path }, bearer(token))).status;
    assert.equal(await status(ADA, "/public/a.txt"), 200);
    assert.equal(await status(ADMIN, "/etc/passwd"), 200);
    assert.equal(asked.length, 2);
    for (const path of ["/etc/passwd", "/public/../etc/passwd", "/publications", undefined]) {
      const response = await post("files/read", { path }, bearer(ADA));
      assert.equal(response.status, 403);
      const problem = await response.json();
      assert.equal(problem.detail, `${DENIED}, identity.scopes`);
      assert.deepEqual(problem.details.condition, ["input.path", "identity.scopes"]);
    }
    const client = await createMCPClient("hub", {
      url: `${url}/mcp`,
      headers: { authorization: `Bearer ${ADA}` },
    });
    t.after(() => client.close());
    const tool = client.tools.find(({ name }) => name === "files_read");
    assert.ok(tool, "it is listed: some calls are allowed");
    await tool.handler({ path: "/public/b.txt" }, {});
    await assert.rejects(async () => tool.handler({ path: "/etc/passwd" }, {}));
    assert.equal(asked.length, 3);
  });

  it("are the same for an operation of JavaScript, added with protect, also to a claim of the token", async () => {
    const read = operation({
      namespace: "files",
      name: "read",
      inputSchema: Type.Object({ tenant: Type.Optional(Type.String()) }),
      handler: ({ tenant }) => tenant,
    });
    const { registry, post } = await serving([read], { tokens });
    const status = async (token, tenant) => (await post("files/read", { tenant }, bearer(token))).status;
    assert.equal(await status(ADA, "t2"), 200);
    const sameTenant = { "input.tenant": { sameAs: "identity.claims.tenant" } };
    const remove = registry.protect("files.*", { requiredScopes: [], when: sameTenant });
    assert.deepEqual(
      [await status(ADA, "t1"), await status(ADA, "t2"), await status(ADMIN, "t1")],
      [200, 403, 403],
    );
    remove();
    assert.equal(await status(ADA, "t2"), 200);
  });

  it("a rule added to a native operation holds at once", async () => {
    const { operations } = await files();
    const { registry, post } = await serving(operations({ requiredScopes: [] }), { tokens });
    const status = async (path) => (await post("files/read", { path }, bearer(ADA))).status;
    assert.equal(await status("/etc"), 200);
    registry.protect("files.read", { requiredScopes: [], when });
    assert.equal(await status("/etc"), 403);
    assert.equal(await status("/public"), 200);
  });

  it("cannot be changed after registration, and conditions that cannot be right are refused", async () => {
    const { registry } = await serving([]);
    const rules = { requiredScopes: [], when: { "input.path": { under: "/public" } } };
    registry.register(operation({ name: "kept", accessControl: rules }));
    assert.throws(() => {
      rules.when["input.path"].under = "/";
    }, TypeError);
    for (const [wrong, why] of [
      [{}, /when.*must be an object/],
      [[], /must have a condition/],
      ['input.path startsWith "/public"', /must be an object such as/],
      [{ path: "/public" }, /is no path: begin with input/],
      [{ "identity.name": "ada" }, /is no path/],
      [{ "input.path": { beginsWith: "/public" } }, /beginsWith, which is no test: there are equals/],
      [{ "input.path": {} }, /must be a value, or an object with equals/],
      [{ "input.n": { atLeast: "1" } }, /atLeast must be a number/],
      [{ "input.owner": { sameAs: "me" } }, /sameAs must be a path/],
      [[{ "input.a": 1 }, { "input.b": null }], /1.input\.b/],
    ]) {
      const accessControl = { requiredScopes: [], when: wrong };
      assert.throws(() => registry.register(operation({ name: "wrong", accessControl })), why);
      assert.throws(() => registry.protect("test.*", accessControl), why);
    }
  });
});
