// Several servers at once.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, MCPClientLoader, OperationRegistry } from "@alkdev/operations";
import { defer } from "./support/defer.mjs";
import { startHTTPServer } from "./support/http-server.mjs";
import { startsFile, temporaryFolder, until, untilDead } from "./support/processes.mjs";
import { failure, stdio } from "./support/servers.mjs";

function newLoader(test) {
  const loader = new MCPClientLoader();
  defer(test, () => loader.closeAll());
  return loader;
}

/** As users write it in their files. */
const reference = (name) => `$\{env:${name}}`;

describe("load", () => {
  it("load connects to all servers, and finds them by name", async (t) => {
    const loader = newLoader(t);
    const { url } = await startHTTPServer(t);
    const wrappers = await loader.load({ one: stdio(), two: stdio(), three: { url } });
    assert.deepEqual(wrappers.map(({ name }) => name).sort(), ["one", "three", "two"]);
    assert.equal(loader.getClient("one").name, "one");
    assert.equal(loader.getClient("nobody"), undefined);
    assert.deepEqual(
      loader
        .getAllWrappers()
        .map(({ name }) => name)
        .sort(),
      ["one", "three", "two"],
    );
    const operations = loader.getAllOperations();
    assert.equal(
      operations.length,
      wrappers.reduce((sum, { tools }) => sum + tools.length, 0),
    );
    const registry = new OperationRegistry();
    loader.registerAll(registry);
    for (const name of ["one", "two", "three"]) {
      const envelope = await registry.execute(`${name}.echo`, { text: name }, {});
      assert.equal(envelope.data[0].text, name);
    }
  });

  it("load does not wait for one server before it starts the next", async (t) => {
    // Each of the three answers only when all three have been started.
    const meeting = startsFile(t);
    const config = stdio(["waits-for-three"], { env: { STARTS_FILE: meeting.path } });
    const wrappers = await newLoader(t).load({ one: config, two: config, three: config });
    assert.equal(wrappers.length, 3);
  });

  it("load recognises a misspelt mcpServers", async (t) => {
    const error = await failure(newLoader(t).load({ mcpServer: { one: stdio() } }));
    assert.equal(error.code, "VALIDATION_ERROR");
    assert.match(
      error.message,
      /mcpServer is not a server, but has servers in it\. Did you mean mcpServers\?/,
    );
    // A server may have such a name.
    const [{ name }] = await newLoader(t).load({ mcpServer: stdio() });
    assert.equal(name, "mcpServer");
  });

  it("load accepts the shape of an mcpServers file, and twice", async (t) => {
    const loader = newLoader(t);
    const { command, args } = stdio();
    await loader.load({ mcpServers: { one: { command, args, type: "stdio" } } });
    assert.ok(loader.getClient("one"));
    await loader.load({ two: { command, args } });
    assert.deepEqual(
      loader
        .getAllWrappers()
        .map(({ name }) => name)
        .sort(),
      ["one", "two"],
    );
  });

  it("load leaves out servers that are disabled", async (t) => {
    const loader = newLoader(t);
    await loader.load({ one: stdio(), two: stdio(["crash"], { disabled: true }) });
    assert.deepEqual(
      loader.getAllWrappers().map(({ name }) => name),
      ["one"],
    );
  });

  it("load expands references to the environment", async (t) => {
    process.env.OPERATIONS_TEST_TOKEN = "from-outside";
    t.after(() => delete process.env.OPERATIONS_TEST_TOKEN);
    const loader = newLoader(t);
    const http = await startHTTPServer(t, { requires: { "X-Token": "Bearer from-outside" } });
    await loader.load({
      one: stdio([], { env: { TOKEN: `<${reference("OPERATIONS_TEST_TOKEN")}>` } }),
      two: { url: http.url, headers: { "X-Token": `Bearer ${reference("OPERATIONS_TEST_TOKEN")}` } },
    });
    const registry = new OperationRegistry();
    loader.registerAll(registry);
    const { data } = await registry.execute("one.about-me", {}, {});
    assert.equal(JSON.parse(data[0].text).env.TOKEN, "<from-outside>");
  });

  it("load says which reference is unset, and to which server it belongs", async (t) => {
    const loader = newLoader(t);
    const error = await failure(
      loader.load({ one: stdio([], { env: { TOKEN: reference("NO_SUCH_VARIABLE") } }) }),
    );
    assert.match(error.message, /NO_SUCH_VARIABLE/);
    assert.match(error.message, /one/);
  });
});

