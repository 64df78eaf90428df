// An MCP door that offers three tools in the place of all: what they find, for whom, and what else stays.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { OperationRegistry, OperationType } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Type } from "@sinclair/typebox";

const operation = (
  name,
  description,
  { scopes = [], _meta, handler = ({ text }) => ({ echoed: text }) } = {},
) => ({
  namespace: "notes",
  name,
  version: "1",
  type: _meta === undefined ? OperationType.MUTATION : OperationType.QUERY,
  description,
  inputSchema: Type.Object({ text: Type.Optional(Type.String()) }),
  outputSchema: Type.Unknown(),
  accessControl: { requiredScopes: scopes },
  ...(_meta && { _meta }),
  handler,
});

let served;
const registry = new OperationRegistry({ spill: { over: 10_000 } });
registry.registerAll([
  operation("create", "Writes a new note"),
  operation("erase", "Deletes all notes", { scopes: ["admin"] }),
  operation("secret", "Reads the secret note of the operator"),
  operation("large", "Prints the archive", { handler: () => "x".repeat(50_000) }),
  operation("untooled", "Reads the note that is not for models", { _meta: { mcp: { tool: false } } }),
  operation("latest", "The latest note", {
    _meta: { mcp: { resource: { uri: "notes://latest" } } },
    handler: () => "the latest",
  }),
]);

before(async () => {
  served = await serve(registry, {
    port: 0,
    doors: { mcp: { catalogue: "search" }, http: true },
    operations: ({ name }) => name !== "secret",
    tokens: { ada: { id: "ada", scopes: ["admin"] } },
    anonymous: true,
  });
});
after(() => served.close());

async function connected(token) {
  const client = new Client({ name: "test", version: "1" });
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL("/mcp", served.url), { requestInit: { headers } }),
  );
  return client;
}
const called = async (client, name, input) => {
  const result = await client.callTool({ name: `catalogue_${name}`, arguments: input });
  const { structuredContent, content, isError } = result;
  return { data: structuredContent?.result ?? structuredContent, text: content[0]?.text, content, isError };
};

describe('an MCP door with catalogue: "search"', () => {
  it("the MCP catalogue offers three tools and nothing else", async () => {
    const client = await connected();
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map(({ name }) => name).sort(), [
      "catalogue_call",
      "catalogue_describe",
      "catalogue_search",
    ]);
    const direct = await client.callTool({ name: "notes_create", arguments: {} }).catch((error) => error);
    assert.match(direct.message, /Unknown tool: notes_create/);
    await client.close();
  });

  it("the MCP catalogue finds, describes and calls what is served", async () => {
    const client = await connected();
    const { data } = await called(client, "search", { query: "write a note" });
    assert.equal(data[0].id, "notes.create");
    const described = await called(client, "describe", { id: "notes.create" });
    assert.match(described.text, /text\?: string/);
    const done = await called(client, "call", { id: "notes.create", input: { text: "hello" } });
    assert.deepEqual(done.data, { echoed: "hello" });
    const wrong = await called(client, "call", { id: "notes.create", input: { text: 7 } });
    assert.ok(wrong.isError);
    assert.match(wrong.text, /text/);
    await client.close();
  });

  it("the MCP catalogue shows each caller what it may call", async () => {
    const [nobody, ada] = [await connected(), await connected("ada")];
    const ids = async (client) =>
      (await called(client, "search", { query: "delete all notes", limit: 20 })).data.map(({ id }) => id);
    assert.ok(!(await ids(nobody)).includes("notes.erase"));
    assert.ok((await ids(ada)).includes("notes.erase"));
    const refused = await nobody
      .callTool({ name: "catalogue_call", arguments: { id: "notes.erase", input: {} } })
      .catch((error) => error);
    assert.ok(refused instanceof Error || refused.isError, JSON.stringify(refused));
    assert.ok(!(await called(ada, "call", { id: "notes.erase", input: {} })).isError);
    await nobody.close();
    await ada.close();
  });

  it("the MCP catalogue has only what is served", async () => {
    const client = await connected("ada");
    const { data } = await called(client, "search", { query: "secret note of the operator", limit: 20 });
    assert.ok(!data.some(({ id }) => id === "notes.secret"));
    const missed = await called(client, "call", { id: "notes.secret", input: {} });
    assert.ok(missed.isError);
    await client.close();
  });

  it("the MCP catalogue hides resources and prompts from models", async () => {
    const client = await connected("ada");
    const { data } = await called(client, "search", { query: "note not for models", limit: 20 });
    assert.deepEqual(
      data.map(({ id }) => id).filter((id) => /untooled|latest/.test(id)),
      [],
    );
    for (const [tool, id] of [
      ["describe", "notes.untooled"],
      ["call", "notes.untooled"],
      ["call", "notes.untoold"],
    ]) {
      const missed = await called(client, tool, { id, input: {} });
      assert.ok(missed.isError, `${tool} ${id}`);
      assert.ok(!missed.text.includes("Did you mean notes.untooled"), missed.text);
    }
    await client.close();
  });

  it("the MCP catalogue returns large results as links", async () => {
    const client = await connected("ada");
    const { content } = await called(client, "call", { id: "notes.large", input: {} });
    const link = content.find(({ type }) => type === "resource_link");
    const { contents } = await client.readResource({ uri: link.uri });
    assert.equal(contents[0].text, "x".repeat(50_000));
    await client.close();
  });

  it("the MCP catalogue leaves resources and the HTTP door as they are", async () => {
    const client = await connected();
    const { contents } = await client.readResource({ uri: "notes://latest" });
    assert.equal(contents[0].text, "the latest");
    await client.close();
    const document = await (await fetch(new URL("/api/openapi.json", served.url))).json();
    assert.ok(document.paths["/notes/create"] && !document.paths["/catalogue/search"]);
    const there = await fetch(new URL("/api/catalogue/search", served.url), { method: "POST", body: "{}" });
    assert.equal(there.status, 404);
  });

  it("the MCP catalogue refuses a registry that already has operations of its names", async () => {
    const taken = new OperationRegistry();
    taken.register({ ...operation("search", "mine"), namespace: "catalogue" });
    await assert.rejects(
      serve(taken, { port: 0, doors: { mcp: { catalogue: "search" } } }),
      /catalogue\.search/,
    );
    await assert.rejects(serve(taken, { port: 0, doors: { mcp: { catalogue: "all" } } }), /catalogue/);
  });
});
