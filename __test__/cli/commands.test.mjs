// The commands, on real MCP servers and a real HTTP service.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, it } from "node:test";
import { packaged } from "../mcp/support/servers.mjs";
import { env, folderWith, KEY, run, runJson, shopDocument, startShop } from "./support/cli.mjs";

/** On a machine that is busy, starting a server may take long. In milliseconds. */
const PATIENCE = 240_000;

/** A folder with a configuration of two MCP servers, one that is broken, and a pet shop. */
async function hub(test, more = {}) {
  const shop = await startShop(test);
  const cwd = folderWith(test, {
    "operations.json": {
      mcpServers: {
        everything: packaged("server-everything", [], { connectTimeout: PATIENCE }),
        memory: packaged("server-memory", [], {
          connectTimeout: PATIENCE,
          env: { MEMORY_FILE_PATH: env("MEMORY_FILE") },
        }),
        broken: { command: "no-such-program-anywhere" },
      },
      openapi: {
        shop: {
          document: `${shop.url}/openapi.json`,
          baseUrl: shop.url,
          auth: { type: "bearer", token: env("SHOP_KEY") },
        },
      },
      access: { "memory.delete_*": { requiredScopes: ["memory:delete"] } },
      tokens: {
        [env("ADA_TOKEN")]: { id: "ada", scopes: ["memory:delete"] },
        [env("BOB_TOKEN")]: { id: "bob", scopes: [] },
      },
      ...more,
    },
  });
  return { cwd, shop, env: { SHOP_KEY: KEY, MEMORY_FILE: join(cwd, "memory.jsonl") } };
}

describe("list", { concurrency: true }, () => {
  it("list shows the operations of all sources but the broken one, which it names", async (t) => {
    const { code, stdout, stderr } = await run(t, ["list"], await hub(t));
    assert.equal(code, 0);
    assert.match(stdout, /^ID +TYPE +ACCESS +WHAT IT DOES$/m);
    assert.match(stdout, /^everything\.echo +mutation +open +Echoes back the input/m);
    assert.match(stdout, /^memory\.delete_entities +mutation +memory:delete /m);
    assert.match(stdout, /^shop\.getPet +query +open +A pet by its number$/m);
    assert.match(stdout, /^shop\.watchArrivals +subscription /m);
    assert.match(stderr, /^broken: not available\. .*no-such-program-anywhere/m);
  });

  it("list may be empty", async (t) => {
    const cwd = folderWith(t, { "operations.json": {} });
    assert.equal((await run(t, ["list"], { cwd })).stderr, "There are no operations\n");
    assert.equal((await run(t, ["list", "a.*"], { cwd })).stderr, "There are no such operations\n");
  });

  it("list is a table that fits the terminal", async (t) => {
    const options = await hub(t);
    const { stdout } = await run(t, ["list"], { ...options, env: { ...options.env, COLUMNS: "60" } });
    const lines = stdout.trimEnd().split("\n");
    assert.ok(lines.length > 20);
    for (const line of lines) assert.ok([...line].length <= 60, line);
    assert.ok(lines.some((line) => line.endsWith("…")));
  });

  it("list is JSON with --json, with patterns and for an identity", async (t) => {
    const options = await hub(t);
    const ids = async (...args) =>
      (await runJson(t, ["list", ...args], options)).value.operations.map(({ id }) => id);
    assert.deepEqual(await ids("shop.*", "everything.echo"), [
      "everything.echo",
      "shop.broken",
      "shop.getPet",
      "shop.wait",
      "shop.watchArrivals",
    ]);
    assert.ok((await ids("memory.*", "--as", "ada")).includes("memory.delete_entities"));
    assert.ok(!(await ids("memory.*", "--as", "bob")).includes("memory.delete_entities"));
    const { value } = await runJson(t, ["list", "shop.getPet"], options);
    assert.deepEqual(value.operations, [
      {
        id: "shop.getPet",
        type: "query",
        title: "A pet by its number",
        description: "A pet by its number",
        accessControl: { requiredScopes: [] },
      },
    ]);
    assert.deepEqual(
      value.sources.map(({ name, kind, operations, error }) => [name, kind, operations > 0, error?.code]),
      [
        ["everything", "mcp", true, undefined],
        ["memory", "mcp", true, undefined],
        ["broken", "mcp", false, "EXECUTION_ERROR"],
        ["shop", "openapi", true, undefined],
      ],
    );
  });

  it("list fails with --strict if a source is broken", async (t) => {
    const { code, stdout, stderr } = await run(t, ["list", "--strict"], await hub(t));
    assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
    assert.match(stderr, /With --strict, every source must be there\. Not available: broken/);
  });

  it("list refuses an identity that the file does not have", async (t) => {
    const { code, stderr } = await run(t, ["list", "--as", "adda"], await hub(t));
    assert.equal(code, 2);
    assert.match(stderr, /there is no such identity in operations\.json\. Did you mean ada\?/);
  });

  it("list reads a file of servers as other programs have it", async (t) => {
    const everything = {
      ...packaged("server-everything"),
      connectTimeout: PATIENCE,
      type: "stdio",
      autoApprove: ["echo"],
    };
    const cwd = folderWith(t, {
      ".mcp.json": { mcpServers: { everything, old: { command: "gone", disabled: true } } },
      "bare.json": { everything },
    });
    for (const file of [".mcp.json", "bare.json"]) {
      const { code, stdout, stderr } = await run(t, ["list", "--config", file, "everything.echo"], { cwd });
      assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
      assert.match(stdout, /everything\.echo/);
    }
  });
});

