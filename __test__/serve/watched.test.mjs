// Calls that are done without JavaScript are told to those who look on, as JavaScript would have told them.

import assert from "node:assert/strict";
import { subscribe as listen, unsubscribe } from "node:diagnostics_channel";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createMCPClient, FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { answers, documentOf, sendJson, serve as upstream } from "../http/support.mjs";
import { runModule } from "../support/run-node.mjs";
import { deferred, operation, post, serving } from "./support.mjs";

const parameters = [{ in: "path", name: "id", required: true, schema: { type: "string" } }];
const paths = {
  "/items/{id}": { get: { operationId: "item", parameters, responses: answers() } },
  "/closed/{id}": { get: { operationId: "closed", parameters, responses: answers() } },
  "/events": { get: { operationId: "events", responses: answers("text/event-stream") } },
};

const api = await upstream((request, response) => {
  if (request.url === "/items/missing") return sendJson(response, { why: "gone" }, 404);
  if (request.url !== "/events") return sendJson(response, { id: 1 });
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end("data: 1\n\ndata: 2\n\n");
  return undefined;
});

const tools = new OperationRegistry();
tools.registerAll([
  operation({ namespace: "far", name: "works", handler: () => ({ done: true }) }),
  operation({
    namespace: "far",
    name: "fails",
    handler: () => {
      throw new Error("no");
    },
  }),
]);
const far = await serve(tools, { doors: { mcp: true } });
after(() => far.close({ drain: 0 }));

async function imported() {
  const client = await createMCPClient("mcp", { url: `${far.url}/mcp` });
  after(() => client.close());
  const operations = FromOpenAPI(documentOf(paths), { namespace: "api", baseUrl: api.url });
  const guarded = operations.map((each) =>
    each.name === "closed" ? { ...each, accessControl: { requiredScopes: ["read"] } } : each,
  );
  return [...guarded, ...client.tools];
}

const identities = { ada: { id: "ada", scopes: ["read"] }, eve: { id: "eve", scopes: [] } };
const options = { tokens: identities, anonymous: true };
const by = (name) => ({ headers: { authorization: `Bearer ${name}` } });

/** Requests of every kind, one after the other. */
async function call({ post: ask }) {
  for (const [path, input, more] of [
    ["api/item", { id: "a" }, by("ada")],
    ["api/item", { id: "missing" }],
    ["api/item", { id: 1 }],
    ["api/closed", { id: "a" }, by("ada")],
    ["api/closed", { id: "a" }, by("eve")],
    ["api/closed", { id: "a" }],
    ["api/events", {}],
    ["mcp/far_works", {}],
    ["mcp/far_fails", {}],
  ]) {
    const response = await ask(path, input, more);
    await response.text();
  }
}

/** What is told in the course of some work, by each of those who look on. */
async function told(registry, work) {
  const [calls, decisions, denied, channel] = [[], [], [], []];
  // The tools' own server is in this process too.
  const onMessage = (report) => void (report.operationId.startsWith("far.") || channel.push(report));
  listen("operations:call", onMessage);
  const stops = [
    registry.on("call", (report) => void calls.push(report)),
    registry.audit((report) => void decisions.push(report)),
    registry.on("denied", (report) => void denied.push(report)),
  ];
  await work();
  for (const stop of stops) stop();
  unsubscribe("operations:call", onMessage);
  return { calls, decisions, denied, channel };
}

/** Without what differs from call to call. */
const steady = (reports) =>
  reports.map(({ startedAt, duration, at, requestId, isNative, error, ...rest }) => {
    assert.ok((at ?? startedAt) > Date.now() - 600_000 && (at ?? startedAt) <= Date.now());
    assert.ok(at !== undefined || duration >= 0);
    assert.equal(typeof requestId, "string");
    const { code, message, details } = error ?? {};
    const { headers, ...others } = details ?? {};
    return { ...rest, error: error && { code, message, details: others } };
  });