describe("servers that fail", () => {
  const servers = () => ({
    good: stdio(),
    broken: stdio(["crash"]),
    missing: { command: "no-such-program-at-all" },
    empty: {},
  });

  it("servers that fail to load are named with their reasons, and the rest are usable", async (t) => {
    const loader = newLoader(t);
    const error = await failure(loader.load(servers()));
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "EXECUTION_ERROR");
    for (const text of [
      /broken/,
      /cannot open the database/,
      /missing/,
      /no-such-program-at-all/,
      /empty/,
      /must have either 'url' or 'command'/,
    ]) {
      assert.match(error.message, text);
    }
    assert.deepEqual(error.details.failures.map(({ name }) => name).sort(), ["broken", "empty", "missing"]);
    assert.ok(loader.getClient("good"));
    assert.equal(loader.getClient("broken"), undefined);
    const registry = new OperationRegistry();
    loader.registerAll(registry);
    assert.equal((await registry.execute("good.echo", { text: "hello" }, {})).data[0].text, "hello");
  });

  it("servers that fail to load are reported with { partial: true }", async (t) => {
    const loader = newLoader(t);
    const { wrappers, failures } = await loader.load(servers(), { partial: true });
    assert.deepEqual(
      wrappers.map(({ name }) => name),
      ["good"],
    );
    assert.deepEqual(failures.map(({ name }) => name).sort(), ["broken", "empty", "missing"]);
    for (const { error } of failures) assert.ok(error instanceof CallError);
  });

  it("servers that failed can be loaded again", async (t) => {
    const loader = newLoader(t);
    await failure(loader.load({ one: stdio(["crash"]) }));
    await loader.load({ one: stdio() });
    assert.ok(loader.getClient("one"));
  });

  it("servers that failed leave nothing behind after closeAll", async (t) => {
    const starts = startsFile(t);
    const env = { STARTS_FILE: starts.path };
    const loader = new MCPClientLoader();
    await loader.load(
      { a: stdio(["family"], { env }), b: stdio(["refuses", "stubborn"], { env }) },
      { partial: true },
    );
    await starts.family();
    await loader.closeAll();
    await untilDead(starts.all());
    assert.deepEqual(loader.getAllWrappers(), []);
    await loader.closeAll();
  });
});

describe("loading a name again", () => {
  it("loading a name again replaces the client and ends the old one", async (t) => {
    const starts = startsFile(t);
    const loader = newLoader(t);
    const config = stdio([], { env: { STARTS_FILE: starts.path } });
    const [old] = await loader.load({ one: config });
    const [pid] = starts.pids("server");
    await loader.load({ one: config });
    assert.notEqual(loader.getClient("one"), old);
    assert.equal(loader.getAllWrappers().length, 1);
    await untilDead([pid]);
  });
});

describe("getStatus", () => {
  it("getStatus returns state, tools, last error and last output of each server", async (t) => {
    const loader = newLoader(t);
    const marker = `${temporaryFolder(t)}/marker`;
    await loader.load(
      {
        good: stdio(["talks-on-stderr"]),
        broken: stdio(["crash"]),
        fragile: stdio([], { env: { MARKER: marker } }),
      },
      { partial: true },
    );
    const before = loader.getStatus();
    assert.deepEqual(Object.keys(before).sort(), ["broken", "fragile", "good"]);
    assert.equal(before.good.state, "connected");
    assert.equal(before.good.tools, loader.getClient("good").tools.length);
    await until(() => /the last word/.test(loader.getStatus().good.stderr), "the last words are there");
    assert.equal(before.broken.state, "failed");
    assert.equal(before.broken.tools, 0);
    assert.match(before.broken.lastError.message, /cannot open the database/);
    const registry = new OperationRegistry();
    loader.registerAll(registry);
    await failure(registry.execute("fragile.die", { words: "ouch" }, {}));
    await until(() => loader.getStatus().fragile.state === "lost", "the state says so");
    assert.match(loader.getStatus().fragile.stderr, /ouch/);
    await registry.execute("fragile.echo", { text: "hello" }, {});
    assert.equal(loader.getStatus().fragile.state, "connected");
    await loader.closeAll();
    assert.deepEqual(loader.getStatus(), {});
  });
});

describe("registerAll that keeps in step", () => {
  it("registerAll adds tools that appear later, and removes those that disappear", async (t) => {
    const loader = newLoader(t);
    await loader.load({ one: stdio() });
    const registry = new OperationRegistry();
    loader.registerAll(registry, { keepInStep: true });
    await registry.execute("one.learn", { name: "juggle" }, {});
    await until(() => registry.get("one.juggle") !== undefined, "the registry has the new tool");
    assert.equal((await registry.execute("one.juggle", {}, {})).data[0].text, "juggle works");
    await registry.execute("one.forget", { name: "juggle" }, {});
    await until(() => registry.get("one.juggle") === undefined, "the registry has lost it");
    assert.equal((await failure(registry.execute("one.juggle", {}, {}))).code, "OPERATION_NOT_FOUND");
  });

  it("registerAll follows servers that are loaded later", async (t) => {
    const loader = newLoader(t);
    const registry = new OperationRegistry();
    loader.registerAll(registry, { keepInStep: true });
    await loader.load({ late: stdio() });
    assert.equal((await registry.execute("late.echo", { text: "hello" }, {})).data[0].text, "hello");
  });

  it("registerAll stops following after closeAll", async (t) => {
    const loader = newLoader(t);
    await loader.load({ one: stdio() });
    const registry = new OperationRegistry();
    loader.registerAll(registry, { keepInStep: true });
    await loader.closeAll();
    const error = await failure(registry.execute("one.echo", { text: "hello" }, {}));
    assert.equal(error.code, "OPERATION_NOT_FOUND");
    assert.deepEqual(registry.list(), []);
  });
});
