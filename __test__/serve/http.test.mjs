// The HTTP door, as any client sees it.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { CallError, FromOpenAPI, httpEnvelope } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";
import { answers, documentOf, sendJson, serve as upstream } from "../http/support.mjs";
import { runModule } from "../support/run-node.mjs";
import { deferred, operation, post, raw, serving, subscription } from "./support.mjs";

const greet = operation({
  name: "greet",
  namespace: "demo",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.Object({ text: Type.String() }),
  handler: ({ name }) => ({ text: `Hello ${name}`, extra: 1 }),
});

describe("a local operation", () => {
  it("a local operation takes its input as JSON and gives its data as JSON", async () => {
    const { post } = await serving([greet]);
    const response = await post("demo/greet", { name: "Ada" });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.deepEqual(await response.json(), { text: "Hello Ada" });
  });

  it("a local operation returns its envelope to clients that accept it", async () => {
    const { post } = await serving([greet]);
    const accept = "application/vnd.alkdev.envelope+json";
    const response = await post("demo/greet", { name: "Ada" }, { headers: { accept } });
    assert.equal(response.headers.get("content-type"), accept);
    const { data, meta } = await response.json();
    assert.deepEqual(data, { text: "Hello Ada" });
    assert.equal(meta.operationId, "demo.greet");
  });

  it("a local operation gets the caller's identity, and no trust", async () => {
    const seen = deferred();
    const look = operation({ name: "look", handler: (_, context) => void seen.resolve(context) });
    const { post } = await serving([look]);
    const headers = {
      authorization: "Bearer secret",
      "accept-language": "de",
      "x-forwarded-user": "root",
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    };
    const response = await post("test/look", { trusted: true }, { headers });
    assert.equal(response.status, 204);
    const context = await seen.promise;
    assert.equal(context.requestId, "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331");
    assert.equal(response.headers.get("x-request-id"), context.requestId);
    assert.equal(context.identity, undefined);
    assert.equal(context.trusted, undefined);
    assert.equal(context.metadata.headers["accept-language"], "de");
    assert.equal(context.metadata.headers.authorization, undefined);
    assert.ok(context.deadline > Date.now() && context.deadline <= Date.now() + 61_000);
    assert.equal(typeof context.env.test.look, "function");
  });

  it("a local operation sends binary data as it is", async () => {
    const bytes = operation({ name: "bytes", handler: () => new Uint8Array([0, 255, 7]) });
    const png = operation({
      name: "png",
      handler: () =>
        httpEnvelope(new Uint8Array([1]).buffer, {
          statusCode: 200,
          headers: { "set-cookie": "a=b" },
          contentType: "image/png",
        }),
    });
    const { post } = await serving([bytes, png]);
    const response = await post("test/bytes");
    assert.equal(response.headers.get("content-type"), "application/octet-stream");
    assert.deepEqual([...new Uint8Array(await response.arrayBuffer())], [0, 255, 7]);
    const image = await post("test/png");
    assert.equal(image.headers.get("content-type"), "image/png");
    assert.equal(image.headers.get("set-cookie"), null);
  });

  const failing = (error) =>
    operation({
      name: "failing",
      errorSchemas: [
        { code: "NO_TASK", httpStatus: 404 },
        { code: "LATER" },
        { code: "ODD", httpStatus: 12 },
      ],
      handler: () => {
        throw error;
      },
    });
  for (const [what, error, status, code, detail] of [
    ["an Error", new Error("broken"), 500, "EXECUTION_ERROR", "The operation failed"],
    ["something else", 7, 500, "UNKNOWN_ERROR", "The operation failed"],
    ["a declared error", new Error("NO_TASK: 7"), 404, "NO_TASK", "NO_TASK: 7"],
    ["one without a status", new CallError("LATER", "not now"), 500, "LATER", "not now"],
    ["one with an odd status", new CallError("ODD", "odd"), 500, "ODD", "odd"],
    [
      "an upstream failure",
      new CallError("EXECUTION_ERROR", "HTTP 401", { delivery: "done" }),
      502,
      "EXECUTION_ERROR",
      "HTTP 401",
    ],
  ]) {
    it(`a local operation that throws ${what} is answered with ${status}`, async () => {
      const { post } = await serving([failing(error)]);
      const response = await post("test/failing");
      assert.equal(response.status, status);
      assert.equal(response.headers.get("content-type"), "application/problem+json");
      const problem = await response.json();
      assert.equal(problem.code, code);
      assert.equal(problem.detail, detail);
      assert.equal(problem.mayHaveRun, true);
      assert.equal(problem.requestId, response.headers.get("x-request-id"));
    });
  }

  it("a local operation refuses input that does not fit its schema, with the paths", async () => {
    const { post } = await serving([greet]);
    const response = await post("demo/greet", { name: 7 });
    assert.equal(response.status, 400);
    const problem = await response.json();
    assert.equal(problem.code, "VALIDATION_ERROR");
    assert.deepEqual(problem.errors, [{ path: "/name", message: "Expected string" }]);
    assert.equal(problem.mayHaveRun, false);
  });

  it("a local operation is closed to callers without its scopes, and not found if it is internal or not served", async () => {
    const secret = operation({ name: "secret", accessControl: { requiredScopes: ["admin"] } });
    const internal = operation({ name: "internal", visibility: "internal" });
    const hidden = operation({ name: "hidden" });
    const { post, registry } = await serving([secret, internal, hidden, greet], {
      operations: ({ name }) => name !== "hidden" && name !== "late",
    });
    const denied = await post("test/secret");
    assert.equal(denied.status, 401);
    assert.equal(denied.headers.get("www-authenticate"), "Bearer");
    assert.equal((await denied.json()).mayHaveRun, false);
    for (const name of ["internal", "hidden", "nowhere"])
      assert.equal((await post(`test/${name}`)).status, 404);
    registry.register(operation({ name: "late" }));
    registry.register(operation({ name: "later" }));
    assert.equal((await post("test/late")).status, 404);
    assert.equal((await post("test/later")).status, 204);
  });

  it("the operations filter runs again when an operation is replaced, before the new one can be called", async () => {
    const tagged = (tag) => operation({ name: "it", tags: [tag], handler: () => tag });
    const { post, registry } = await serving([tagged("public")], {
      operations: ({ tags }) => tags.includes("public"),
    });
    assert.equal((await post("test/it")).status, 200);
    registry.register(tagged("private"));
    assert.equal((await post("test/it")).status, 404);
    registry.register(tagged("public"));
    assert.equal((await post("test/it")).status, 200);
    registry.unregister("test.it");
    assert.equal((await post("test/it")).status, 404);
  });

  it("a local operation's signal is aborted when its client disconnects", async () => {
    const aborted = deferred();
    const started = deferred();
    const slow = operation({
      name: "slow",
      handler: (_, { signal }) => {
        signal.addEventListener("abort", () => aborted.resolve());
        started.resolve();
        return new Promise(() => {});
      },
    });
    const { post, stats } = await serving([slow]);
    const controller = new AbortController();
    const sent = post("test/slow", {}, { signal: controller.signal });
    await started.promise;
    assert.equal(stats().running, 1);
    controller.abort();
    await assert.rejects(sent);
    await aborted.promise;
    while (stats().running > 0) await setImmediate();
  });

  it("a local operation that takes too long is ended", async () => {
    const aborted = deferred();
    const slow = operation({
      name: "slow",
      handler: (_, { signal }) => {
        signal.addEventListener("abort", () => aborted.resolve());
        return new Promise(() => {});
      },
    });
    const { post } = await serving([slow], { timeout: 1_000 });
    const response = await post("test/slow");
    assert.equal(response.status, 504);
    assert.equal((await response.json()).code, "TIMEOUT");
    await aborted.promise;
  });
});

