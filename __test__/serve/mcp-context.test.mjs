// What a handler says to its client, and asks it: with the SDK's client (older revisions), and by hand (2026-07-28).

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { connected as clientOf } from "./support/mcp-client.mjs";
import { operation, serving } from "./support.mjs";

const mutation = (name, handler, more = {}) =>
  operation({ namespace: "x", name, type: "mutation", handler, ...more });

/** Serves operations at the MCP door. */
const mcp = (operations, door = {}, more = {}) =>
  serving(operations, { doors: { mcp: { name: "test", version: "1.2.3", ...door } }, ...more });

const connected = (served, capabilities) => clientOf(served, {}, capabilities);

const asksName = mutation("name", async (_, { elicit }) => {
  const { action, content } = await elicit({
    message: "Who?",
    requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  });
  return { action, content };
});

/** What there is in the context of a call. */
const offers = mutation("offers", (_, context) =>
  ["elicit", "sample", "listRoots", "log", "onProgress"].filter((name) => name in context),
);

describe("a handler and an older client", () => {
  it("a handler's elicitation, sampling and roots requests reach an older client on the stream of its call", async () => {
    const samples = mutation("sample", async ({ text }, { sample }) => {
      const messages = [{ role: "user", content: { type: "text", text } }];
      return (await sample({ messages, maxTokens: 10 })).content.text;
    });
    const roots = mutation("roots", async (_, { listRoots }) => (await listRoots()).roots);
    const served = await mcp([asksName, samples, roots]);
    const client = await connected(served, { elicitation: {}, sampling: {}, roots: {} });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      assert.equal(params.message, "Who?");
      return { action: "accept", content: { name: "Ada" } };
    });
    client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
      role: "assistant",
      model: "m",
      content: { type: "text", text: params.messages[0].content.text.toUpperCase() },
    }));
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///home" }] }));
    const data = async (name, args = {}) =>
      (await client.callTool({ name, arguments: args })).structuredContent;
    assert.deepEqual(await data("x_name"), { action: "accept", content: { name: "Ada" } });
    assert.deepEqual(await data("x_sample", { text: "hi" }), { result: "HI" });
    assert.deepEqual(await data("x_roots"), { result: [{ uri: "file:///home" }] });
  });

  it("an older client may decline an elicitation, fail, or return something else", async () => {
    const client = await connected(await mcp([asksName]), { elicitation: {} });
    const call = () => client.callTool({ name: "x_name", arguments: {} });
    const answers = (answer) => client.setRequestHandler(ElicitRequestSchema, answer);
    answers(() => ({ action: "decline" }));
    assert.deepEqual((await call()).structuredContent, { action: "decline" });
    answers(() => {
      throw new Error("no user");
    });
    const failed = await call();
    assert.equal(failed.isError, true);
    assert.match(failed.content[0].text, /no user/);
    answers(() => ({ action: "accept", content: { name: "Ada", more: 1 } }));
    assert.equal((await call()).isError, undefined);
    answers(() => ({ action: "accept", content: {} }));
    const odd = await call();
    assert.equal(odd._meta["alkdev.operations/error"].code, "VALIDATION_ERROR");
  });

  it("an older client is listed only the tools that it can serve", async () => {
    const served = await mcp([offers]);
    const list = async (client, options) =>
      (await client.callTool({ name: "x_offers", arguments: {} }, undefined, options)).structuredContent
        .result;
    const plain = await connected(served);
    assert.deepEqual(await list(plain), []);
    assert.deepEqual(await list(plain, { onprogress: () => {} }), ["onProgress"]);
    await plain.setLoggingLevel("error");
    assert.deepEqual(await list(plain), ["log"]);
    assert.deepEqual(await list(await connected(served, { sampling: {} })), ["sample"]);
  });

  it("an older client gets log messages at its level", async () => {
    const logs = mutation("logs", (_, { log }) => {
      log("debug", "quiet");
      log("warning", { code: 7 });
      return "done";
    });
    const client = await connected(await mcp([logs]));
    const heard = [];
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => heard.push(params));
    await client.setLoggingLevel("info");
    await client.callTool({ name: "x_logs", arguments: {} });
    assert.deepEqual(heard, [{ level: "warning", data: { code: 7 } }]);
  });

  it("an older client is refused a tool that needs capabilities it lacks", async () => {
    const served = await mcp([mutation("needs", () => 1, { _meta: { mcp: { requires: ["sampling"] } } })]);
    const call = (client) => client.callTool({ name: "x_needs", arguments: {} });
    await assert.rejects(call(await connected(served)), { code: -32021 });
    const able = await connected(served, { sampling: {} });
    assert.deepEqual((await call(able)).structuredContent, { result: 1 });
  });

  it("a call that ends before the client's response leaves nothing pending", async () => {
    let told;
    const ended = new Promise((resolve) => {
      told = resolve;
    });
    const asks = mutation("asks", async (_, { elicit }) => {
      try {
        await elicit({ message: "?" });
      } catch (error) {
        told(error);
        throw error;
      }
    });
    const client = await connected(await mcp([asks]), { elicitation: {} });
    const controller = new AbortController();
    client.setRequestHandler(ElicitRequestSchema, () => {
      controller.abort();
      return new Promise(() => {});
    });
    const call = client.callTool({ name: "x_asks", arguments: {} }, undefined, {
      signal: controller.signal,
    });
    await assert.rejects(call);
    assert.equal((await ended).code, "ABORTED");
  });
});

