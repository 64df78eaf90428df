// Servers that start with their first call, and stop without calls.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { createMCPClient, MCPClientLoader, OperationRegistry } from "@alkdev/operations";
import { defer } from "./support/defer.mjs";
import { startHTTPServer } from "./support/http-server.mjs";
import { startsFile, temporaryFolder, until, untilDead } from "./support/processes.mjs";
import { failure, stdio } from "./support/servers.mjs";

/** A cache in memory that tells its keys and lists. */
function memoryCache() {
  const lists = new Map();
  return {
    lists,
    get: (key) => lists.get(key),
    set: (key, list) => void lists.set(key, structuredClone(list)),
  };
}

/** Lazy servers with a cache, and a way to load them again, as after a restart of the program. */
function lazy(test, traits = [], more = {}) {
  const starts = startsFile(test);
  const toolCache = more.toolCache ?? memoryCache();
  const marker = join(temporaryFolder(test), "marker");
  const config = stdio(traits, {
    start: "lazy",
    toolCache,
    env: { STARTS_FILE: starts.path, MARKER: marker },
    ...more,
  });
  const load = async (servers = { s: config }) => {
    const loader = new MCPClientLoader();
    defer(test, () => loader.closeAll());
    await loader.load(servers);
    const registry = new OperationRegistry();
    loader.registerAll(registry, { keepInStep: true });
    const call = (tool, input = {}, context = {}) => registry.execute(`s.${tool}`, input, context);
    return { loader, registry, call };
  };
  return { load, starts, config, toolCache, mark: () => writeFileSync(marker, "") };
}

