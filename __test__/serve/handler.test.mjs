// A registry as a function from requests to answers, alone and in the servers of others.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, describe, it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { createHandler, toNodeListener } from "@alkdev/operations/serve";
import { serve as serveHono } from "@hono/node-server";
import { Type } from "@sinclair/typebox";
import express from "express";
import { Hono } from "hono";
import { runModule } from "../support/run-node.mjs";
import { deferred, operation, raw, subscription } from "./support.mjs";

const greet = operation({
  name: "greet",
  namespace: "demo",
  inputSchema: Type.Object({ name: Type.String() }),
  handler: ({ name }) => ({ text: `Hello ${name}` }),
});

// A handler alone keeps no process alive.
const alive = setInterval(() => {}, 1000);
after(() => clearInterval(alive));

function handling(operations, options = {}) {
  const registry = new OperationRegistry();
  registry.registerAll(operations);
  const handler = createHandler(registry, { doors: { http: true }, ...options });
  after(() => handler.close({ drain: 0 }));
  return handler;
}

const json = (input) => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(input),
});

describe("createHandler", () => {
  it("createHandler answers requests without a port", async () => {
    const { fetch } = handling([greet]);
    const response = await fetch(new Request("http://localhost/api/demo/greet", json({ name: "Ada" })));
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.deepEqual(await response.json(), { text: "Hello Ada" });
    const got = await fetch(new Request("http://localhost/api/demo/greet?name=Bob"));
    assert.deepEqual(await got.json(), { text: "Hello Bob" });
    assert.equal((await fetch(new Request("http://localhost/nowhere"))).status, 404);
    assert.equal((await fetch(new Request("http://evil.example/api/demo/greet?name=Bob"))).status, 403);
  });

  it("createHandler takes chunked bodies, up to the size limit", async () => {
    const size = operation({ name: "size", handler: (input) => input.length });
    const { fetch } = handling([size], { maxBodyBytes: 1_000_000 });
    const send = (pieces) => {
      let sent = 0;
      const body = new ReadableStream(
        {
          pull(controller) {
            if (sent === pieces + 2) return controller.close();
            controller.enqueue(
              Buffer.from(sent === 0 ? '"' : sent === pieces + 1 ? '"' : "x".repeat(10_000)),
            );
            sent += 1;
          },
        },
        { highWaterMark: 0 },
      );
      const headers = { "content-type": "application/json" };
      const request = new Request("http://localhost/api/test/size", {
        method: "POST",
        headers,
        body,
        duplex: "half",
      });
      return fetch(request).then((response) => ({ response, sent: () => sent }));
    };
    assert.equal(await (await send(90)).response.json(), 900_000);
    const { response, sent } = await send(100_000);
    assert.equal(response.status, 413, await response.clone().text());
    assert.ok(sent() < 200, `${sent()} pieces were read`);
  });

  it("createHandler gives a stream as fast as it is read", async () => {
    let made = 0;
    const ended = deferred();
    const numbers = subscription({
      name: "numbers",
      handler: async function* () {
        try {
          for (;;) yield made++;
        } finally {
          ended.resolve();
        }
      },
    });
    const { fetch } = handling([numbers]);
    const response = await fetch(new Request("http://localhost/api/test/numbers", json({})));
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    const reader = response.body.getReader();
    assert.equal(new TextDecoder().decode((await reader.read()).value), "id: 1\ndata: 0\n\n");
    // Whatever is in between holds so many events.
    for (let turns = 0; turns < 100; turns++) await new Promise(setImmediate);
    assert.ok(made < 1_000, `${made} were made`);
    await reader.cancel();
    await ended.promise;
  });

  it("createHandler aborts the call when its request is aborted", async () => {
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
    const { fetch } = handling([slow]);
    const controller = new AbortController();
    const request = new Request("http://localhost/api/test/slow", { ...json({}), signal: controller.signal });
    const answered = fetch(request);
    await started.promise;
    controller.abort();
    await assert.rejects(answered, { code: "ABORTED" });
    await aborted.promise;
    await assert.rejects(fetch(new Request(request.url, { signal: controller.signal })), { code: "ABORTED" });
  });

  it("createHandler says what is wrong with its options", () => {
    const registry = new OperationRegistry();
    for (const [options, message] of [
      [{}, "createHandler: doors must be an object, not undefined"],
      [
        { doors: { http: true }, port: 80 },
        "createHandler: port is an option of serve(), which opens a port",
      ],
    ]) {
      assert.throws(() => createHandler(registry, options), { code: "VALIDATION_ERROR", message });
    }
    assert.throws(() => createHandler({}, { doors: { http: true } }), /must be an OperationRegistry/);
  });

  it("createHandler takes no requests after close, and does not wait for those that were aborted", async () => {
    const handler = handling([greet]);
    const given = new Request("http://localhost/api/demo/greet?name=Ada", { signal: AbortSignal.abort() });
    await assert.rejects(handler.fetch(given), { code: "ABORTED" });
    // An hour of patience, of which nothing is needed.
    await handler.close({ drain: 3_600_000 });
    const late = await handler.fetch(new Request("http://localhost/api/demo/greet?name=Ada"));
    assert.equal(late.status, 503);
    assert.equal((await late.json()).details.reason, "closing");
  });

  it("createHandler answers when something else reads the body", async () => {
    const handler = handling([greet]);
    const request = new Request("http://localhost/api/demo/greet", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"name":"Ada"}',
    });
    request.body.getReader();
    assert.equal((await handler.fetch(request)).status, 400);
  });

  it("createHandler does not wait for a small body without limit", async () => {
    const handler = handling([greet], { requestTimeout: 50 });
    const never = new ReadableStream({ pull: () => new Promise(() => {}) });
    const request = new Request("http://localhost/api/demo/greet", {
      method: "POST",
      headers: { "content-type": "application/json", "content-length": "14" },
      body: never,
      duplex: "half",
    });
    assert.equal((await handler.fetch(request)).status, 408);
  });

  it("createHandler waits for running calls when it is closed, and keeps no process alive", async () => {
    const script = `
      import { OperationRegistry } from "@alkdev/operations";
      import { createHandler } from "@alkdev/operations/serve";
      import { Type } from "@sinclair/typebox";
      const registry = new OperationRegistry();
      registry.register({
        namespace: "t", name: "slow", version: "1", type: "query", description: "",
        inputSchema: Type.Unknown(), outputSchema: Type.Unknown(), accessControl: { requiredScopes: [] },
        handler: () => new Promise((resolve) => setTimeout(resolve, 50, "done")),
      });
      const handler = createHandler(registry, { doors: { http: true } });
      const answered = handler.fetch(new Request("http://localhost/api/t/slow", { method: "POST" })).then((response) => response.text());
      await handler.close();
      console.log(await answered);
    `;
    const { stdout, code, stderr } = await runModule(script);
    assert.equal(code, 0, stderr);
    assert.equal(stdout, '"done"\n');
  });
});

