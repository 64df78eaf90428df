// What can be wrong in a configuration, and how it is told.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { env, folderWith, run, runJson, shopDocument } from "./support/cli.mjs";

const server = { command: "some-program" };

describe("a wrong configuration is refused by its place", { concurrency: true }, () => {
  for (const [what, content, message] of [
    [
      "a misspelt key",
      { mcpServer: { a: server } },
      /hub\.json: mcpServer is not an option\. Did you mean mcpServers\?/,
    ],
    ["an unknown key", { frobnicate: 1 }, /hub\.json: frobnicate is not an option: there are /],
    [
      "a misspelt option of a server",
      { mcpServers: { a: { comand: "x" } } },
      /hub\.json: mcpServers\.a\.comand is not an option\. Did you mean command\?/,
    ],
    [
      "an unknown option of a server",
      { mcpServers: { a: { ...server, frobnicate: 1 } } },
      /hub\.json: mcpServers\.a\.frobnicate is not an option of an MCP server/,
    ],
    [
      "a server without a program",
      { mcpServers: { a: { args: [] } } },
      /hub\.json: mcpServers\.a must have `command`, the program to start, or `url`/,
    ],
    [
      "a server that is a text",
      { mcpServers: { a: "npx" } },
      /hub\.json: mcpServers\.a must be an object, not a string/,
    ],
    [
      "a misspelt option of a document",
      { openapi: { pets: { document: "x", baseURL: "https://x.example" } } },
      /hub\.json: openapi\.pets\.baseURL is not an option\. Did you mean baseUrl\?/,
    ],
    [
      "an unknown option of a document",
      { openapi: { pets: { document: "x", frobnicate: 1 } } },
      /hub\.json: openapi\.pets\.frobnicate is not an option: there are/,
    ],
    [
      "a misspelt document",
      { openapi: { pets: { documnt: "x" } } },
      /hub\.json: openapi\.pets\.documnt is not an option\. Did you mean document\?/,
    ],
    [
      "a source without a document",
      { openapi: { pets: {} } },
      /hub\.json: openapi\.pets must have `document`/,
    ],
    [
      "a namespace of its own",
      { openapi: { pets: { document: "x", namespace: "cats" } } },
      /hub\.json: openapi\.pets\.namespace is not an option: the namespace is the key, "pets"/,
    ],
    [
      "a wrong URL",
      { openapi: { pets: { document: "x", baseUrl: "pets.example" } } },
      /hub\.json: openapi\.pets\.baseUrl must be an absolute http or https URL/,
    ],
    [
      "a rule that does not exist",
      { openapi: { pets: { document: "x", accessControl: { requiredScope: [] } } } },
      /openapi\.pets\.accessControl\.requiredScope .*requiredScopes/,
    ],
    ["a rule for a pattern", { access: { "a.*": { scopes: ["x"] } } }, /hub\.json: access\["a\.\*"\]/],
    [
      "two sources with one name",
      { mcpServers: { a: server }, openapi: { a: { document: "x" } } },
      /hub\.json: openapi\.a has the name of an MCP server/,
    ],
    [
      "a door that does not exist",
      { doors: { mpc: true } },
      /hub\.json: doors\.mpc is not an option\. Did you mean mcp\?/,
    ],
    [
      "a port that is none",
      { port: "eighty" },
      /hub\.json: port must be a whole number from 0 to 65535, not "eighty"/,
    ],
    [
      "an identity without an id",
      { tokens: { "hush-hush": { scopes: [] } } },
      /hub\.json: tokens must have an identity/,
    ],
    [
      "an identity without scopes",
      { tokens: { "hush-hush": { id: "ada" } } },
      /hub\.json: tokens must have an identity, .*: scopes of "ada" is missing/,
    ],
    [
      "a variable that is not set",
      { port: env("NO_SUCH_PORT") },
      /hub\.json: port refers to the environment variable NO_SUCH_PORT, which is not set\. Set it, or give a default/,
    ],
    [
      "a file that is not there",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: that is how a configuration refers to a file
      { tls: { certFile: "${file:nowhere}", keyFile: "x" } },
      /hub\.json: tls\.certFile refers to the file nowhere\. It cannot be read: ENOENT/,
    ],
    ["something that is no object", [1, 2], /hub\.json: the file must hold an object, not a list/],
    ["something that is no JSON", '{ "port": 1, }} hush-hush', /hub\.json: not valid JSON: /],
  ]) {
    it(`a configuration with ${what} is refused with its path`, async (t) => {
      const { code, stdout, stderr } = await run(t, ["serve", "hub.json", "--check"], {
        cwd: folderWith(t, { "hub.json": content }),
      });
      assert.deepEqual({ code, stdout }, { code: 2, stdout: "" }, stderr);
      assert.match(stderr, message);
      assert.ok(!stderr.includes("hush"), "no secret is quoted");
    });
  }

  for (const [what, text, message] of [
    ["something that is no YAML", "port: [1, 2\ntokens: hush-hush", /hub\.yaml: not valid YAML: .*line \d/s],
    ["a key that is there twice", "port: 1\nport: 2\n", /hub\.yaml: not valid YAML: .*a key is there twice/],
    ["an empty file", "", /hub\.yaml: the file must hold an object, not null/],
  ]) {
    it(`a configuration with ${what}, in YAML, is refused with its path`, async (t) => {
      const { code, stderr } = await run(t, ["serve", "hub.yaml", "--check"], {
        cwd: folderWith(t, { "hub.yaml": text }),
      });
      assert.equal(code, 2);
      assert.match(stderr, message);
      assert.ok(!stderr.includes("hush"), "no secret is quoted");
    });
  }
});

