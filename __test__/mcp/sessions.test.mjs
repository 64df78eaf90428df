// Users with tokens of their own on one MCP server: never mixed, whatever happens.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { createMCPClient, OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";
import { until } from "../support/waiting.mjs";

const USERS = {
  "token-ada": { id: "ada", scopes: [] },
  "token-bob": { id: "bob", scopes: [] },
  "token-list": { id: "list", scopes: [] },
};

/** A server that knows its users by their tokens. `control` makes it fail. */
async function upstream(port = 0) {
  const control = { failing: false };
  const registry = new OperationRegistry();
  registry.register({
    namespace: "who",
    name: "am_i",
    version: "1.0.0",
    type: "query",
    description: "Says who calls",
    inputSchema: Type.Object({ n: Type.Number(), wait: Type.Optional(Type.Number()) }),
    outputSchema: Type.Object({ user: Type.String(), n: Type.Number() }),
    accessControl: { requiredScopes: [] },
    handler: async (input, { identity }) => {
      await wait(input.wait ?? 0);
      if (control.failing) throw new Error("broken");
      return { user: identity?.id ?? "nobody", n: input.n };
    },
  });
  const server = await serve(registry, { port, doors: { mcp: true }, tokens: USERS });
  after(() => server.close({ drain: 0 }));
  return { server, control };
}

async function client(url, more = {}) {
  const asked = [];
  const wrapper = await createMCPClient("up", {
    url: `${url}/mcp`,
    headers: async ({ identity }) => {
      asked.push(identity?.id);
      await wait(1);
      return { authorization: `Bearer token-${identity?.id ?? "list"}` };
    },
    ...more,
  });
  after(() => wrapper.close());
  const registry = new OperationRegistry();
  registry.registerAll(wrapper.tools);
  const as = (id, input, context = {}) =>
    registry.execute("up.who_am_i", input, { identity: { id, scopes: [] }, ...context });
  return { wrapper, registry, as, asked };
}