it("a stream that is not read keeps no process alive", async () => {
  const script = `
    import { FromSchema, OperationRegistry } from "@alkdev/operations";
    import { createHandler } from "@alkdev/operations/serve";
    const registry = new OperationRegistry();
    registry.register({
      namespace: "t", name: "endless", version: "1", type: "subscription", description: "", accessControl: { requiredScopes: [] },
      inputSchema: FromSchema({}), outputSchema: FromSchema({}),
      handler: async function* () { yield 1; await new Promise(() => {}); },
    });
    const { fetch } = createHandler(registry, { doors: { http: true } });
    const response = await fetch(new Request("http://localhost/api/t/endless", { method: "POST" }));
    console.log(response.status);
    globalThis.kept = response;
  `;
  const { stdout, code, stderr } = await runModule(script);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, "200\n");
});

describe("toNodeListener", () => {
  it("toNodeListener listens once for the end of a connection, however often its client is slow", async () => {
    const warnings = [];
    const onWarning = (warning) => warnings.push(warning.name);
    process.on("warning", onWarning);
    const large = subscription({
      name: "large",
      handler: async function* () {
        for (let n = 0; n < 40; n++) yield "x".repeat(200_000);
      },
    });
    const server = createServer(toNodeListener(handling([large])));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    after(() => server.close());
    const response = await fetch(`http://127.0.0.1:${server.address().port}/api/test/large`, {
      method: "POST",
    });
    let bytes = 0;
    for await (const piece of response.body) {
      bytes += piece.length;
      await new Promise(setImmediate);
    }
    process.off("warning", onWarning);
    assert.ok(bytes > 8_000_000);
    assert.deepEqual(warnings, []);
  });

  it("toNodeListener refuses paths that mean something else to a proxy before it", async () => {
    const server = createServer(toNodeListener(handling([greet])));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    after(() => server.close());
    const { port } = server.address();
    const status = async (path) => {
      const request = `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`;
      return (await raw(`http://127.0.0.1:${port}`, request)).split(" ")[1];
    };
    assert.equal(await status("/api/demo/greet?name=../x"), "200");
    for (const path of [
      "/api/./demo/greet",
      "/api/x/%2E%2e/demo/greet",
      "/api\\demo/greet",
      "//x/api/demo/greet",
    ]) {
      assert.equal(await status(`${path}?name=Ada`), "400", path);
    }
  });
});