describe("a configuration", { concurrency: true }, () => {
  it("a configuration is found in the folder", async (t) => {
    const nothing = await run(t, ["list"], { cwd: folderWith(t) });
    assert.equal(nothing.code, 2);
    assert.match(nothing.stderr, /There is no configuration here\. Name one with --config <file>/);
    const missing = await run(t, ["list", "--config", "nowhere.yaml"], { cwd: folderWith(t) });
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /Cannot read the configuration nowhere\.yaml: there is no such file/);
    for (const name of ["operations.yaml", "operations.yml", "operations.json"]) {
      const { code } = await run(t, ["serve", "--check"], { cwd: folderWith(t, { [name]: "{}" }) });
      assert.equal(code, 0, name);
    }
    const before = await run(t, ["--config", "nowhere.yaml", "list"], { cwd: folderWith(t) });
    assert.match(before.stderr, /nowhere\.yaml: there is no such file/);
    const twice = await run(t, ["serve", "a.yaml", "--config", "b.yaml"], { cwd: folderWith(t) });
    assert.equal(twice.code, 2);
  });

  it("a rule for a tool that a server does not have causes a warning, and fails with --strict", async (t) => {
    const [command, ...args] = [
      process.execPath,
      fileURLToPath(new URL("../mcp/support/stdio-server.mjs", import.meta.url)),
    ];
    const tools = { include: ["echo"], rename: { echo: "say" }, access: { say: { requiredScopes: ["x"] } } };
    const off = { command, args, enabled: false };
    const cwd = folderWith(t, { "operations.json": { mcpServers: { s: { command, args, tools }, off } } });
    const { value, stderr } = await runJson(t, ["list"], { cwd });
    assert.deepEqual(
      value.operations.map(({ id }) => id),
      ["s.say"],
    );
    assert.match(
      stderr,
      /mcpServers\.s\.tools\.access\["say"\] fits no tool of the server, so it protects nothing/,
    );
    assert.equal((await run(t, ["list", "--strict"], { cwd })).code, 2);
  });

  it("a configuration whose rules match nothing causes a warning", async (t) => {
    const rules = { requiredScopes: ["x"] };
    const cwd = folderWith(t, {
      "shop.json": shopDocument(),
      "operations.json": {
        openapi: { shop: { document: "shop.json", accessControl: { requiredScopes: ["all"] } } },
        access: { "shop.*": rules, "shop.getPet": { requiredScopes: ["pets"] }, "shpo.*": rules },
      },
    });
    const { value, stderr } = await runJson(t, ["list"], { cwd });
    assert.equal(
      stderr,
      'Warning: operations.json: access["shpo.*"] fits no operation, so it protects nothing. Did you mean shop.*?\n',
    );
    const scopes = Object.fromEntries(
      value.operations.map(({ id, accessControl }) => [id, accessControl.requiredScopes.join()]),
    );
    assert.deepEqual(scopes, {
      "shop.broken": "x",
      "shop.getPet": "pets",
      "shop.wait": "x",
      "shop.watchArrivals": "x",
    });
  });

  it("serve --check --strict fails if a rule protects nothing", async (t) => {
    const access = { "shop.gtePet": { requiredScopes: ["pets"] } };
    const openapi = { shop: { document: "shop.json" } };
    const files = { "shop.json": shopDocument(), "operations.json": { port: 0, openapi, access } };
    const cwd = folderWith(t, files);
    for (const args of [
      ["serve", "--check"],
      ["serve", "--strict"],
      ["list", "--strict"],
    ]) {
      const { code, stdout, stderr } = await run(t, args, { cwd });
      assert.deepEqual({ code, stdout }, { code: 2, stdout: "" }, args.join(" "));
      // Warnings about the document may stand before it.
      const refusal =
        'operations: operations.json: access["shop.gtePet"] fits no operation, so it protects nothing. Did you mean shop.getPet?\n';
      assert.ok(stderr.endsWith(refusal), stderr);
    }
    const { stdout } = await run(t, ["list", "shop.getPet"], { cwd });
    assert.match(stdout, /shop\.getPet/, "without --strict it is a warning");
  });

  it("a configuration may have rules for sources that --check does not load", async (t) => {
    const rules = { requiredScopes: ["x"] };
    const config = {
      mcpServers: { files: server },
      openapi: { far: { document: "https://far.example/openapi.json" } },
    };
    for (const [access, code] of [
      [{ "files.write_*": rules, "far.send": rules, "*.delete": rules }, 0],
      [{ "file.write_*": rules }, 2],
    ]) {
      const cwd = folderWith(t, { "operations.json": { ...config, access } });
      const outcome = await run(t, ["serve", "--check"], { cwd });
      assert.equal(outcome.code, code, outcome.stderr);
    }
  });

  it("serve --check fails if a file of the configuration is missing", async (t) => {
    const check = async (config) => {
      const { code, stderr } = await run(t, ["serve", "--check"], {
        cwd: folderWith(t, { "operations.json": config }),
      });
      assert.equal(code, 2, stderr);
      return stderr;
    };
    assert.match(
      await check({ openapi: { mail: { document: "./male.yaml" } } }),
      /operations\.json: openapi\.mail: .*male\.yaml/,
    );
    assert.match(
      await check({ tls: { certFile: "cert.pem", keyFile: "key.pem" } }),
      /operations\.json: tls\.certFile: there is no file .*cert\.pem/,
    );
  });

  it("a configuration may have numbers and switches in variables", async (t) => {
    const cwd = folderWith(t, {
      "pets.json": shopDocument(),
      "operations.json": {
        port: env("THE_PORT"),
        timeout: env("NO_TIMEOUT:-5000"),
        doors: { mcp: env("WITH_MCP"), http: true },
        openapi: {
          pets: {
            document: "pets.json",
            timeout: env("THE_PORT"),
            auth: { type: "bearer", token: env("DIGITS") },
            // What is open, and called with credentials, is warned of.
            accessControl: { requiredScopes: ["pets"] },
          },
        },
      },
    });
    const variables = { THE_PORT: "8123", WITH_MCP: "true", DIGITS: "123456" };
    const { code, stderr } = await run(t, ["serve", "--check"], { cwd, env: variables });
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  });
});