describe("start: lazy", { timeout: 60_000 }, () => {
  it("a lazy server without a cached list is started once, to list its tools, and stopped", async (t) => {
    const { load, starts, toolCache } = lazy(t);
    const { loader, registry } = await load();
    assert.deepEqual(loader.status(), { s: { status: "stopped" } });
    await untilDead(starts.pids("server"));
    assert.equal(starts.pids("server").length, 1);
    assert.equal(toolCache.lists.size, 1);
    assert.ok(registry.get("s.echo"));
  });

  it("a lazy server with a cached list starts with the first call, which is one call to the caller", async (t) => {
    const { load, starts } = lazy(t);
    await (await load()).loader.closeAll();
    const { loader, call } = await load();
    assert.equal(starts.pids("server").length, 1);
    const [one, two] = await Promise.all([call("echo", { text: "a" }), call("echo", { text: "b" })]);
    assert.deepEqual([one.data[0].text, two.data[0].text], ["a", "b"]);
    assert.equal(starts.pids("server").length, 2);
    assert.equal(loader.status().s.status, "connected");
  });

  it("twenty lazy servers cost no process", async (t) => {
    const { load, starts, config } = lazy(t);
    await (await load()).loader.closeAll();
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    const { loader, registry } = await load(Object.fromEntries(names.map((name) => [name, config])));
    assert.equal(starts.pids("server").length, 1);
    assert.ok(names.every((name) => registry.get(`${name}.echo`)));
    assert.deepEqual([...new Set(Object.values(loader.status()).map(({ status }) => status))], ["stopped"]);
  });

  it("the first call to a lazy server ends at its deadline", async (t) => {
    const { load, mark } = lazy(t, ["silent-when-restarted"]);
    const { call } = await load();
    mark();
    const error = await failure(call("echo", { text: "x" }, { deadline: Date.now() + 300 }));
    assert.equal(error.code, "TIMEOUT");
    assert.equal(error.details.delivery, "none");
  });

  it("a list that differs from the cached one is taken over, with an event, and cached", async (t) => {
    const { load, toolCache, mark } = lazy(t, ["knows-news-when-restarted"]);
    await (await load()).loader.closeAll();
    mark();
    const { loader, registry, call } = await load();
    assert.equal(registry.get("s.news"), undefined);
    const changed = new Promise((resolve) => {
      loader.getClient("s").onToolsChanged((_, { added }) => resolve(added.map(({ name }) => name)));
    });
    await call("echo", { text: "x" });
    assert.deepEqual(await changed, ["news"]);
    assert.ok(registry.get("s.news"));
    const isNews = (tool) => JSON.parse(tool).name === "news";
    await until(() => [...toolCache.lists.values()].some(({ tools }) => tools.some(isNews)), "it is cached");
  });

  it("a call to a tool that is gone says so, and is not sent", async (t) => {
    const { load, mark } = lazy(t, ["lacks-echo-when-restarted"]);
    await (await load()).loader.closeAll();
    mark();
    const { registry, call } = await load();
    const error = await failure(call("echo", { text: "x" }));
    assert.equal(error.code, "OPERATION_NOT_FOUND");
    assert.equal(error.details.reason, "tool-removed");
    assert.match(error.message, /no longer has this tool/);
    await until(() => registry.get("s.echo") === undefined, "the tool is gone");
  });

  it("the cache notices arguments, environment, address, program and account", async (t) => {
    const { load, config, toolCache } = lazy(t);
    const keysWith = async (more) => {
      const before = toolCache.lists.size;
      await (await load({ s: { ...config, ...more } })).loader.closeAll();
      return toolCache.lists.size - before;
    };
    assert.equal(await keysWith({}), 1);
    assert.equal(await keysWith({}), 0);
    assert.equal(await keysWith({ args: [...config.args, "pages"] }), 1);
    assert.equal(await keysWith({ env: { ...config.env, MODE: "other" } }), 1);
    assert.equal(await keysWith({ env: { ...config.env, API_TOKEN: "first" } }), 1);
    assert.equal(await keysWith({ env: { ...config.env, API_TOKEN: "second" } }), 1);
    assert.equal(await keysWith({ args: [...config.args, "--token=first"] }), 1);
    assert.equal(await keysWith({ args: [...config.args, "--token=second"] }), 1);
    const folder = temporaryFolder(t);
    const [script] = config.args;
    const program = join(folder, "server.mjs");
    writeFileSync(program, `await import(${JSON.stringify(pathToFileURL(script).href)});`);
    assert.equal(await keysWith({ args: [program] }), 1);
    writeFileSync(join(folder, "package.json"), '{ "version": "1.0.1" }');
    assert.equal(await keysWith({ args: [program] }), 1);
    assert.equal(await keysWith({ args: [program] }), 0);
    const server = await startHTTPServer(t);
    const remote = { start: "lazy", toolCache };
    const remoteKeys = async (more) => {
      const before = toolCache.lists.size;
      await (await load({ s: { ...remote, ...more } })).loader.closeAll();
      return toolCache.lists.size - before;
    };
    assert.equal(await remoteKeys({ url: `${server.url}?set=a&api_key=1` }), 1);
    assert.equal(await remoteKeys({ url: `${server.url}?set=a&api_key=2` }), 1);
    assert.equal(await remoteKeys({ url: `${server.url}?set=b&api_key=1` }), 1);
    assert.equal(await remoteKeys({ url: server.url, headers: { authorization: "Bearer a" } }), 1);
    assert.equal(await remoteKeys({ url: server.url, headers: { authorization: "Bearer b" } }), 1);
    assert.equal(await remoteKeys({ url: server.url, headers: { authorization: "Bearer b" } }), 0);
    for (const key of toolCache.lists.keys()) assert.match(key, /^[0-9a-f]{64}$/);
  });

  it("a folder caches lists in files without secrets; a damaged file counts as none", async (t) => {
    const toolCache = join(temporaryFolder(t), "lists");
    const { load, config, starts } = lazy(t, [], { toolCache });
    const env = { ...config.env, API_TOKEN: "hunter2" };
    await (await load({ s: { ...config, env } })).loader.closeAll();
    const [name] = readdirSync(toolCache);
    const file = join(toolCache, name);
    assert.ok(!readFileSync(file, "utf8").includes("hunter2"));
    writeFileSync(file, '{"tools":[');
    const { call } = await load({ s: { ...config, env } });
    assert.equal(starts.pids("server").length, 2);
    assert.equal((await call("echo", { text: "x" })).data[0].text, "x");
  });

  it("a lazy server without a cache is refused", async () => {
    const error = await failure(createMCPClient("s", stdio([], { start: "lazy" })));
    assert.equal(error.code, "VALIDATION_ERROR");
    assert.match(error.message, /start "lazy" needs toolCache/);
  });

  it("a cache that fails costs a start, and nothing else", async (t) => {
    const broken = () => {
      throw new Error("disk full");
    };
    const { load } = lazy(t, [], { toolCache: { get: broken, set: broken } });
    const { call } = await load();
    assert.equal((await call("echo", { text: "x" })).data[0].text, "x");
  });
});

describe("idle", { timeout: 60_000 }, () => {
  it("idle stops a server without calls, and the next call starts it again", async (t) => {
    const { load, starts, config } = lazy(t, ["family"], { idle: 200 });
    const { loader, call } = await load({ s: { ...config, start: "eager" } });
    await call("echo", { text: "x" });
    await until(() => loader.status().s.status === "idle", "it is idle");
    await untilDead(starts.all());
    assert.equal((await call("echo", { text: "again" })).data[0].text, "again");
    assert.equal(starts.pids("server").length, 2);
  });

  it("idle does not stop a server that works on a call", async (t) => {
    const { load, starts, config } = lazy(t, [], { idle: 100 });
    const { call } = await load({ s: { ...config, start: "eager" } });
    await call("wait", { steps: 1, pause: 1_000 });
    await call("echo", { text: "x" });
    assert.equal(starts.pids("server").length, 1);
  });

  it("idle ends a session over HTTP, and the next call begins another", async (t) => {
    const server = await startHTTPServer(t);
    const { load } = lazy(t);
    const { loader, call } = await load({ s: { url: server.url, idle: 100 } });
    await until(() => loader.status().s.status === "idle", "it is idle");
    await until(() => server.sessions.size === 0, "the session has ended");
    assert.equal((await call("echo", { text: "x" })).data[0].text, "x");
  });
});
