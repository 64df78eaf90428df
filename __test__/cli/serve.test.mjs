// `operations serve`: a hub without code, with real servers behind it.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createMCPClient } from "@alkdev/operations";
import { defer } from "../mcp/support/defer.mjs";
import { isAlive, startsFile, until, untilDead } from "../mcp/support/processes.mjs";
import { packaged, stdio } from "../mcp/support/servers.mjs";
import { notOn, onlyOn } from "../support/skips.mjs";
import { bin, folderWith, KEY, run, start, startHub, startShop } from "./support/cli.mjs";

const ADA = "token-of-ada-that-nobody-sees";
const BOB = "token-of-bob-that-nobody-sees";

/** YAML of a hub: two MCP servers from npm, a broken one, a pet shop, and tokens. */
function yaml({ shop, memory, more = "" }) {
  const args = (name) => JSON.stringify(packaged(name).args);
  return `
# A hub without code.
port: 0
doors:
  mcp: { name: pets, version: 1.2.3 }
  http: true
tokens:
  \${env:ADA_TOKEN}: { id: ada, scopes: [memory:write] }
  \${file:bob-token}: { id: bob, scopes: [] }
access:
  memory.create_*: { requiredScopes: [memory:write] }
mcpServers:
  everything: { command: ${JSON.stringify(process.execPath)}, args: ${args("server-everything")}, connectTimeout: 240000 }
  memory:
    command: ${JSON.stringify(process.execPath)}
    args: ${args("server-memory")}
    connectTimeout: 240000
    env: { MEMORY_FILE_PATH: ${JSON.stringify(memory)} }
  broken: { command: no-such-program-anywhere }
  mute: { command: ${JSON.stringify(process.execPath)}, args: [-e, "process.exit(3)"] }
openapi:
  shop:
    document: ${shop}/openapi.json
    baseUrl: ${shop}
    auth: { type: bearer, token: "\${env:SHOP_KEY}" }
${more}`;
}

async function hubFolder(test, more) {
  const shop = await startShop(test);
  const cwd = folderWith(test, { "bob-token": `${BOB}\n` });
  writeFileSync(join(cwd, "hub.yaml"), yaml({ shop: shop.url, memory: join(cwd, "memory.jsonl"), more }));
  return { cwd, shop, env: { ADA_TOKEN: ADA, SHOP_KEY: KEY } };
}

const post = (url, body, token) =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  });