describe("a subscription", () => {
  it("a subscription over HTTP is an event stream, with an error at its end", async () => {
    const seen = deferred();
    const ticks = subscription({
      name: "ticks",
      handler: async function* (_, { metadata }) {
        seen.resolve(metadata.lastEventId);
        yield { n: 1 };
        yield "two";
        throw new CallError("GONE", "no more");
      },
    });
    const { post } = await serving([ticks]);
    const response = await post("test/ticks", {}, { headers: { "last-event-id": "6" } });
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    const [first, second, error] = (await response.text()).split("\n\n");
    assert.equal(first, 'id: 7\ndata: {"n":1}');
    assert.equal(second, 'id: 8\ndata: "two"');
    assert.match(error, /^event: error\ndata: \{.*"code":"GONE"/);
    assert.equal(await seen.promise, "6");
  });

  it("a subscription over HTTP accepts any Last-Event-ID", async () => {
    const one = subscription({
      name: "one",
      handler: async function* () {
        yield 1;
      },
    });
    const { post } = await serving([one]);
    const response = await post("test/one", {}, { headers: { "last-event-id": "18446744073709551615" } });
    assert.equal(await response.text(), "id: 0\ndata: 1\n\n");
  });

  it("a subscription over HTTP ends when its client disconnects, and its finally runs", async () => {
    const ended = deferred();
    const endless = subscription({
      name: "endless",
      handler: async function* () {
        try {
          for (let n = 0; ; n++) yield n;
        } finally {
          ended.resolve();
        }
      },
    });
    const { post } = await serving([endless]);
    const response = await post("test/endless");
    const reader = response.body.getReader();
    await reader.read();
    await reader.cancel();
    await ended.promise;
  });

  it("a subscription over HTTP ends when its server closes", async () => {
    const ended = deferred();
    const waiting = subscription({
      name: "waiting",
      handler: async function* (_, { signal }) {
        yield 1;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        ended.resolve();
      },
    });
    const { post, close } = await serving([waiting]);
    const response = await post("test/waiting");
    await close({ drain: 60_000 });
    assert.equal(await response.text(), "id: 1\ndata: 1\n\n");
    await ended.promise;
  });
});

describe("an imported operation", () => {
  const paths = {
    "/items/{id}": {
      get: {
        operationId: "item",
        parameters: [{ in: "path", name: "id", required: true, schema: { type: "string" } }],
        responses: answers(),
      },
    },
  };

  it("an imported operation is answered while JavaScript is busy", async () => {
    const api = await upstream((request, response) => {
      response.setHeader("etag", '"7"');
      response.setHeader("set-cookie", "a=b");
      sendJson(response, { url: request.url, n: 1.5 });
    });
    const folder = mkdtempSync(join(tmpdir(), "operations-"));
    const release = join(folder, "release");
    // In a process of its own, whose JavaScript stands still until it finds a file.
    const script = `
      import { existsSync, writeSync } from "node:fs";
      import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
      import { serve } from "@alkdev/operations/serve";
      const registry = new OperationRegistry();
      registry.registerAll(FromOpenAPI(${JSON.stringify(documentOf(paths))}, { namespace: "api", baseUrl: "${api.url}" }));
      const served = await serve(registry, { doors: { http: true } });
      writeSync(1, served.url + "\\n");
      while (!existsSync(${JSON.stringify(release)}));
      await served.close();
    `;
    const url = deferred();
    const ended = runModule(script, { onOutput: (text) => text.endsWith("\n") && url.resolve(text.trim()) });
    try {
      const address = await Promise.race([url.promise, ended.then(({ stderr }) => assert.fail(stderr))]);
      const response = await post(`${address}/api/api/item`, { id: "a b" });
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("etag"), '"7"');
      assert.equal(response.headers.get("set-cookie"), null);
      assert.equal(await response.text(), '{"url":"/items/a%20b","n":1.5}');
      writeFileSync(release, "");
      const { code, stderr } = await ended;
      assert.equal(code, 0, stderr);
    } finally {
      writeFileSync(release, "");
      await ended;
      rmSync(folder, { recursive: true });
    }
  });

  it("an imported operation passes through middleware, and is native without it", async () => {
    const api = await upstream((_, response) => sendJson(response, { url: "u", n: 1 }));
    const imported = FromOpenAPI(documentOf(paths), { namespace: "api", baseUrl: api.url });
    const { registry, post } = await serving(imported);
    const seen = [];
    const remove = registry.use((call, next) => {
      seen.push([call.operationId, call.isServed]);
      return next();
    });
    assert.equal((await post("api/item", { id: "a" })).status, 200);
    remove();
    assert.equal((await post("api/item", { id: "a" })).status, 200);
    assert.deepEqual(seen, [["api.item", true]]);
  });

  it("an imported operation forwards only the upstream headers that are allowed", async () => {
    const api = await upstream((request, response) => {
      response.setHeader("x-internal", "secret");
      response.setHeader("etag", '"7"');
      sendJson(response, {}, request.url.endsWith("bad") ? 500 : 200);
    });
    const { post } = await serving(FromOpenAPI(documentOf(paths), { namespace: "api", baseUrl: api.url }));
    const headers = { accept: "application/vnd.alkdev.envelope+json" };
    const { meta } = await (await post("api/item", { id: "good" }, { headers })).json();
    assert.deepEqual(meta.headers, { etag: '"7"' });
    const { details } = await (await post("api/item", { id: "bad" })).json();
    assert.equal(details.statusCode, 500);
    assert.deepEqual(details.headers, { etag: '"7"' });
    // Of an answer that is not as declared, its refusal says where it came from and no more.
    const schema = { type: "object", required: ["n"], properties: { n: { type: "string", pattern: "^x" } } };
    const declared = structuredClone(paths);
    declared["/items/{id}"].get.responses[200].content["application/json"].schema = schema;
    const config = { namespace: "strict", baseUrl: api.url, output: "strict" };
    const strict = await serving(FromOpenAPI(documentOf(declared), config));
    const refused = await (await strict.post("strict/item", { id: "good" })).json();
    assert.deepEqual(refused.details.envelope, { meta: { source: "http" } });
  });

  it("an imported operation does not show strangers the address of its server", async () => {
    const gone = createServer();
    await new Promise((resolve) => gone.listen(0, "127.0.0.1", resolve));
    const { port } = gone.address();
    await new Promise((resolve) => gone.close(resolve));
    const config = { namespace: "gone", baseUrl: `http://127.0.0.1:${port}` };
    for (const fetch of [undefined, globalThis.fetch]) {
      const { post } = await serving(FromOpenAPI(documentOf(paths), { ...config, ...(fetch && { fetch }) }));
      const response = await post("gone/item", { id: "x" });
      assert.equal(response.status, 502);
      const text = await response.text();
      assert.equal(JSON.parse(text).details.reason, "network");
      assert.ok(!text.includes("127.0.0.1") && !text.includes(String(port)), text);
    }
  });

  it("an upstream 401 is a bad gateway for the caller, not a 401", async () => {
    const api = await upstream((_, response) => {
      response.writeHead(401, { "www-authenticate": "Basic", "content-type": "application/json" });
      response.end("{}");
    });
    const { post } = await serving(FromOpenAPI(documentOf(paths), { namespace: "api", baseUrl: api.url }));
    const response = await post("api/item", { id: "1" });
    assert.equal(response.status, 502);
    assert.equal(response.headers.get("www-authenticate"), null);
    const problem = await response.json();
    assert.equal(problem.details.statusCode, 401);
    assert.equal(problem.mayHaveRun, true);
  });
});

