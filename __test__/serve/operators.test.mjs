// What the operator of a server learns of it: `/ready`, the access log, and warnings at its start.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createMCPClient, OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { configure, reset } from "@logtape/logtape";
import { eventually, hubOf, spokeOf } from "../hub/support.mjs";
import { startHTTPServer } from "../mcp/support/http-server.mjs";
import { runModule } from "../support/run-node.mjs";
import { failureOf } from "../support/waiting.mjs";
import { operation, serving } from "./support.mjs";

const open = operation({ name: "open", handler: () => "open" });
const tokens = { "ada-token": { id: "ada", scopes: [] } };
const ADA = { authorization: "Bearer ada-token" };

async function ready(url, headers = {}) {
  const response = await fetch(`${url}/ready`, { headers });
  return [response.status, await response.json()];
}

describe("/ready", () => {
  it("/ready is 200 while every source is usable, and 503 with the states of those that are not", async () => {
    const upstream = await serving([open], { doors: { mcp: true } });
    const client = await createMCPClient("files", { url: `${upstream.url}/mcp` });
    after(() => client.close());
    const { url } = await serving([...client.tools, open]);
    assert.deepEqual(await ready(url), [200, { status: "ready", sources: 1, unusable: [] }]);
    await client.close();
    const unusable = [{ kind: "mcp", name: "files", state: "closed" }];
    assert.deepEqual(await ready(url), [503, { status: "not-ready", sources: 1, unusable }]);
  });

  it("/ready is 200 while a server is stopped or idle, and 503 while it needs a login", async (t) => {
    let isOpen = true;
    const before = (_, response) => !isOpen && response.writeHead(401).end();
    const upstream = await startHTTPServer(t, { before });
    const lists = new Map();
    const toolCache = { get: (key) => lists.get(key), set: (key, list) => void lists.set(key, list) };
    const config = { url: upstream.url, start: "lazy", toolCache };
    const client = await createMCPClient("files", config);
    after(() => client.close());
    const { url } = await serving(client.tools);
    assert.equal(client.getStatus().state, "stopped");
    assert.equal((await ready(url))[0], 200);
    isOpen = false;
    await failureOf(client.client.callTool({ name: "echo", arguments: {} }));
    const unusable = [{ kind: "mcp", name: "files", state: "needs-auth" }];
    assert.deepEqual((await ready(url))[1].unusable, unusable);
  });

  it("/ready is 503 while the connection to a hub is lost", async () => {
    const hub = await hubOf([open]);
    const spoke = await spokeOf(hub.address, { token: "bob" });
    const { url } = await serving(await spoke.import({ namespace: "remote" }));
    assert.equal((await ready(url))[0], 200);
    await hub.served.close({ drain: 0 });
    await eventually(async () => (await ready(url))[0] === 503);
    const [, { unusable }] = await ready(url);
    assert.equal(unusable[0].kind, "hub");
  });

  it("/ready shows its status to everyone, and its details to callers with an identity", async () => {
    const { url } = await serving([open], { tokens });
    assert.deepEqual(await ready(url), [200, { status: "ready" }]);
    assert.deepEqual(await ready(url, { authorization: "Bearer wrong" }), [200, { status: "ready" }]);
    assert.deepEqual(await ready(url, ADA), [200, { status: "ready", sources: 0, unusable: [] }]);
  });

  it("/ready and /health are read with GET and HEAD, and refuse other methods", async () => {
    const { url } = await serving([open]);
    for (const path of ["/ready", "/health"]) {
      assert.equal((await fetch(`${url}${path}`, { method: "HEAD" })).status, 200);
      for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
        const response = await fetch(`${url}${path}`, { method });
        assert.deepEqual([response.status, response.headers.get("allow")], [405, "GET, HEAD"], method);
      }
    }
  });
});

describe("the access log", () => {
  it("the access log has one line for each request, without what clients send beside the path", async () => {
    const lines = [];
    await configure({
      sinks: { memory: (record) => lines.push(record) },
      loggers: [
        { category: ["operations", "requests"], sinks: ["memory"], lowestLevel: "info" },
        { category: ["logtape", "meta"], sinks: [] },
      ],
    });
    const { url } = await serving([open], { tokens, accessLog: true });
    const quiet = await serving([open]);
    await fetch(`${quiet.url}/health`);
    const answer = await fetch(`${url}/api/test/open?key=hunter2`, { headers: ADA });
    await answer.text();
    await fetch(`${url}/api/test/open`);
    await eventually(() => lines.length >= 2);
    const facts = lines.map(({ properties: { method, path, status, identityId } }) => [
      ...[method, path, status, identityId],
    ]);
    assert.deepEqual(facts, [
      ["GET", "/api/test/open", answer.status, "ada"],
      ["GET", "/api/test/open", 401, null],
    ]);
    assert.equal(lines[0].properties.requestId, answer.headers.get("x-request-id"));
    assert.doesNotMatch(JSON.stringify(lines), /hunter2|ada-token/);
    await reset();
  });
});

describe("a server that starts", () => {
  const OPEN = /Everyone who can reach 0\.0\.0\.0:\d+ may call every open operation/;
  const UNREACHABLE = /listens on 0\.0\.0\.0:\d+, but allowedHosts refuses/;

  /** The lines of the log about a server with these options. */
  async function warnings(options) {
    const lines = [];
    await configure({
      sinks: { memory: (record) => lines.push(record.message.join("")) },
      loggers: [
        { category: ["operations", "serve"], sinks: ["memory"], lowestLevel: "warning" },
        { category: ["logtape", "meta"], sinks: [] },
      ],
    });
    const registry = new OperationRegistry();
    const served = await serve(registry, { doors: { http: true }, ...options });
    await served.close({ drain: 0 });
    // Lines of native code arrive in their order: the last one is that of a server which always warns.
    const last = await serve(registry, { doors: { http: true }, host: "0.0.0.0", allowedHosts: ["last"] });
    await last.close({ drain: 0 });
    await eventually(() => lines.some((line) => OPEN.test(line)));
    await reset();
    return lines;
  }

  it("a server that starts warns of being open to the network, and of refusing its own address", async () => {
    const all = await warnings({ host: "0.0.0.0" });
    assert.equal(all.length, 3, all.join("\n"));
    assert.match(all[0], OPEN);
    assert.match(all[0], /Set tokens, jwt or identify, or anonymous: true/);
    assert.match(all[1], UNREACHABLE);
  });

  it("a server that starts does not warn of what its options ask for", async () => {
    for (const options of [
      {},
      { host: "0.0.0.0", allowedHosts: ["*"], tokens },
      { host: "0.0.0.0", allowedHosts: ["hub.example.com"], anonymous: true },
      { host: "::1" },
    ]) {
      const all = await warnings(options).catch((error) => {
        // Not every machine has IPv6.
        if (options.host === "::1") return ["no IPv6"];
        throw error;
      });
      assert.equal(all.length, 1, `${JSON.stringify(options)}: ${all.join("\n")}`);
    }
  });

  it("a server that starts warns with process.emitWarning while no log sink is configured", async () => {
    const { stderr } = await runModule(
      `import { OperationRegistry } from "@alkdev/operations";
       import { serve } from "@alkdev/operations/serve";
       const warned = [];
       process.on("warning", ({ name }) => warned.push(name));
       const served = await serve(new OperationRegistry(), { host: "0.0.0.0", doors: { http: true } });
       while (warned.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
       await served.close();`,
      { cwd: new URL(".", import.meta.url) },
    );
    assert.match(stderr, /OperationsWarning: Everyone who can reach/);
    assert.match(stderr, /OperationsWarning: The server listens on/);
  });
});