describe("a call that is done without JavaScript", () => {
  it("a native call is reported to listeners, auditors and the diagnostics channel like one in JavaScript", async () => {
    const natively = await serving(await imported(), options);
    const inJavaScript = await serving(await imported(), options);
    inJavaScript.registry.use((_, next) => next());
    const native = await told(natively.registry, () => call(natively));
    const script = await told(inJavaScript.registry, () => call(inJavaScript));
    for (const name of ["calls", "decisions", "denied", "channel"]) {
      assert.ok(
        native[name].every(({ isNative, isServed }) => isNative && isServed),
        name,
      );
      assert.ok(
        script[name].every(({ isNative, isServed }) => !isNative && isServed),
        name,
      );
      assert.deepEqual(steady(native[name]), steady(script[name]), name);
    }
    assert.deepEqual(
      native.calls.map(({ operationId, code, source, events }) => [operationId, code, source, events]),
      [
        ["api.item", undefined, "http", undefined],
        ["api.item", "EXECUTION_ERROR", undefined, undefined],
        ["api.item", "VALIDATION_ERROR", undefined, undefined],
        ["api.closed", undefined, "http", undefined],
        ["api.closed", "ACCESS_DENIED", undefined, undefined],
        ["api.closed", "ACCESS_DENIED", undefined, undefined],
        ["api.events", undefined, "http", 2],
        ["mcp.far_works", undefined, "mcp", undefined],
        ["mcp.far_fails", "TOOL_ERROR", "mcp", undefined],
      ],
    );
    assert.deepEqual(
      native.decisions.filter(({ operationId }) => operationId === "api.closed").map(({ rule }) => rule),
      ["requiredScopes", "requiredScopes", "identity"],
    );
    assert.equal(native.decisions.length, 9);
    assert.equal(native.denied.length, 2);
    assert.equal(natively.registry.stats().unreported, 0);
  });

  it("a native call is not reported to listeners that were removed, and does not wake JavaScript", async () => {
    const served = await serving(await imported(), options);
    const reports = [];
    const stop = served.registry.on("call", (report) => void reports.push(report));
    await served.post("api/item", { id: "a" });
    stop();
    assert.equal(reports.length, 1);
    await served.post("api/item", { id: "a" });
    await served.close({ drain: 0 });
    assert.equal(reports.length, 1);
  });

  it("a native stream is reported once its client has left, and not as an error", async () => {
    const endless = await upstream((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n");
    });
    const served = await serving(FromOpenAPI(documentOf(paths), { namespace: "api", baseUrl: endless.url }));
    const report = deferred();
    served.registry.on("call", report.resolve);
    const controller = new AbortController();
    const response = await served.post("api/events", {}, { signal: controller.signal });
    await response.body.getReader().read();
    controller.abort();
    const { outcome, kind, events, isNative } = await report.promise;
    assert.deepEqual([outcome, kind, events, isNative], ["ok", "subscription", 1, true]);
  });

  it("a native call during a busy JavaScript thread is reported when that is free or ends", async () => {
    const folder = mkdtempSync(join(tmpdir(), "operations-"));
    const release = join(folder, "release");
    // In a process of its own, whose JavaScript stands still until it finds a file, and then ends without another turn.
    const script = `
      import { existsSync, writeSync } from "node:fs";
      import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
      import { serve } from "@alkdev/operations/serve";
      const registry = new OperationRegistry();
      registry.registerAll(FromOpenAPI(${JSON.stringify(documentOf(paths))}, { namespace: "api", baseUrl: "${api.url}" }));
      const counts = { call: 0, audit: 0 };
      registry.on("call", ({ isNative }) => { counts.call += Number(isNative); });
      registry.audit(({ isNative }) => { counts.audit += Number(isNative); });
      process.on("exit", () => writeSync(1, JSON.stringify(counts)));
      const served = await serve(registry, { doors: { http: true } });
      process.on("exit", () => writeSync(1, JSON.stringify(counts)));
      writeSync(1, served.url + "\\n");
      while (!existsSync(${JSON.stringify(release)}));
      process.exit(0);
    `;
    const url = deferred();
    const ended = runModule(script, { onOutput: (text) => text.endsWith("\n") && url.resolve(text.trim()) });
    try {
      const address = await Promise.race([url.promise, ended.then(({ stderr }) => assert.fail(stderr))]);
      for (let i = 0; i < 20; i++) {
        const response = await post(`${address}/api/api/item`, { id: "a" });
        assert.equal(response.status, 200);
        await response.text();
      }
      writeFileSync(release, "");
      const { stdout } = await ended;
      assert.match(stdout, /\{"call":20,"audit":20\}$/);
    } finally {
      writeFileSync(release, "");
      await ended;
      rmSync(folder, { recursive: true });
    }
  });
});
