// How servers are, for those who show it: status, events, and what can be done about it.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMCPClient, MCPClientLoader, OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { collectLog } from "../registry/support/warnings.mjs";
import { startAuthorizationServer, visit } from "./support/authorization-server.mjs";
import { defer } from "./support/defer.mjs";
import { startHTTPServer } from "./support/http-server.mjs";
import { startsFile, until, untilDead } from "./support/processes.mjs";
import { failure, stdio } from "./support/servers.mjs";

function newLoader(test) {
  const loader = new MCPClientLoader();
  defer(test, () => loader.closeAll());
  const events = [];
  loader.on("status", (event) => events.push(event));
  /** Waits for a status of a server. */
  const reached = (name, status) =>
    until(
      () => events.findLast((event) => event.name === name && event.status === status),
      `${name} ${status}`,
    );
  return { loader, events, reached };
}

describe("status", { timeout: 60_000 }, () => {
  it("/ready names a server whose load was rejected, and closeAll takes operations out of their registries", async (t) => {
    const { loader } = newLoader(t);
    const servers = { good: stdio("tools"), bad: { command: "/nowhere/such-a-server" } };
    await assert.rejects(loader.load(servers));
    const registry = new OperationRegistry();
    loader.registerAll(registry);
    assert.notEqual(registry.list().length, 0);
    const served = await serve(registry, { doors: { http: true }, tokens: { t: { id: "t", scopes: [] } } });
    defer(t, () => served.close({ drain: 0 }));
    const ready = () => fetch(`${served.url}/ready`, { headers: { authorization: "Bearer t" } });
    const before = await ready();
    assert.equal(before.status, 503);
    assert.match(await before.text(), /"bad".*failed|failed.*"bad"/);
    await loader.disable("bad");
    assert.equal((await ready()).status, 200);
    await loader.closeAll();
    assert.equal(registry.list().length, 0);
  });

  it("status tells servers that start, are connected, failed and disabled, as a value and as events", async (t) => {
    const { loader, events } = newLoader(t);
    const servers = { good: stdio(), bad: stdio(["crash"]), off: stdio([], { disabled: true }) };
    await loader.load(servers, { partial: true });
    const status = loader.status();
    assert.deepEqual(Object.fromEntries(Object.entries(status).map(([name, { status }]) => [name, status])), {
      good: "connected",
      bad: "failed",
      off: "disabled",
    });
    assert.match(status.bad.error.message, /cannot open the database/);
    const of = (wanted) => events.filter(({ name }) => name === wanted).map(({ status }) => status);
    assert.deepEqual(of("off"), ["disabled"]);
    assert.equal(of("good").at(-1), "connected");
    assert.equal(of("bad").at(-1), "failed");
  });

  it("status is failed for a server that died, until the next call starts it", async (t) => {
    const { loader, reached } = newLoader(t);
    await loader.load({ s: stdio() });
    const registry = new OperationRegistry();
    loader.registerAll(registry);
    assert.deepEqual(loader.getClient("s").getStatus(), loader.getClient("s").status());
    process.kill(loader.getClient("s").status().pid, "SIGKILL");
    await reached("s", "failed");
    assert.equal(loader.status().s.status, "failed");
    await registry.execute("s.echo", { text: "x" }, {});
    assert.equal(loader.status().s.status, "connected");
  });

  it("a listener that throws or is removed does no harm", async (t) => {
    const { loader, reached } = newLoader(t);
    loader.on("status", () => {
      throw new Error("no");
    });
    let heard = 0;
    loader.on("status", () => heard++)();
    await loader.load({ s: stdio() });
    await reached("s", "connected");
    assert.equal(heard, 0);
    assert.throws(() => loader.on("statuses", () => {}), /must be "status"/);
  });
});

describe("close", { timeout: 60_000 }, () => {
  const log = collectLog();

  it("a client that is closed while its server changes its tools logs no warning", async () => {
    // It is asked for its tools while it takes its time to end.
    const client = await createMCPClient("s", stdio(["restless", "ignores-end"]));
    await client.close();
    assert.deepEqual(
      log.filter(({ level }) => level === "warning").map(({ text }) => text),
      [],
    );
  });
});