/** The same requests, whoever has the server. */
function sameEverywhere(name, start) {
  describe(name, () => {
    it(`${name} serves calls, streams and errors`, async () => {
      const ended = deferred();
      const ticks = subscription({
        name: "ticks",
        handler: async function* () {
          try {
            for (let n = 0; ; n++) {
              yield n;
              await new Promise(setImmediate);
            }
          } finally {
            ended.resolve();
          }
        },
      });
      const big = operation({ name: "big", handler: (input) => input });
      const url = await start(handling([greet, ticks, big]));
      const greeted = await fetch(`${url}/api/demo/greet`, json({ name: "Ada" }));
      assert.deepEqual(await greeted.json(), { text: "Hello Ada" });
      assert.equal((await fetch(`${url}/api/demo/greet?nam=x`)).status, 400);
      const text = "é".repeat(500_000);
      const same = await (await fetch(`${url}/api/test/big`, json(text))).json();
      // Not by assert.equal, which would print it.
      assert.ok(same === text, JSON.stringify(same).slice(0, 200));
      const stream = await fetch(`${url}/api/test/ticks`, json({}));
      const reader = stream.body.getReader();
      assert.match(new TextDecoder().decode((await reader.read()).value), /^id: 1\ndata: 0\n\n/);
      await reader.cancel();
      await ended.promise;
    });
  });
}

const listening = async (server) => {
  await new Promise((resolve) => (server.listening ? resolve() : server.once("listening", resolve)));
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${server.address().port}`;
};

sameEverywhere("node:http", (handler) =>
  listening(createServer(toNodeListener(handler)).listen(0, "127.0.0.1")),
);

sameEverywhere("Hono", (handler) => {
  const app = new Hono();
  app.all("/api/*", (context) => handler.fetch(context.req.raw));
  return listening(serveHono({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }));
});

sameEverywhere("Express", (handler) => {
  const app = express();
  app.use("/api", toNodeListener(handler));
  return listening(app.listen(0, "127.0.0.1"));
});

sameEverywhere("Express behind a body parser", (handler) => {
  const app = express();
  app.use(express.json({ limit: "4mb", strict: false }));
  app.use("/api", toNodeListener(handler));
  return listening(app.listen(0, "127.0.0.1"));
});