describe("serve", { concurrency: true }, () => {
  it("serve is a hub: HTTP, MCP, tokens, and broken servers that do no harm", async (t) => {
    const options = await hubFolder(t);
    const { child, told, ended, output } = await startHub(t, ["hub.yaml"], options);
    assert.deepEqual(Object.keys(told.doors).sort(), ["http", "mcp"]);
    assert.deepEqual(
      told.sources.map(({ name, error }) => [name, error === undefined]),
      [
        ["everything", true],
        ["memory", true],
        ["broken", false],
        ["mute", false],
        ["shop", true],
      ],
    );

    // HTTP.
    const { http, mcp } = told.doors;
    const authorization = `Bearer ${BOB}`;
    const document = await (await fetch(`${http}/openapi.json`, { headers: { authorization } })).json();
    assert.ok(
      Object.keys(document.paths).includes("/pets/{petId}") ||
        Object.keys(document.paths).some((path) => path.includes("pets")),
    );
    const echo = (token) => post(`${http}/everything/echo`, { message: "hi" }, token);
    assert.equal((await echo(BOB)).status, 200);
    assert.equal((await echo()).status, 401, "with tokens, open operations need an identity too");
    const create = (token) => post(`${http}/memory/create_entities`, { entities: [] }, token);
    assert.equal((await create()).status, 401);
    assert.equal((await create("wrong")).status, 401);
    assert.equal((await create(BOB)).status, 403);
    assert.equal((await create(ADA)).status, 200);

    // MCP.
    const client = await createMCPClient("hub", { url: mcp, headers: { authorization: `Bearer ${ADA}` } });
    defer(t, () => client.close());
    assert.deepEqual({ ...client.client.serverInfo }, { name: "pets", version: "1.2.3" });
    const names = client.tools.map(({ name }) => name);
    for (const name of ["everything_echo", "memory_create_entities", "shop_getPet"])
      assert.ok(names.includes(name), name);
    const pet = client.tools.find(({ name }) => name === "shop_getPet");
    assert.deepEqual((await pet.handler({ petId: 1 }, {})).data, { id: 1, name: "Ada" });
    assert.ok(options.shop.requests.includes(`GET /pets/1 Bearer ${KEY}`));

    child.kill("SIGINT");
    const { code } = await ended;
    assert.equal(code, 0);
    assert.match(output.stderr, /^broken: not available/m);
    for (const secret of [ADA, BOB, KEY]) assert.ok(!(output.stdout + output.stderr).includes(secret));
  });

  it("serve prints its addresses for people", async (t) => {
    const options = await hubFolder(t);
    const { child, output, ended } = start(t, ["serve", "hub.yaml"], options);
    await until(() => output.stdout.includes("Ctrl+C"), "it is up");
    assert.match(output.stdout, /^Serving \d+ operations of 3 sources at http:\/\/127\.0\.0\.1:\d+$/m);
    assert.match(output.stdout, /^ {2}mcp +http:\/\/127\.0\.0\.1:\d+\/mcp$/m);
    assert.match(output.stdout, /^ {2}http +http:\/\/127\.0\.0\.1:\d+\/api$/m);
    child.kill("SIGTERM");
    assert.equal((await ended).code, 0);
  });

  it("serve leaves no process behind, however it is stopped", { skip: notOn("win32") }, async (t) => {
    const starts = startsFile(t);
    const cwd = folderWith(t, {
      "hub.json": {
        port: 0,
        mcpServers: { family: stdio(["family", "stubborn"], { env: { STARTS_FILE: starts.path } }) },
      },
    });
    for (const signal of ["SIGINT", "SIGTERM", "SIGKILL"]) {
      const { child, ended } = await startHub(t, ["hub.json"], { cwd });
      const pids = await starts.family();
      child.kill(signal);
      const { code } = await ended;
      assert.equal(code, signal === "SIGKILL" ? null : 0);
      if (signal !== "SIGKILL")
        for (const pid of pids) assert.equal(isAlive(pid), false, `${signal}: ${pid}`);
      await untilDead(pids);
      writeFileSync(starts.path, "");
    }
  });

  it("serve --stdio is an MCP server on standard streams", async (t) => {
    const options = await hubFolder(t);
    const client = await createMCPClient("hub", {
      command: process.execPath,
      args: [bin, "serve", "hub.yaml", "--stdio", "--as", "ada"],
      cwd: options.cwd,
      env: options.env,
      // It starts servers itself, on a machine that may be busy.
      connectTimeout: 240_000,
    });
    defer(t, () => client.close());
    const create = client.tools.find(({ name }) => name === "memory_create_entities");
    assert.deepEqual((await create.handler({ entities: [] }, {})).data, { entities: [] });
    const { pid } = client.getStatus();
    await client.close();
    await untilDead([pid]);
  });

  it("serve --stdio ends when its client closes the streams", async (t) => {
    const options = await hubFolder(t);
    const { child, ended, output } = start(t, ["serve", "hub.yaml", "--stdio"], {
      ...options,
      input: "open",
    });
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}\n`);
    await until(() => output.stdout.includes('"id":1'), "it answers");
    child.stdin.end();
    const { code } = await ended;
    assert.equal(code, 0);
    assert.ok(
      output.stdout
        .trim()
        .split("\n")
        .every((line) => JSON.parse(line).jsonrpc === "2.0"),
    );
  });

  it("serve --check checks a configuration without starting anything", async (t) => {
    const options = await hubFolder(t);
    const right = await run(t, ["serve", "hub.yaml", "--check"], options);
    assert.deepEqual([right.code, right.stderr], [0, ""]);
    assert.match(right.stdout, /hub\.yaml is right: 5 sources/);
    assert.deepEqual(options.shop.requests, []);
    const wrong = await run(t, ["serve", "hub.yaml", "--check"], { ...options, env: { ADA_TOKEN: ADA } });
    assert.equal(wrong.code, 2);
    assert.match(
      wrong.stderr,
      /hub\.yaml: openapi\.shop\.auth\.token refers to the environment variable SHOP_KEY, which is not set/,
    );
  });

  it("serve --check warns of a listener that is open to the network, or refuses its own address", async (t) => {
    const open = /Warning: Everyone who can reach \S+ may call every open operation/;
    const refusing = /Warning: The server listens on \S+, but allowedHosts refuses/;
    const tokens = { [ADA]: { id: "ada", scopes: [] } };
    for (const [config, isOpen, isRefusing] of [
      [{}, false, false],
      [{ host: "::1" }, false, false],
      [{ host: "0.0.0.0" }, true, true],
      [{ host: "0.0.0.0", tokens }, false, true],
      [{ host: "::", anonymous: true, allowedHosts: ["localhost:80"] }, false, true],
      [{ host: "0.0.0.0", allowedHosts: ["localhost", "hub.example.com"] }, true, false],
      [{ host: "192.0.2.1", port: 80, tokens, allowedHosts: ["192.0.2.1:80"] }, false, false],
      [{ host: "192.0.2.1", port: 80, tokens, allowedHosts: ["192.0.2.1:81"] }, false, true],
    ]) {
      const cwd = folderWith(t, { "operations.json": { doors: { http: true }, ...config } });
      const { code, stderr } = await run(t, ["serve", "--check"], { cwd });
      assert.deepEqual([code, open.test(stderr), refusing.test(stderr)], [0, isOpen, isRefusing], stderr);
    }
  });

  it("serve starts without a source whose variable is not set", async (t) => {
    const options = await hubFolder(t);
    const { told } = await startHub(t, ["hub.yaml"], { ...options, env: { ADA_TOKEN: ADA } });
    const shop = told.sources.find(({ name }) => name === "shop");
    assert.match(shop.error.message, /SHOP_KEY, which is not set/);
    const echo = await post(`${told.doors.http}/everything/echo`, { message: "hi" }, ADA);
    assert.equal(echo.status, 200);
  });

  it("serve says that its port is in use", async (t) => {
    const options = await hubFolder(t);
    const { told } = await startHub(t, ["hub.yaml"], options);
    const { port } = new URL(told.url);
    const { code, stderr } = await run(t, ["serve", "hub.yaml", "--port", port], options);
    assert.equal(code, 1);
    assert.equal(
      stderr.trimEnd().split("\n").at(-1),
      `operations: cannot listen on 127.0.0.1, port ${port}: another program uses this port. Choose another port, or stop the program that uses it`,
    );
  });
});

describe("interrupts", { concurrency: true, skip: notOn("win32") }, () => {
  for (const [signal, expected] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ]) {
    it(`${signal} ends a call with ${expected}, and the servers that it started`, async (t) => {
      const starts = startsFile(t);
      const cwd = folderWith(t, {
        "operations.json": {
          mcpServers: { family: stdio(["family", "stubborn"], { env: { STARTS_FILE: starts.path } }) },
        },
      });
      const { child, ended } = start(t, ["call", "family.wait", '{"pause":600000}'], { cwd });
      const pids = await starts.family();
      child.kill(signal);
      const { code, stdout, stderr } = await ended;
      assert.deepEqual({ code, stdout, stderr }, { code: expected, stdout: "", stderr: "Interrupted\n" });
      for (const pid of pids) assert.equal(isAlive(pid), false, `process ${pid}`);
    });
  }

  it("a second interrupt ends the process without waiting", async (t) => {
    const starts = startsFile(t);
    const cwd = folderWith(t, {
      "hub.json": {
        port: 0,
        mcpServers: { family: stdio(["family", "stubborn"], { env: { STARTS_FILE: starts.path } }) },
      },
    });
    const { child, ended, output } = await startHub(t, ["hub.json"], { cwd });
    const pids = await starts.family();
    child.kill("SIGINT");
    await until(() => output.stderr.includes("Stopping"), "it has begun to stop");
    child.kill("SIGINT");
    assert.equal((await ended).code, 130);
    await untilDead(pids);
  });

  it("an interrupt ends a stream, after the events received so far", async (t) => {
    const { cwd, env } = await hubFolder(t);
    const { child, ended, output } = start(t, ["call", "shop.watchArrivals", "-c", "hub.yaml"], { cwd, env });
    await until(() => output.stdout.split("\n").length === 4, "three events");
    child.kill("SIGINT");
    const { code, stdout } = await ended;
    assert.deepEqual({ code, stdout }, { code: 130, stdout: '{"id":1}\n{"id":2}\n{"id":3}\n' });
  });

  it("an interrupt ends a hub that is still connecting", { skip: onlyOn("linux") }, async (t) => {
    const cwd = folderWith(t, {
      "hub.json": {
        port: 0,
        mcpServers: {
          silent: {
            command: process.execPath,
            args: ["-e", "setInterval(() => {}, 1e9); console.error('up')"],
          },
        },
      },
    });
    const { child, ended } = start(t, ["serve", "hub.json"], { cwd });
    await once(child, "spawn");
    await until(() => childrenOf(child.pid).length > 0, "the server was started");
    const pids = childrenOf(child.pid);
    child.kill("SIGINT");
    assert.equal((await ended).code, 130);
    await untilDead(pids);
  });

  it("an interrupt ends a command that waits for a document", async (t) => {
    const { url, requests } = await startShop(t);
    const cwd = folderWith(t, { "operations.json": { openapi: { slow: { document: `${url}/slow` } } } });
    const { child, ended } = start(t, ["list"], { cwd });
    await until(() => requests.length > 0, "it has asked");
    child.kill("SIGINT");
    const { code, stderr } = await ended;
    assert.deepEqual({ code, stderr }, { code: 130, stderr: "Interrupted\n" });
  });

  it("a reader that closes the pipe ends the stream without an error", async (t) => {
    const { cwd, env } = await hubFolder(t);
    const { child, ended } = start(t, ["call", "shop.watchArrivals", "-c", "hub.yaml", "--limit", "3"], {
      cwd,
      env,
    });
    await once(child.stdout, "data");
    child.stdout.destroy();
    const { code, stderr } = await ended;
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  });
});

/** Any thread may have started one. */
function childrenOf(pid) {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  );
}