describe("a server", () => {
  it("a server refuses foreign hosts and origins", async () => {
    const { url } = await serving([greet]);
    const { host } = new URL(url);
    const request = (headers) =>
      `POST /api/demo/greet HTTP/1.1\r\nconnection: close\r\ncontent-type: application/json\r\n${headers}\r\ncontent-length: 14\r\n\r\n{"name":"Ada"}`;
    assert.match(await raw(url, request(`host: ${host}`)), /^HTTP\/1\.1 200 /);
    assert.match(await raw(url, request("host: rebound.example")), /^HTTP\/1\.1 403 /);
    assert.match(
      await raw(url, request(`host: ${host}\r\norigin: https://evil.example`)),
      /^HTTP\/1\.1 403 /,
    );
  });

  it("a server takes bodies up to its size limit", async () => {
    const { post } = await serving([greet], { maxBodyBytes: 100 });
    assert.equal((await post("demo/greet", { name: "x".repeat(50) })).status, 200);
    assert.equal((await post("demo/greet", { name: "x".repeat(100) })).status, 413);
    // Node's own fetch may go on reading after it has failed, so there is an end once the outcome is known.
    let pieces = 10_000;
    const endless = new ReadableStream({
      pull: async (controller) => {
        await setImmediate();
        if (pieces-- > 0) controller.enqueue(new Uint8Array(1000));
        else controller.close();
      },
    });
    // The client may be cut off before it has read the answer.
    const outcome = await post("demo/greet", undefined, { body: endless, duplex: "half" }).then(
      ({ status }) => status,
      () => "cut off",
    );
    pieces = 0;
    assert.ok([413, "cut off"].includes(outcome), outcome);
  });

  it("a server disconnects clients that send nothing", async () => {
    const { url } = await serving([greet], { requestTimeout: 50 });
    assert.equal(await raw(url, ""), "");
    assert.doesNotMatch(await raw(url, "POST /api/demo/greet HTTP/1.1\r\nhost: loc"), / 200 /);
  });

  it("a server runs no more calls at a time than its limit", async () => {
    const release = deferred();
    const begun = deferred();
    const slow = operation({
      name: "slow",
      handler: () => {
        begun.resolve();
        return release.promise;
      },
    });
    const { post, stats } = await serving([slow, greet], { perOperation: 1, queue: 1 });
    const first = post("test/slow");
    await begun.promise;
    const second = post("test/slow");
    while (stats().waiting < 1) await setImmediate();
    const refused = await post("test/slow");
    assert.equal(refused.status, 503);
    assert.equal((await refused.json()).details.reason, "overloaded");
    assert.equal((await post("demo/greet", { name: "Ada" })).status, 200);
    release.resolve("done");
    for (const sent of [first, second]) assert.equal(await (await sent).json(), "done");
  });

  it("a server that closes finishes running calls first", async () => {
    const begun = deferred();
    const release = deferred();
    const slow = operation({
      name: "slow",
      handler: () => {
        begun.resolve();
        return release.promise;
      },
    });
    const served = await serving([slow]);
    const sent = served.post("test/slow");
    await begun.promise;
    const closed = served.close();
    release.resolve("done");
    assert.equal(await (await sent).json(), "done");
    await closed;
    await assert.rejects(post(`${served.url}/api/test/slow`));
    await served[Symbol.asyncDispose]();
  });

  it("a server keeps a process alive until it is closed, and no longer", async () => {
    const script = `
      import { OperationRegistry } from "@alkdev/operations";
      import { serve } from "@alkdev/operations/serve";
      const served = await serve(new OperationRegistry(), { doors: { http: true } });
      process.on("exit", () => console.log("exit"));
      setTimeout(async () => { await fetch(served.url); await served.close(); console.log("closed"); }, 50);
    `;
    const { stdout, code, stderr } = await runModule(script);
    assert.equal(code, 0, stderr);
    assert.equal(stdout, "closed\nexit\n");
  });

  it("a server says what is wrong with its options, and with its port", async () => {
    const { registry, url } = await serving([greet]);
    const port = Number(new URL(url).port);
    for (const [options, message] of [
      [{}, "serve: doors must be an object, not undefined"],
      [{ doors: {} }, "serve: doors must open at least one door, for instance { http: true }"],
      [{ doors: { http: false } }, "serve: doors must open at least one door, for instance { http: true }"],
      [
        { doors: { http: { path: "api/" } } },
        'serve: doors.http.path must be a path such as /api, without a slash at its end, not "api/"',
      ],
      [{ doors: { htp: true } }, "serve: doors.htp is not an option. Did you mean http?"],
      [
        { doors: { http: true }, port: 70_000 },
        "serve: port must be a whole number from 0 to 65535, not 70000",
      ],
      [
        { doors: { http: true }, responseHeaders: ["Set-Cookie"] },
        "serve: responseHeaders has Set-Cookie, which is never handed on",
      ],
    ]) {
      await assert.rejects(serve(registry, options), { code: "VALIDATION_ERROR", message });
    }
    await assert.rejects(serve({}, { doors: { http: true } }), /must be an OperationRegistry/);
    await assert.rejects(serve(registry, { doors: { http: true }, port }), (error) => {
      assert.equal(error.details.reason, "address-in-use");
      return error.code === "EXECUTION_ERROR";
    });
  });
});
