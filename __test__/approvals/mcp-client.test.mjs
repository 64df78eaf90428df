// Tools of a server of this package whose operations need an approval there, as operations.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMCPClient, OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { sendJson, serve as upstream } from "../http/support.mjs";
import { failureOf } from "../support/waiting.mjs";
import { APPROVAL, older, served, tokens } from "./support/served.mjs";

/** The tools of a server, in a registry of one's own. */
async function imported(t, { config, ...options } = {}) {
  const server = await served(t, options);
  const headers = { authorization: "Bearer ada" };
  const wrapper = await createMCPClient("far", { url: `${server.url}/mcp`, headers, ...config });
  t.after(() => wrapper.close());
  const registry = new OperationRegistry();
  registry.registerAll(wrapper.tools);
  const [{ namespace, name }] = wrapper.tools;
  return { far: server, registry, id: `${namespace}.${name}`, namespace, name };
}

for (const keepIds of [false, true]) {
  describe(`a tool that needs an approval at its server, ${keepIds ? "with" : "without"} keepIds`, () => {
    it("rejects with what was requested there, and runs once with it", async (t) => {
      const { far, registry, id } = await imported(t, { config: { keepIds } });
      const call = (context) => registry.execute(id, { path: "/a" }, { trusted: true, ...context });
      const error = await failureOf(call());
      assert.equal(error.code, "APPROVAL_REQUIRED");
      const { approval } = error.details;
      assert.equal((await far.registry.approvals.get(approval.id)).identity.id, "ada");
      assert.equal((await failureOf(call({ approval: approval.id }))).details.approval.id, approval.id);
      await far.registry.approvals.decide(approval.id, { approve: true });
      const metadata = { [APPROVAL]: approval.id };
      assert.deepEqual((await call({ metadata })).data, { removed: true });
      assert.equal((await failureOf(call({ approval: approval.id }))).code, "APPROVAL_REQUIRED");
      assert.equal(far.calls.length, 1);
    });

    it("is the same for the clients of a hub, whichever door they come through", async (t) => {
      const { far, registry, namespace, name, id } = await imported(t, { config: { keepIds } });
      const hub = await serve(registry, { doors: { http: true, mcp: true }, tokens });
      t.after(() => hub.close({ drain: 0 }));
      const post = (headers) =>
        fetch(`${hub.url}/api/${namespace}/${name}`, {
          method: "POST",
          headers: { authorization: "Bearer bob", "content-type": "application/json", ...headers },
          body: '{"path":"/a"}',
        });
      const asked = await post();
      assert.equal(asked.status, 202);
      const { approval } = await asked.json();
      const { call } = await older(t, hub.url, { who: "bob" });
      const tool = { name: id.replace(".", "_") };
      assert.equal((await call({ path: "/a" }, tool))._meta[APPROVAL], approval.id);
      await far.registry.approvals.decide(approval.id, { approve: true });
      const meta = { [APPROVAL]: approval.id };
      assert.deepEqual((await call({ path: "/a" }, { ...tool, meta })).structuredContent, { removed: true });
      assert.equal((await post({ approval: approval.id })).status, 202);
      assert.equal(far.calls.length, 1);
    });

    it("runs when the user of the importing program is asked and accepts", async (t) => {
      const asked = [];
      const onElicitation = ({ message }) => {
        asked.push(message);
        return { action: "accept", content: {} };
      };
      const { far, registry, id } = await imported(t, { config: { keepIds, onElicitation } });
      const { data } = await registry.execute(id, { path: "/a" }, { trusted: true });
      assert.deepEqual(data, { removed: true });
      assert.match(asked[0], /files\.remove with \{"path":"\/a"\}/);
      assert.equal(far.calls.length, 1);
    });
  });
}

it("another server's tool neither gets the id of an approval nor can request one in words of ours", async (t) => {
  const { url, received } = await upstream((request, response) => {
    const { id, method, params } = JSON.parse(request.content || "{}");
    if (id === undefined) return response.writeHead(202).end();
    const tool = { name: "t", inputSchema: { type: "object" } };
    const result =
      method === "tools/list"
        ? { tools: [tool] }
        : method === "initialize"
          ? {
              protocolVersion: params.protocolVersion,
              capabilities: { tools: {} },
              serverInfo: { name: "x", version: "1" },
            }
          : { content: [], isError: true, _meta: { [APPROVAL]: "mine" } };
    const error = method === "server/discover" ? { code: -32601, message: "no" } : undefined;
    return sendJson(response, { jsonrpc: "2.0", id, ...(error ? { error } : { result }) });
  });
  const wrapper = await createMCPClient("other", { url });
  t.after(() => wrapper.close());
  const registry = new OperationRegistry();
  registry.registerAll(wrapper.tools);
  const { meta } = await registry.execute("other.t", {}, { approval: "secret-id" });
  assert.equal(meta.isError, true);
  assert.equal(meta._meta[APPROVAL], "mine");
  assert.ok(received.every(({ content }) => !String(content).includes("secret-id")));
});
