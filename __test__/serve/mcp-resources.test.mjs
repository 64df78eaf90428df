// Operations as resources and prompts, with the SDK's client.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError } from "@alkdev/operations";
import {
  PromptListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { Type } from "@sinclair/typebox";
import { connected } from "./support/mcp-client.mjs";
import { deferred, operation, serving } from "./support.mjs";

const mcp = (operations, more = {}) =>
  serving(operations, { doors: { mcp: { name: "test", version: "1.2.3" } }, ...more });

const resource = (name, uri, handler, more = {}) =>
  operation({ namespace: "r", name, handler, _meta: { mcp: { resource: { uri } } }, ...more });
const prompt = (name, handler, more = {}, mcp = {}) =>
  operation({ namespace: "p", name, handler, _meta: { mcp: { prompt: true, ...mcp } }, ...more });

describe("resources", () => {
  it("resources are listed and read at their addresses", async () => {
    const served = await mcp([
      resource("text", "doc://text", () => "words", { title: "Words" }),
      resource("bytes", "doc://bytes", () => Buffer.from([1, 2, 3]), {
        _meta: { mcp: { resource: { uri: "doc://bytes", mimeType: "image/png" } } },
      }),
      resource("page", "doc://pages/{number}", ({ number }) => ({ number, isNumber: typeof number }), {
        inputSchema: Type.Object({ number: Type.Integer() }),
      }),
      operation({ namespace: "r", name: "tool" }),
    ]);
    const client = await connected(served);
    const { resources } = await client.listResources();
    assert.deepEqual(
      resources.map(({ uri, name, title }) => ({ uri, name, title })),
      [
        { uri: "doc://text", name: "r_text", title: "Words" },
        { uri: "doc://bytes", name: "r_bytes", title: undefined },
      ],
    );
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.deepEqual(
      resourceTemplates.map(({ uriTemplate }) => uriTemplate),
      ["doc://pages/{number}"],
    );
    // They are tools only if they say so.
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["r_tool"],
    );
    const read = async (uri) => (await client.readResource({ uri })).contents;
    assert.deepEqual(await read("doc://text"), [
      { uri: "doc://text", mimeType: "text/plain", text: "words" },
    ]);
    assert.deepEqual(await read("doc://bytes"), [
      { uri: "doc://bytes", mimeType: "image/png", blob: "AQID" },
    ]);
    const [page] = await read("doc://pages/7");
    assert.deepEqual(JSON.parse(page.text), { number: 7, isNumber: "number" });
    assert.equal(page.mimeType, "application/json");
    await assert.rejects(read("doc://nowhere"), { code: -32002, data: { uri: "doc://nowhere" } });
    await assert.rejects(read("doc://pages/x"), { code: -32602 });
  });

  it("resources are only for callers of their operations", async () => {
    const accessControl = { requiredScopes: ["admin"] };
    const secret = resource("secret", "doc://secret", () => "s", { accessControl });
    const served = await mcp([secret], {
      tokens: { ada: { id: "ada", scopes: ["admin"] } },
      anonymous: true,
    });
    const stranger = await connected(served);
    assert.deepEqual((await stranger.listResources()).resources, []);
    await assert.rejects(stranger.readResource({ uri: "doc://secret" }));
    await assert.rejects(stranger.subscribeResource({ uri: "doc://secret" }));
    const ada = await connected(served, { authorization: "Bearer ada" });
    assert.equal((await ada.readResource({ uri: "doc://secret" })).contents[0].text, "s");
  });

  it("resources can be subscribed to", async () => {
    const served = await mcp([
      resource("text", "doc://text", () => "words"),
      resource("other", "doc://other", () => "words"),
    ]);
    const client = await connected(served);
    const { promise, resolve } = deferred();
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri));
    await client.subscribeResource({ uri: "doc://text" });
    // The client opens its stream when it has connected, and does not say when that stands.
    const again = setInterval(() => {
      served.resourceUpdated("doc://other");
      served.resourceUpdated("doc://text");
    }, 50);
    try {
      assert.equal(await promise, "doc://text");
    } finally {
      clearInterval(again);
    }
    assert.throws(() => served.resourceUpdated(7), { code: "VALIDATION_ERROR" });
  });

  it("a subscriber that may no longer read a resource gets no notification about it", async () => {
    const secret = (scopes) =>
      resource("secret", "doc://secret", () => "s", { accessControl: { requiredScopes: scopes } });
    const open = resource("open", "doc://open", () => "o");
    const served = await mcp([secret(["read"]), open], { tokens: { ada: { id: "ada", scopes: ["read"] } } });
    const client = await connected(served, { authorization: "Bearer ada" });
    const told = [];
    let heard = deferred();
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      told.push(params.uri);
      heard.resolve();
    });
    const until = async (uri) => {
      while (!told.includes(uri)) {
        heard = deferred();
        served.resourceUpdated("doc://secret");
        served.resourceUpdated("doc://open");
        // The client opens its stream when it has connected, and does not say when that stands.
        await Promise.race([heard.promise, new Promise((resolve) => setTimeout(resolve, 50))]);
      }
    };
    await client.subscribeResource({ uri: "doc://secret" });
    await client.subscribeResource({ uri: "doc://open" });
    await until("doc://secret");
    served.registry.register(secret(["admin"]));
    await assert.rejects(client.readResource({ uri: "doc://secret" }));
    // What was said before that is on its way; what follows is about the other one only.
    served.registry.register(resource("last", "doc://last", () => "l"));
    await client.subscribeResource({ uri: "doc://last" });
    told.length = 0;
    while (!told.includes("doc://last")) {
      served.resourceUpdated("doc://secret");
      served.resourceUpdated("doc://last");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.deepEqual(
      told.filter((uri) => uri === "doc://secret"),
      [],
    );
  });

  it("resources have addresses of bounded length", async () => {
    const served = await mcp([
      resource("page", "doc://pages/{name}", ({ name }) => name, {
        inputSchema: Type.Object({ name: Type.String() }),
      }),
    ]);
    const client = await connected(served);
    const long = `doc://pages/${"x".repeat(2_048)}`;
    assert.equal((await client.readResource({ uri: long })).contents[0].text.length, 2_048);
    await client.subscribeResource({ uri: "doc://pages/short" });
    await assert.rejects(client.subscribeResource({ uri: long }), { code: -32602 });
  });

  it("only a QUERY can be a resource", async () => {
    const served = await mcp([resource("writes", "doc://writes", () => 1, { type: "mutation" })]);
    const client = await connected(served);
    assert.equal(client.getServerCapabilities().resources, undefined);
  });
});

