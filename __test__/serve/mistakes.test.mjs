// What somebody who serves a registry, or calls one, has got wrong: they are told what, and what to do.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createMCPClient, OperationRegistry } from "@alkdev/operations";
import { createHandler, serve } from "@alkdev/operations/serve";
import { toTools } from "@alkdev/operations/tools";
import { configure, reset } from "@logtape/logtape";
import { Type } from "@sinclair/typebox";
import { operation, post, serving } from "./support.mjs";

describe("two doors at one path", () => {
  it("two doors at one path are refused, with a given or a default path", async () => {
    const registry = new OperationRegistry();
    for (const doors of [
      { http: { path: "/v1" }, mcp: { path: "/v1" } },
      { http: { path: "/mcp" }, mcp: true },
      { http: true, hub: { path: "/api" } },
    ]) {
      await assert.rejects(serve(registry, { doors }), (error) => {
        assert.equal(error.code, "VALIDATION_ERROR");
        assert.match(
          error.message,
          /doors\.(mcp|hub)\.path is \/\w+, which is also the path of the door http\. Give one/,
        );
        return true;
      });
    }
    const doors = { http: { path: "/a" }, mcp: { path: "/a" } };
    assert.throws(() => createHandler(registry, { doors }), /which is also the path of the door http/);
  });
});

describe("an operation that is not there", () => {
  const operations = [
    operation({ namespace: "demo", name: "greet" }),
    operation({ namespace: "demo", name: "great", accessControl: { requiredScopes: ["s"] } }),
  ];

  it("suggestions in a handler's calls name only what the caller may call", async () => {
    const registry = new OperationRegistry();
    const tokens = { ada: { id: "ada", scopes: ["s"] } };
    const told = async (call) => {
      try {
        return { found: (await call()) !== undefined };
      } catch (error) {
        return { nearest: error.details?.nearest };
      }
    };
    registry.registerAll([
      operation({ namespace: "demo", name: "great", accessControl: { requiredScopes: ["s"] } }),
      operation({ namespace: "demo", name: "hidden", visibility: "internal" }),
      operation({ namespace: "vault", name: "open", accessControl: { requiredScopes: ["s"] } }),
      operation({
        namespace: "demo",
        name: "nested",
        handler: async (_, context) => ({
          env: await told(() => context.env.demo.greatt),
          namespace: await told(() => context.env.vaults),
          internal: await told(() => context.env.demo.hiden),
          direct: await told(() => registry.execute("demo.greatt", {}, context)),
          copied: await told(() => registry.execute("demo.greatt", {}, { ...context })),
          within: await told(() => registry.execute("demo.hiden", {}, context)),
        }),
      }),
    ]);
    const served = await serve(registry, { port: 0, doors: { http: true }, tokens, anonymous: true });
    after(() => served.close());
    const asked = async (headers) => (await post(`${served.url}/api/demo/nested`, {}, { headers })).json();
    const missed = { found: false };
    assert.deepEqual(await asked({}), {
      env: missed,
      namespace: missed,
      internal: missed,
      direct: {},
      copied: {},
      within: {},
    });
    assert.deepEqual(await asked({ authorization: "Bearer ada" }), {
      env: { nearest: "demo.great" },
      namespace: { nearest: "vault" },
      internal: missed,
      direct: { nearest: "demo.great" },
      copied: { nearest: "demo.great" },
      within: {},
    });
    // Whoever calls without a server is told of all.
    const { data } = await registry.execute("demo.nested", {});
    assert.deepEqual(data.within, { nearest: "demo.hidden" });
  });

  it("a call of an unknown operation gets the nearest that the caller may call, over HTTP and MCP", async () => {
    const tokens = { ada: { id: "ada", scopes: ["s"] } };
    const served = await serving(operations, { doors: { http: true, mcp: true }, tokens, anonymous: true });
    const asked = async (name, headers) =>
      (await post(`${served.url}/api/demo/${name}`, {}, { headers })).json();
    const ada = { authorization: "Bearer ada" };
    const near = await asked("grest", {});
    assert.equal(near.detail, "Operation not found: demo.grest. Did you mean demo.greet?");
    assert.equal(near.details.nearest, "demo.greet");
    // One that the caller may not call is not told of.
    assert.equal((await asked("greatt", {})).details.nearest, "demo.greet");
    assert.equal((await asked("greatt", ada)).details.nearest, "demo.great");
    assert.equal((await asked("nothing", ada)).detail, "Operation not found: demo.nothing");
    for (const [headers, nearest] of [
      [{}, "demo_greet"],
      [ada, "demo_great"],
    ]) {
      const client = await createMCPClient("x", { url: `${served.url}/mcp`, headers });
      after(() => client.close());
      await assert.rejects(client.client.callTool({ name: "demo_greatt", arguments: {} }), (error) => {
        assert.match(error.message, new RegExp(`Unknown tool: demo_greatt\\. Did you mean ${nearest}\\?`));
        return true;
      });
    }
  });

  it("a model that calls an unknown operation gets the nearest, or a list of what exists", async () => {
    const registry = new OperationRegistry();
    registry.registerAll(operations);
    const { call } = toTools(registry, { target: "anthropic" });
    assert.match((await call("demo_greett", {})).content, /Did you mean demo_greet\?/);
    assert.match((await call("weather", {})).content, /The tools are: demo_great, demo_greet\./);
  });
});