describe("servers", { concurrency: true }, () => {
  it("servers shows how each server is, with and without --json", async (t) => {
    const off = { command: "gone", disabled: true };
    const { mcpServers } = JSON.parse(readFileSync(join((await hub(t)).cwd, "operations.json"), "utf8"));
    const options = await hub(t, { mcpServers: { ...mcpServers, off } });
    const { code, value } = await runJson(t, ["servers"], options);
    assert.equal(code, 0);
    const seen = value.servers.map(({ name, status, tools }) => [name, status, tools > 0]);
    assert.deepEqual(seen, [
      ["everything", "connected", true],
      ["memory", "connected", true],
      ["broken", "failed", false],
      ["off", "disabled", false],
    ]);
    assert.match(value.servers[2].error.message, /no-such-program-anywhere/);
    const { stdout } = await run(t, ["servers"], options);
    assert.match(stdout, /^NAME +STATUS +TOOLS +PROBLEM$/m);
    assert.match(stdout, /^broken +failed +0 +.*no-such-program-anywhere/m);
  });

  it("a lazy server of a file is started once, and views are part of the file", async (t) => {
    const { mcpServers } = JSON.parse(readFileSync(join((await hub(t)).cwd, "operations.json"), "utf8"));
    const memory = {
      ...mcpServers.memory,
      start: "lazy",
      toolCache: "lists",
      tools: {
        include: ["read_graph", "delete_*", "create_*"],
        rename: { read_graph: "graph" },
        access: { "delete_*": { requiredScopes: [] }, "create_*": { requiredScopes: ["memory:create"] } },
      },
    };
    const options = await hub(t, { mcpServers: { memory } });
    const { stdout } = await run(t, ["list"], options);
    assert.match(stdout, /memory\.graph +mutation +open/);
    assert.match(stdout, /memory\.create_entities +mutation +memory:create/);
    // The rules of the file are over those of the server.
    assert.match(stdout, /memory\.delete_entities +mutation +memory:delete/);
    assert.doesNotMatch(stdout, /memory\.search_nodes/);
    assert.equal(readdirSync(join(options.cwd, "lists")).length, 1);
    const { value } = await runJson(t, ["servers"], options);
    assert.deepEqual(
      value.servers.map(({ status }) => status),
      ["stopped"],
    );
    const { stdout: data } = await run(t, ["call", "memory.graph"], options);
    assert.match(data, /entities/);
  });
});