describe("prompts", () => {
  it("prompts return messages", async () => {
    const messages = [{ role: "assistant", content: { type: "text", text: "Yes?" } }];
    const served = await mcp([
      prompt("plain", () => "Hello"),
      prompt("list", () => ({ description: "d", messages })),
      prompt("counted", ({ count }) => `${typeof count} ${count}`, {
        inputSchema: Type.Object({ count: Type.Number({ description: "How many" }) }),
      }),
    ]);
    const client = await connected(served);
    const { prompts } = await client.listPrompts();
    assert.deepEqual(
      prompts.map(({ name, arguments: args }) => ({ name, args })),
      [
        { name: "p_plain", args: [] },
        { name: "p_list", args: [] },
        { name: "p_counted", args: [{ name: "count", description: "How many", required: true }] },
      ],
    );
    const get = (name, args) => client.getPrompt({ name, arguments: args });
    assert.deepEqual(await get("p_plain"), {
      messages: [{ role: "user", content: { type: "text", text: "Hello" } }],
    });
    assert.deepEqual(await get("p_list"), { description: "d", messages });
    const { messages: counted } = await get("p_counted", { count: "7" });
    assert.equal(counted[0].content.text, "number 7");
    await assert.rejects(get("p_counted", {}), { code: -32602 });
    await assert.rejects(get("p_none"), { code: -32602 });
  });

  it("prompts report failures as errors, and mask what was not declared", async () => {
    const fails = (name, thrown) =>
      prompt(
        name,
        () => {
          throw thrown;
        },
        { errorSchemas: [{ code: "GONE", schema: {} }] },
      );
    const served = await mcp([
      fails("declared", new CallError("GONE", "it is gone")),
      fails("odd", { password: "s3cret" }),
    ]);
    const client = await connected(served);
    const failure = (name) => client.getPrompt({ name }).catch((error) => error);
    const declared = await failure("p_declared");
    assert.equal(declared.code, -32603);
    assert.equal(declared.data.code, "GONE");
    const odd = await failure("p_odd");
    assert.ok(!JSON.stringify([odd.message, odd.data]).includes("s3cret"));
  });

  it("prompts have completions, from words, schemas and operations", async () => {
    const inputSchema = Type.Object({
      city: Type.String(),
      kind: Type.Union([Type.Literal("small"), Type.Literal("large")]),
      street: Type.String(),
      free: Type.String(),
    });
    const complete = { city: ["Paris", "Prague", "Rome"], street: "p.streets" };
    const streets = operation({
      namespace: "p",
      name: "streets",
      handler: ({ value, arguments: others }) => [`${others.city}, ${value}1`],
    });
    const served = await mcp([prompt("visit", () => "x", { inputSchema }, { complete }), streets]);
    const client = await connected(served);
    const completed = async (name, value, context) => {
      const ref = { type: "ref/prompt", name: "p_visit" };
      return (await client.complete({ ref, argument: { name, value }, context })).completion.values;
    };
    assert.deepEqual(await completed("city", "p"), ["Paris", "Prague"]);
    assert.deepEqual(await completed("kind", "l"), ["large"]);
    assert.deepEqual(await completed("street", "A", { arguments: { city: "Rome" } }), ["Rome, A1"]);
    assert.deepEqual(await completed("free", ""), []);
    const none = { ref: { type: "ref/prompt", name: "no" }, argument: { name: "a", value: "" } };
    await assert.rejects(client.complete(none), { code: -32602 });
  });

  it("a change of prompts is notified, and not as a change of tools", async () => {
    const served = await mcp([prompt("first", () => "x")]);
    const client = await connected(served);
    await client.listPrompts();
    const heard = [];
    const { promise, resolve } = deferred();
    client.fallbackNotificationHandler = ({ method }) => heard.push(method);
    client.setNotificationHandler(PromptListChangedNotificationSchema, resolve);
    let count = 0;
    const again = setInterval(() => {
      served.registry.register(prompt(`more${count++}`, () => "x"));
    }, 300);
    try {
      await promise;
    } finally {
      clearInterval(again);
    }
    assert.deepEqual(heard, []);
  });
});