const PREFIX = "io.modelcontextprotocol/";

/** A request of revision 2026-07-28. */
async function ask(served, name, more = {}, capabilities = { elicitation: {} }, headers = {}) {
  const response = await fetch(`${served.url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": name,
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        name,
        arguments: {},
        _meta: { [`${PREFIX}protocolVersion`]: "2026-07-28", [`${PREFIX}clientCapabilities`]: capabilities },
        ...more,
      },
    }),
  });
  return response.json();
}

const accept = (content) => ({ action: "accept", content });

describe("a handler and a client of 2026-07-28", () => {
  const rounds = [];
  const twoRounds = mutation("rounds", async (_, { elicit }) => {
    rounds.push("began");
    const first = await elicit({ message: "one" }, { key: "first" });
    const second = await elicit({ message: "two" });
    return [first.content, second.content];
  });

  it("a handler for a client of 2026-07-28 runs again with the client's responses", async () => {
    const served = await mcp([twoRounds]);
    const { result: one } = await ask(served, "x_rounds");
    assert.equal(one.resultType, "input_required");
    assert.deepEqual(one.inputRequests, {
      first: {
        method: "elicitation/create",
        params: { message: "one", requestedSchema: { type: "object", properties: {} } },
      },
    });
    const { result: two } = await ask(served, "x_rounds", {
      inputResponses: { first: accept({ a: 1 }), other: accept({}) },
      requestState: one.requestState,
    });
    assert.deepEqual(Object.keys(two.inputRequests), ["elicit-2"]);
    const { result: three } = await ask(served, "x_rounds", {
      inputResponses: { "elicit-2": accept({ b: 2 }) },
      requestState: two.requestState,
    });
    assert.deepEqual(three.structuredContent, [{ a: 1 }, { b: 2 }]);
    assert.equal(rounds.length, 3);
  });

  it("concurrent requests of a handler reach a client of 2026-07-28 at once", async () => {
    const both = mutation("both", (_, { elicit, sample }) =>
      Promise.all([elicit({ message: "?" }), sample({ messages: [], maxTokens: 1 })]),
    );
    const served = await mcp([both]);
    const able = { elicitation: {}, sampling: {} };
    const { result } = await ask(served, "x_both", {}, able);
    assert.deepEqual(Object.keys(result.inputRequests), ["elicit-1", "sample-1"]);
    const { result: again } = await ask(
      served,
      "x_both",
      { inputResponses: { "elicit-1": accept({}) }, requestState: result.requestState },
      able,
    );
    assert.deepEqual(Object.keys(again.inputRequests), ["sample-1"]);
  });

  it("the request state of 2026-07-28 cannot be used, read or changed by others", async () => {
    const tokens = { ada: { id: "ada", scopes: [] }, bob: { id: "bob", scopes: [] } };
    const served = await mcp([twoRounds, asksName], {}, { tokens, anonymous: true });
    const as = (who) => ({ authorization: `Bearer ${who}` });
    const { result } = await ask(served, "x_rounds", {}, undefined, as("ada"));
    const { requestState } = result;
    const first = { first: accept({ secret: "s3cret" }) };
    const { result: two } = await ask(
      served,
      "x_rounds",
      { requestState, inputResponses: first },
      undefined,
      as("ada"),
    );
    assert.ok(!Buffer.from(two.requestState, "base64url").toString("latin1").includes("s3cret"));
    const refused = async (name, state, who) =>
      (await ask(served, name, { requestState: state }, undefined, as(who))).error?.code;
    assert.equal(await refused("x_rounds", requestState, "bob"), -32602);
    assert.equal(await refused("x_name", requestState, "ada"), -32602);
    assert.equal(await refused("x_rounds", `${requestState}A`, "ada"), -32602);
    assert.equal(await refused("x_rounds", 7, "ada"), -32602);
    assert.equal(await refused("x_rounds", requestState, "ada"), undefined);
  });

  it("a call of 2026-07-28 can continue at another process that has the same key", async () => {
    const stateKey = "a secret that has at least 32 characters";
    const [here, there, stranger] = await Promise.all([
      mcp([twoRounds], { stateKey }),
      mcp([twoRounds], { stateKey }),
      mcp([twoRounds]),
    ]);
    const { result } = await ask(here, "x_rounds");
    const more = { requestState: result.requestState, inputResponses: { first: accept({}) } };
    assert.equal((await ask(there, "x_rounds", more)).result.resultType, "input_required");
    assert.equal((await ask(stranger, "x_rounds", more)).error.code, -32602);
    await assert.rejects(mcp([], { stateKey: "short" }), /32 characters/);
  });

  it("a client of 2026-07-28 is listed only the tools that it can serve", async () => {
    const served = await mcp([offers]);
    const { result } = await ask(served, "x_offers", {}, {});
    assert.deepEqual(result.structuredContent, []);
    const able = { elicitation: {}, sampling: {}, roots: {} };
    const { result: all } = await ask(served, "x_offers", {}, able);
    assert.deepEqual(all.structuredContent, ["elicit", "sample", "listRoots"]);
  });
});