describe("call", { concurrency: true }, () => {
  it("call prints the data of an HTTP operation, and the envelope with --json", async (t) => {
    const options = await hub(t);
    const { code, stdout, stderr } = await run(t, ["call", "shop.getPet", '{"petId": 1}'], options);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    assert.deepEqual(JSON.parse(stdout), { id: 1, name: "Ada" });
    const { value } = await runJson(t, ["call", "shop.getPet", '{"petId": 1}'], options);
    assert.deepEqual(value.data, { id: 1, name: "Ada" });
    assert.equal(value.meta.source, "http");
    assert.equal(value.meta.statusCode, 200);
    assert.ok(options.shop.requests.includes(`GET /pets/1 Bearer ${KEY}`));
  });

  it("call prints the text of an MCP tool", async (t) => {
    const { code, stdout } = await run(t, ["call", "everything.echo", '{"message":"hi"}'], await hub(t));
    assert.deepEqual({ code, stdout }, { code: 0, stdout: "Echo: hi\n" });
  });

  it("call reads its input from a file and from standard input", async (t) => {
    const options = await hub(t);
    writeFileSync(join(options.cwd, "input.json"), '{"petId":1}');
    const fromFile = await run(t, ["call", "shop.getPet", "@input.json"], options);
    const fromInput = await run(t, ["call", "shop.getPet", "-"], { ...options, input: '{"petId":1}' });
    assert.equal(fromFile.stdout, fromInput.stdout);
    assert.equal(fromFile.code, 0);
  });

  it("call prints the events of a stream as they arrive, one row each", async (t) => {
    const options = await hub(t);
    const { code, stdout } = await run(t, ["call", "shop.watchArrivals", "--limit", "2"], options);
    assert.deepEqual({ code, stdout }, { code: 0, stdout: '{"id":1}\n{"id":2}\n' });
    const lines = await run(t, ["call", "shop.watchArrivals", "--limit", "1", "--json"], options);
    assert.deepEqual(JSON.parse(lines.stdout).data, { id: 1 });
  });

  for (const [what, args, expected, message] of [
    [
      "an unknown operation",
      ["shop.getPett", "{}"],
      3,
      /Operation not found: shop\.getPett\. Did you mean shop\.getPet\?/,
    ],
    [
      "an unknown source",
      ["shpo.getPet", "{}"],
      3,
      /operations\.json has no source shpo\. Did you mean shop\?/,
    ],
    ["something that is no id", ["getPet", "{}"], 3, /"getPet" is not the id of an operation/],
    [
      "an input that is no JSON",
      ["shop.getPet", "{petId"],
      5,
      /The input is not JSON: .*\. Write it as an object in quotes, such as '\{"name":"value"\}'/,
    ],
    [
      "a text for an input",
      ["shop.getPet", "petId=x"],
      5,
      /Write it as an object in quotes: '\{"petId":"x"\}'/,
    ],
    [
      "a number for an input",
      ["shop.getPet", "petId=7"],
      5,
      /Write it as an object in quotes: '\{"petId":7\}'/,
    ],
    [
      "an integer that JavaScript cannot hold",
      ["shop.getPet", '{"of":[{"petId":9007199254740993}]}'],
      5,
      /\/of\/0\/petId: Expected a number that JavaScript can hold, and 9007199254740993 would be changed/,
    ],
    [
      "a number without an end",
      ["shop.getPet", '{"a/b":1e400}'],
      5,
      /\/a~1b: Expected a number that JavaScript can hold/,
    ],
    ["bytes that are not base64", ["shop.getPet", '{"petId":{"$bytes":"a"}}'], 5, /\/petId: Expected base64/],
    ["an input that does not fit", ["shop.getPet", "{}"], 5, /VALIDATION_ERROR: .*petId/s],
    [
      "a call that the rules refuse",
      ["memory.delete_entities", '{"entityNames":[]}'],
      4,
      /--as <id> makes them as one of ada, bob/,
    ],
    [
      "somebody who lacks a scope",
      ["memory.delete_entities", '{"entityNames":[]}', "--as", "bob"],
      4,
      /memory:delete/,
    ],
    ["an answer that is an error", ["shop.getPet", '{"petId":2}'], 1, /HTTP 404.*sold out/s],
    ["a tool that fails", ["everything.get-sum", '{"a":"x","b":2}'], 5, /VALIDATION_ERROR/],
    ["a call that takes too long", ["shop.wait", "{}", "--timeout", "50"], 6, /TIMEOUT/],
    ["a source that is broken", ["broken.anything", "{}"], 1, /no-such-program-anywhere/],
    ["a file that is not there", ["shop.getPet", "@nothing.json"], 2, /Cannot read the input/],
  ]) {
    it(`call exits with ${expected} for ${what}`, async (t) => {
      const { code, stdout, stderr } = await run(t, ["call", ...args], await hub(t));
      assert.deepEqual({ code, stdout }, { code: expected, stdout: "" }, stderr);
      assert.match(stderr, message);
    });
  }

  it('call sends {"$bytes": ...} as binary data', async (t) => {
    const bodies = [];
    const server = createServer(async (request, response) => {
      bodies.push(String(Buffer.concat(await request.toArray())));
      response.end();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const schema = { type: "string", format: "binary" };
    const requestBody = { content: { "application/octet-stream": { schema } } };
    const upload = { operationId: "upload", requestBody, responses: { 200: { description: "ok" } } };
    const paths = { "/files": { post: upload } };
    const cwd = folderWith(t, {
      "files.json": { openapi: "3.1.0", info: { title: "files", version: "1" }, paths },
      "operations.json": {
        openapi: {
          files: { document: "./files.json", baseUrl: `http://127.0.0.1:${server.address().port}` },
        },
      },
    });
    const { code, stderr } = await run(t, ["call", "files.upload", '{"body":{"$bytes":"aGVsbG8="}}'], {
      cwd,
    });
    assert.equal(code, 0, stderr);
    assert.deepEqual(bodies, ["hello"]);
  });

  it("call reports failures in JSON with --json", async (t) => {
    const { code, stderr } = await runJson(t, ["call", "shop.getPet", '{"petId":2}'], await hub(t));
    assert.equal(code, 1);
    const { error } = JSON.parse(stderr);
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.equal(error.details.statusCode, 404);
  });

  it("call acts as an identity, or skips the rules", async (t) => {
    const options = await hub(t);
    for (const who of [["--as", "ada"], ["--trusted"]]) {
      const { code, stderr } = await run(
        t,
        ["call", "memory.delete_entities", '{"entityNames":[]}', ...who],
        options,
      );
      assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    }
  });

  it("call starts only the server that it needs", async (t) => {
    const options = await hub(t);
    const { code } = await run(t, ["call", "everything.echo", '{"message":"hi"}'], { ...options, env: {} });
    // The variables of the others are not set, and nobody asked for them.
    assert.equal(code, 0);
    assert.deepEqual(options.shop.requests, []);
  });
});

describe("describe, search and tools", { concurrency: true }, () => {
  it("describe suggests nothing that the identity may not call", async (t) => {
    const at = await hub(t);
    for (const id of ["memory.delete_entities", "memory.delete_entitiess"]) {
      const { code, stderr } = await run(t, ["describe", id, "--as", "bob"], at);
      assert.notEqual(code, 0);
      assert.match(stderr, /OPERATION_NOT_FOUND/);
      assert.doesNotMatch(stderr, /Did you mean memory\.delete_/);
    }
  });

  it("describe shows types, rules and schemas", async (t) => {
    const options = await hub(t);
    const { stdout } = await run(t, ["describe", "memory.delete_entities"], options);
    assert.match(stdout, /^memory\.delete_entities \(mutation\)$/m);
    assert.match(stdout, /^Access: memory:delete$/m);
    assert.match(stdout, /"memory\.delete_entities"\(input: \{.*entityNames: string\[\]/s);
    const shown = (await run(t, ["describe", "shop.getPet"], options)).stdout;
    const [head, schema] = shown.split("Schema of the input:\n");
    assert.equal(
      head.split("A pet by its number\n\nAccess").length,
      2,
      "a title that is the description is shown once",
    );
    const { value } = await runJson(t, ["describe", "shop.getPet"], options);
    assert.deepEqual(JSON.parse(schema), value.inputSchema);
    assert.deepEqual(value.inputSchema.required, ["petId"]);
    assert.deepEqual(value.accessControl, { requiredScopes: [] });
    const unknown = await run(t, ["describe", "shop.getPett"], options);
    assert.equal(unknown.code, 3);
    assert.match(unknown.stderr, /Did you mean shop\.getPet\?/);
  });

  it("search finds in plain words", async (t) => {
    const options = await hub(t);
    const { value } = await runJson(t, ["search", "a", "pet", "by", "number", "--limit", "3"], options);
    assert.equal(value.operations[0].id, "shop.getPet");
    assert.ok(value.operations.length <= 3);
    const { stdout } = await run(t, ["search", "--quiet", "add numbers sum"], options);
    assert.match(stdout, /everything\.get-sum/);
  });

  for (const [target, field] of [
    ["anthropic", "input_schema"],
    ["openai", "parameters"],
    ["openai-strict", "parameters"],
    ["gemini", "parameters"],
    ["mcp", "inputSchema"],
    ["json-schema", "inputSchema"],
  ]) {
    it(`tools prints tools for ${target}`, async (t) => {
      const options = await hub(t, { mcpServers: {} });
      const { code, stdout } = await run(t, ["tools", "--target", target, "shop.getPet", "-q"], options);
      assert.equal(code, 0);
      const [tool, ...others] = JSON.parse(stdout);
      assert.deepEqual(others, []);
      assert.match(tool.name, /getPet/);
      assert.ok(tool[field], stdout);
    });
  }

  it("tools reports what the target cannot express", async (t) => {
    const { value } = await runJson(t, ["tools", "-t", "openai-strict"], await hub(t));
    assert.ok(value.tools.length > 20);
    assert.ok(Array.isArray(value.losses));
    const without = await run(t, ["tools"], await hub(t, { mcpServers: {} }));
    assert.equal(without.code, 2);
    assert.match(without.stderr, /--target is needed: openai, openai-strict/);
  });
});

describe("inspect", { concurrency: true }, () => {
  it("inspect reports on a document in a file", async (t) => {
    const cwd = folderWith(t, { "shop.json": shopDocument() });
    const { code, stdout } = await run(t, ["inspect", "shop.json"], { cwd });
    assert.equal(code, 0);
    assert.match(stdout, /^ok +getPet +GET +\/pets\/\{petId\}$/m);
    assert.match(stdout, /^degraded +broken +GET +\/broken +.*nowhere/m);
    assert.match(stdout, /4 operations: 3 imported, 1 degraded, 0 skipped/);
    const { value } = await runJson(t, ["inspect", "shop.json", "--problems"], { cwd });
    assert.deepEqual(value.totals, { imported: 3, degraded: 1, skipped: 0 });
    assert.deepEqual(
      value.operations.map(({ name, status, type }) => ({ name, status, type })),
      [{ name: "broken", status: "degraded", type: "query" }],
    );
  });

  it("inspect reports on a document at a URL", async (t) => {
    const { url } = await startShop(t);
    const { value } = await runJson(t, ["inspect", `${url}/openapi.json`]);
    assert.equal(value.kind, "openapi");
    assert.equal(value.operations.length, 4);
  });

  it("inspect reports on an MCP server that it starts", async (t) => {
    const { command, args } = packaged("server-everything");
    const { code, stdout } = await run(t, ["inspect", command, ...args]);
    assert.equal(code, 0);
    assert.match(stdout, /^mcp-servers\/everything \S+, MCP 20\d\d-/m);
    assert.match(stdout, /^echo +Echoes back/m);
    assert.match(stdout, /^\d+ tools, \d+ resources, \d+ prompts, 0 problems$/m);
    const { stdout: text } = await run(t, ["inspect", "--json", "--", command, ...args]);
    assert.ok(JSON.parse(text).tools.some(({ name }) => name === "echo"));
  });

  for (const [what, args, expected, message] of [
    ["a file that is not there", ["nothing.yaml"], 1, /Cannot read the OpenAPI document nothing\.yaml/],
    ["a program that is not there", ["no-such-program"], 1, /there is no program 'no-such-program'/],
    ["two documents", ["a.json", "b.json"], 2, /One document or URL at a time/],
    [
      "an address where nobody is",
      ["http://127.0.0.1:1/x"],
      1,
      /neither an OpenAPI document .* nor an MCP server/s,
    ],
  ]) {
    it(`inspect exits with ${expected} for ${what}`, async (t) => {
      const { code, stderr } = await run(t, ["inspect", ...args], { cwd: folderWith(t) });
      assert.equal(code, expected, stderr);
      assert.match(stderr, message);
    });
  }
});

describe("run", () => {
  const program =
    'const n: number = input.n; console.log("seen"); return { n, ids: Object.keys(operations) }';

  it("runs a program with its input, prints its value, and what it logs to standard error", async (t) => {
    const cwd = folderWith(t, { "operations.json": {} });
    writeFileSync(join(cwd, "program.ts"), program);
    const { code, stdout, stderr } = await run(t, ["run", "program.ts", '{"n":3}'], { cwd });
    assert.deepEqual([code, JSON.parse(stdout)], [0, { n: 3, ids: [] }], stderr);
    assert.match(stderr, /seen/);
  });

  it("a program that fails ends with 1, and says why", async (t) => {
    const cwd = folderWith(t, { "operations.json": {} });
    writeFileSync(join(cwd, "program.js"), "throw new Error('no')");
    const { code, stderr } = await run(t, ["run", "program.js"], { cwd });
    assert.equal(code, 1);
    assert.match(stderr, /PROGRAM_ERROR: Error: no/);
    assert.equal((await run(t, ["run", "an-id", "--resume"], { cwd })).code, 2);
  });
});