describe("disable and enable", { timeout: 60_000 }, () => {
  it("disable ends the server and takes its operations out, and enable brings them back", async (t) => {
    const { loader, reached } = newLoader(t);
    const starts = startsFile(t);
    await loader.load({ s: stdio(["family"], { env: { STARTS_FILE: starts.path } }), other: stdio() });
    const plain = new OperationRegistry();
    const inStep = new OperationRegistry();
    loader.registerAll(plain);
    loader.registerAll(inStep, { keepInStep: true });
    await loader.disable("s");
    await untilDead(starts.all());
    assert.equal((await reached("s", "disabled")).error, undefined);
    for (const registry of [plain, inStep]) {
      assert.equal(registry.get("s.echo"), undefined);
      assert.ok(registry.get("other.echo"));
    }
    await loader.enable("s");
    for (const registry of [plain, inStep]) {
      assert.equal((await registry.execute("s.echo", { text: "back" }, {})).data[0].text, "back");
    }
  });

  it("rules that the program has set on an operation return with it", async (t) => {
    const { loader } = newLoader(t);
    await loader.load({ s: stdio() });
    const registry = new OperationRegistry();
    loader.registerAll(registry);
    registry.register({ ...registry.get("s.echo"), accessControl: { requiredScopes: ["talk"] } });
    await loader.disable("s");
    await loader.enable("s");
    assert.equal((await failure(registry.execute("s.echo", { text: "x" }, {}))).code, "ACCESS_DENIED");
  });

  it("a server that is disabled in the file can be enabled", async (t) => {
    const { loader } = newLoader(t);
    await loader.load({ s: stdio([], { disabled: true }) });
    const registry = new OperationRegistry();
    loader.registerAll(registry);
    await loader.enable("s");
    assert.ok(registry.get("s.echo"));
  });

  it("operations leave the lists that are served to others, and return", async (t) => {
    const { loader } = newLoader(t);
    await loader.load({ s: stdio() });
    const registry = new OperationRegistry();
    loader.registerAll(registry);
    const served = await serve(registry, { doors: { mcp: { name: "hub", version: "1" } } });
    defer(t, () => served.close());
    const client = await createMCPClient("hub", { url: `${served.url}/mcp` });
    defer(t, () => client.close());
    const has = (tool) => client.tools.some(({ name }) => name.endsWith(tool));
    assert.ok(has("echo"));
    await loader.disable("s");
    await until(() => !has("echo"), "the tool is gone there");
    await loader.enable("s");
    await until(() => has("echo"), "the tool is back there");
  });

  it("an unknown or disabled server is refused by name", async (t) => {
    const { loader } = newLoader(t);
    await loader.load({ search: stdio([], { disabled: true }) });
    assert.match(
      (await failure(loader.disable("serach"))).message,
      /no MCP server 'serach'. Did you mean 'search'/,
    );
    assert.match((await failure(loader.restart("search"))).message, /is disabled/);
  });
});

describe("restart", { timeout: 60_000 }, () => {
  it("restart ends the process and starts another; a server that could not be loaded is loaded", async (t) => {
    const { loader } = newLoader(t);
    const starts = startsFile(t);
    await loader.load({ s: stdio([], { env: { STARTS_FILE: starts.path } }) });
    const registry = new OperationRegistry();
    loader.registerAll(registry);
    const [first] = starts.pids("server");
    await loader.restart("s");
    await untilDead([first]);
    assert.equal((await registry.execute("s.echo", { text: "x" }, {})).data[0].text, "x");
    assert.equal(starts.pids("server").length, 2);
    const config = stdio(["crash"]);
    await loader.load({ late: config }, { partial: true });
    assert.equal((await failure(loader.restart("late"))).code, "EXECUTION_ERROR");
    assert.equal(loader.status().late.status, "failed");
  });
});

describe("authorize", { timeout: 60_000 }, () => {
  async function guarded(test, options) {
    const authorization = await startAuthorizationServer(test, options);
    return startHTTPServer(test, { before: authorization.guard });
  }

  it("a server that wants a login is needs-auth with its scopes, and authorize tells the page to visit", async (t) => {
    const server = await guarded(t);
    const { loader, events, reached } = newLoader(t);
    for (const oauth of [undefined, {}]) {
      events.length = 0;
      const name = oauth === undefined ? "plain" : "oauth";
      await loader.load({ [name]: { url: server.url, ...(oauth && { oauth }) } }, { partial: true });
      const { status, scopes, error } = loader.status()[name];
      assert.deepEqual([status, scopes], ["needs-auth", ["tools"]]);
      assert.match(error.message, /oauth/);
      const registry = new OperationRegistry();
      loader.registerAll(registry, { keepInStep: true });
      events.length = 0;
      const authorized = loader.authorize(name);
      const { url } = await until(() => events.find(({ url }) => url !== undefined), "there is a page");
      // What a browser does.
      await fetch(await visit({ url }));
      await authorized;
      assert.equal((await reached(name, "connected")).url, undefined);
      assert.equal((await registry.execute(`${name}.echo`, { text: "in" }, {})).data[0].text, "in");
    }
  });

  it("an authorization server that registers no clients makes it needs-registration, with its address", async (t) => {
    const server = await guarded(t, { metadata: { registration_endpoint: undefined } });
    const { loader } = newLoader(t);
    const oauth = { onAuthorize: visit };
    await loader.load({ s: { url: server.url, oauth } }, { partial: true });
    const { status, url } = loader.status().s;
    assert.equal(status, "needs-registration");
    assert.match(url, /^http:\/\/127\.0\.0\.1:/);
  });

  it("a login that fails is needs-auth", async (t) => {
    const server = await guarded(t);
    const { loader } = newLoader(t);
    const onAuthorize = () => {
      throw new Error("no browser here");
    };
    await loader.load({ s: { url: server.url, oauth: { onAuthorize } } }, { partial: true });
    assert.equal(loader.status().s.status, "needs-auth");
  });

  it("a token that is refused during a call is needs-auth, and a call that works ends that", async (t) => {
    let isOpen = true;
    const server = await startHTTPServer(t, {
      before: (_, response) => {
        if (!isOpen) response.writeHead(401, { "WWW-Authenticate": 'Bearer scope="more"' }).end();
        return !isOpen;
      },
    });
    const { loader, reached } = newLoader(t);
    await loader.load({ s: { url: server.url } });
    const registry = new OperationRegistry();
    loader.registerAll(registry);
    isOpen = false;
    await failure(registry.execute("s.echo", { text: "x" }, {}));
    assert.deepEqual((await reached("s", "needs-auth")).scopes, ["more"]);
    isOpen = true;
    await registry.execute("s.echo", { text: "x" }, {});
    await until(() => loader.status().s.status === "connected", "it is connected");
  });

  it("a server that runs locally has no authorization server", async (t) => {
    const { loader } = newLoader(t);
    await loader.load({ s: stdio() });
    assert.match((await failure(loader.authorize("s"))).message, /runs locally/);
  });
});