describe("a query parameter that is there twice", () => {
  it("a query parameter that occurs twice is named in the error", async () => {
    const input = Type.Object({ name: Type.String() });
    const { url } = await serving([operation({ namespace: "demo", name: "greet", inputSchema: input })]);
    const response = await fetch(`${url}/api/demo/greet?name=Ada&name=Bob`);
    assert.equal(response.status, 400);
    const { detail, mayHaveRun } = await response.json();
    assert.match(detail, /the parameter "name" is there 2 times, and takes one value/);
    assert.equal(mayHaveRun, false);
  });
});

describe("_meta.mcp with a mistake", () => {
  it("a mistake in _meta.mcp is logged with the operation, and hides nothing", async () => {
    const lines = [];
    await configure({
      sinks: { memory: ({ level, message }) => void (level === "warning" && lines.push(message.join(""))) },
      loggers: [
        { category: ["operations"], sinks: ["memory"], lowestLevel: "warning" },
        { category: ["logtape", "meta"], sinks: [] },
      ],
    });
    after(() => reset());
    const meta = (name, mcp, more = {}) => operation({ namespace: "m", name, _meta: { mcp }, ...more });
    const served = await serving(
      [
        meta("typo", { colour: { uri: "a://b" } }),
        meta("brace", { resource: { uri: "a://{b" } }),
        meta("missing", { resource: { url: "a://b" } }),
        meta("mutation", { resource: { uri: "a://c" } }, { type: "mutation" }),
        meta("task", { task: "yes" }),
        meta("right", { resource: { uri: "a://d/{e}" } }),
      ],
      { doors: { mcp: true } },
    );
    const client = await createMCPClient("x", { url: `${served.url}/mcp` });
    after(() => client.close());
    assert.deepEqual(
      client.tools.map(({ name }) => name),
      ["m_typo", "m_brace", "m_missing", "m_mutation", "m_task"],
    );
    const about = (name) => lines.filter((line) => line.startsWith(`The operation m.${name}: _meta.mcp `));
    assert.match(about("typo")[0], /has "colour", which means nothing\. There are tool, prompt/);
    assert.match(about("brace")[0], /uri "a:\/\/\{b", which cannot be read/);
    assert.match(about("missing")[0], /a resource without a uri/);
    assert.match(about("mutation")[0], /but the operation is a mutation/);
    assert.match(about("task")[0], /has a task that is not true/);
    assert.deepEqual(about("right"), []);
    for (const name of ["typo", "brace", "missing", "mutation", "task"])
      assert.equal(about(name).length, 1, name);
  });
});

describe("a call of a catalogue with a wrong id or input", () => {
  it("a catalogue call with a wrong id or input says that nothing was done", async () => {
    const done = [];
    const { url } = await serving(
      [
        operation({
          namespace: "demo",
          name: "add",
          inputSchema: Type.Object({ n: Type.Number() }),
          handler: () => void done.push("done"),
        }),
        operation({
          namespace: "demo",
          name: "fails",
          handler: () => {
            throw new Error("in the middle");
          },
        }),
      ],
      { doors: { mcp: { catalogue: "search" } } },
    );
    const client = await createMCPClient("x", { url: `${url}/mcp` });
    after(() => client.close());
    const call = client.tools.find(({ name }) => name.endsWith("call"));
    const told = async (input) => {
      const { meta } = await call.handler(input, {});
      assert.equal(meta.isError, true);
      return meta._meta["alkdev.operations/error"];
    };
    assert.equal((await told({ id: "demo.ad", input: {} })).mayHaveRun, false);
    assert.equal((await told({ id: "demo.add", input: { n: "x" } })).mayHaveRun, false);
    assert.equal((await told({ id: "demo.fails", input: {} })).mayHaveRun, true);
    assert.deepEqual(done, []);
  });
});