describe("two users with two tokens on one server", () => {
  it("two users with two tokens on one server are never mixed, under concurrency, reconnects and errors", async () => {
    const { server, control } = await upstream();
    const { as, asked } = await client(server.url);
    assert.deepEqual(asked, [undefined], "once, for the list of tools");
    const round = async () => {
      const calls = Array.from({ length: 60 }, (_, n) => {
        const id = n % 2 === 0 ? "ada" : "bob";
        return as(id, { n, wait: n % 3 }).then(
          ({ data, meta }) => meta.isError || assert.deepEqual(data, { user: id, n }),
          (error) => error.code,
        );
      });
      return Promise.all(calls);
    };
    assert.ok((await round()).every((outcome) => outcome === undefined));
    control.failing = true;
    assert.ok(
      (await round()).every((outcome) => outcome === true),
      "every one failed",
    );
    control.failing = false;
    const { port } = new URL(server.url);
    const during = round();
    await server.close({ drain: 0 });
    await during;
    const { server: again } = await upstream(Number(port));
    assert.equal(again.url, server.url);
    assert.ok(
      (await round()).every((outcome) => outcome === undefined),
      "after the server has returned",
    );
  });

  it("users with the same headers have connections of their own, and a new token is a new connection", async () => {
    const { server } = await upstream();
    let token = "token-ada";
    const { as } = await client(server.url, { headers: () => ({ authorization: `Bearer ${token}` }) });
    const stats = () => server.stats().requests;
    const first = await as("one", { n: 1 });
    const afterFirst = stats();
    await as("one", { n: 2 });
    const again = stats() - afterFirst;
    await as("two", { n: 3 });
    assert.ok(stats() - afterFirst - again > again, "another user has to connect first");
    assert.equal(first.data.user, "ada");
    token = "token-bob";
    assert.equal((await as("one", { n: 4 })).data.user, "bob");
  });

  it("the headers function is called for each call, natively or not", async () => {
    const { server } = await upstream();
    const { registry } = await client(server.url);
    const hub = await serve(registry, { doors: { http: true }, tokens: USERS });
    after(() => hub.close({ drain: 0 }));
    const call = async (id) => {
      const response = await fetch(`${hub.url}/api/up/who_am_i`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer token-${id}` },
        body: JSON.stringify({ n: 1 }),
      });
      return (await response.json()).user;
    };
    const ids = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? "ada" : "bob"));
    assert.deepEqual(await Promise.all(ids.map(call)), ids);
  });
});

describe("connections", () => {
  for (const sessions of [
    { max: 1, maxIdle: 60_000 },
    { most: 1, idle: 60_000 },
  ]) {
    const names = Object.keys(sessions).join(", ");
    it(`connections of users are bounded (${names}): the idle one is closed, and when all are in use a user is refused`, async () => {
      const { server } = await upstream();
      const { as } = await client(server.url, { sessions });
      assert.equal((await as("ada", { n: 1 })).data.user, "ada");
      assert.equal((await as("bob", { n: 2 })).data.user, "bob");
      let isDone = false;
      const long = as("ada", { n: 3, wait: 300 }).finally(() => {
        isDone = true;
      });
      await wait(0);
      await assert.rejects(as("bob", { n: 4 }), (error) => {
        assert.equal(error.code, "EXECUTION_ERROR");
        assert.equal(error.details.reason, "overloaded");
        assert.equal(error.details.delivery, "none");
        assert.equal(error.details.retryAfter, 1_000);
        return true;
      });
      assert.equal(isDone, false);
      assert.equal((await long).data.user, "ada");
      assert.equal((await as("bob", { n: 5 })).data.user, "bob");
    });
  }

  it("a token that is refused is reported, and the next call tries again", async () => {
    const { server } = await upstream();
    let token = "wrong";
    const { as } = await client(server.url, {
      headers: ({ identity }) => ({ authorization: `Bearer ${identity ? token : "token-list"}` }),
    });
    await assert.rejects(as("ada", { n: 1 }), (error) => {
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.ok(!error.message.includes("wrong"), error.message);
      return true;
    });
    token = "token-ada";
    assert.equal((await as("ada", { n: 1 })).data.user, "ada");
  });

  it("a user's idle connection is closed, and the process can end", async () => {
    const { server } = await upstream();
    const { as, wrapper } = await client(server.url, { sessions: { idle: 20 } });
    await as("ada", { n: 1 });
    const open = server.stats().connections;
    await until(() => server.stats().connections < open || wrapper === undefined);
    assert.equal((await as("ada", { n: 2 })).data.user, "ada");
    await wrapper.close();
    await assert.rejects(as("ada", { n: 3 }), (error) => error.details.reason === "closed");
  });
});

describe("options", () => {
  it("options that would mix users are refused", async () => {
    const headers = () => ({});
    const oauth = { clientCredentials: { clientId: "a", clientSecret: "b" } };
    for (const [config, words] of [
      [{ command: "node", headers }, "only with url"],
      [{ url: "http://127.0.0.1:1/mcp", headers, oauth }, "with oauth"],
      [{ url: "http://127.0.0.1:1/mcp", sessions: { most: 1 } }, "sessions"],
    ]) {
      await assert.rejects(createMCPClient("up", config), (error) => {
        assert.equal(error.code, "VALIDATION_ERROR");
        assert.ok(error.message.includes(words), error.message);
        return true;
      });
    }
  });

  it("values that a headers function returns are not expanded from the environment", async () => {
    const { server } = await upstream();
    process.env.OPERATIONS_TEST_TOKEN = "token-ada";
    const reference = ["$", "{env:OPERATIONS_TEST_TOKEN}"].join("");
    const { as } = await client(server.url, {
      headers: ({ identity }) => ({ authorization: `Bearer ${identity ? reference : "token-list"}` }),
    });
    await assert.rejects(as("ada", { n: 1 }), { code: "EXECUTION_ERROR" });
  });
});
