// What requests mean for the process: it lives while somebody waits, and no longer.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runModule } from "../support/run-node.mjs";
import { onlyOn } from "../support/skips.mjs";
import { echo, sendJson, serve } from "./support.mjs";

const prologue = (url, config = {}) => `
  import { FromOpenAPI } from "@alkdev/operations";
  const content = { "application/json": {} };
  const paths = {
    "/": { get: { operationId: "call", responses: { 200: { description: "", content } } } },
    "/stream": { get: { operationId: "stream", responses: { 200: { description: "", content: { "text/event-stream": {} } } } } },
  };
  const document = { openapi: "3.1.0", info: { title: "t", version: "1" }, paths };
  const [call, stream] = FromOpenAPI(document, ${JSON.stringify({ namespace: "t", baseUrl: url, ...config })}).map(({ handler }) => handler);`;
const silent = { code: 0, signal: null, stdout: "", stderr: "" };

describe("a process", () => {
  it("a process ends by itself while an idle connection is pooled", async () => {
    const { url, server } = await serve(echo);
    server.keepAliveTimeout = 600_000;
    const outcome = await runModule(`${prologue(url)}\nawait call({}, {}); await call({}, {});`);
    assert.deepEqual(outcome, silent);
  });

  it("a process lives until a pending response arrives", async () => {
    const { url } = await serve((_, response) => setTimeout(() => sendJson(response, "late"), 300));
    const outcome = await runModule(`${prologue(url)}\ncall({}, {}).then(({ data }) => console.log(data));`);
    assert.deepEqual(outcome, { ...silent, stdout: "late\n" });
  });

  it("a process lives until a pending event arrives, but not for a stream that is not read", async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n");
      setTimeout(() => response.write("data: 2\n\n"), 300);
    });
    const outcome = await runModule(
      `${prologue(url)}
       const events = stream({}, {});
       console.log((await events.next()).value.data, (await events.next()).value.data);`,
    );
    assert.deepEqual(outcome, { ...silent, stdout: "1 2\n" });
  });

  it("a process can exit in the middle of calls and streams", async () => {
    const { url } = await serve(() => {});
    const outcome = await runModule(
      `${prologue(url)}
       for (let count = 0; count < 50; count++) call({}, {}).catch(() => {});
       stream({}, {}).next().catch(() => {});
       setTimeout(() => process.exit(0), 100);`,
    );
    assert.deepEqual(outcome, silent);
  });

  it("the connection of a stream that was garbage-collected is closed", async () => {
    let closed = 0;
    const { url } = await serve((request, response) => {
      if (request.url === "/") return sendJson(response, closed);
      response.on("close", () => closed++);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n");
    });
    const outcome = await runModule(
      `${prologue(url)}
       import { setTimeout as sleep } from "node:timers/promises";
       import { setFlagsFromString } from "node:v8";
       import { runInNewContext } from "node:vm";
       setFlagsFromString("--expose-gc");
       const collect = runInNewContext("gc");
       await (async () => { await stream({}, {}).next(); })();
       while ((await call({}, {})).data === 0) { collect(); await sleep(20); }
       console.log("closed");`,
    );
    assert.deepEqual(outcome, { ...silent, stdout: "closed\n" });
  });

  it("a service lives as long as a call or a stream of it runs", async () => {
    const { url } = await serve((request, response) => {
      if (request.url === "/") return setTimeout(() => sendJson(response, "answered"), 300);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      setTimeout(() => response.end("data: streamed\n\n"), 300);
    });
    const outcome = await runModule(
      `import { setFlagsFromString } from "node:v8";
       import { runInNewContext } from "node:vm";
       setFlagsFromString("--expose-gc");
       const collect = setInterval(runInNewContext("gc"), 10);
       const handlers = async () => { ${prologue(url).replace(/import \{ (\w+) \} from ("[^"]+");/, "const { $1 } = await import($2);")}
         return { call, stream }; };
       const pending = [await (async () => ({ is: (await handlers()).call({}, {}) }))(), await (async () => ({ is: (await handlers()).stream({}, {}).next() }))()];
       console.log((await pending[0].is).data, (await pending[1].is).value.data);
       clearInterval(collect);`,
    );
    assert.deepEqual(outcome, { ...silent, stdout: "answered streamed\n" });
  });

  it("a process survives worker threads that are terminated in mid-call", async () => {
    const { url } = await serve((_, response) => setTimeout(() => sendJson(response, 1), 20));
    const outcome = await runModule(
      `import { Worker, isMainThread } from "node:worker_threads";
       const source = ${JSON.stringify(`${prologue(url)}
         const { parentPort } = await import("node:worker_threads");
         await call({}, {});
         parentPort.postMessage("one");
         for (;;) await Promise.all([call({}, {}), call({}, {})]);`)};
       const file = new URL("data:text/javascript," + encodeURIComponent(source.replace('"@alkdev/operations"', JSON.stringify(import.meta.resolve("@alkdev/operations")))));
       for (let round = 0; round < 4; round++) {
         const threads = Array.from({ length: 3 }, () => new Worker(file, { execArgv: [] }));
         await Promise.all(threads.map((thread) => new Promise((resolve, reject) => { thread.once("message", resolve); thread.once("error", reject); })));
         await Promise.all(threads.map((thread) => thread.terminate()));
       }
       console.log("done");`,
    );
    assert.deepEqual(outcome, { ...silent, stdout: "done\n" });
  });
});

describe("a system without CA certificates", { skip: onlyOn("linux") }, () => {
  it("without CA certificates http works, and https says what to do", async () => {
    const { url } = await serve((_, response) => sendJson(response, "fine"));
    const env = { ...process.env, SSL_CERT_FILE: "/dev/null", SSL_CERT_DIR: "/nonexistent" };
    const plain = await runModule(`${prologue(url)}\nconsole.log((await call({}, {})).data);`, { env });
    assert.deepEqual(plain, { ...silent, stdout: "fine\n" });
    const secure = await runModule(
      `${prologue("https://localhost:1")}\nconsole.log((await call({}, {}).catch((error) => error)).message);`,
      { env },
    );
    assert.match(secure.stdout, /^https cannot be used: .*Install the CA certificates of the system.*`ca`/);
  });
});

describe("a proxy that the environment names", () => {
  it("a proxy of the environment is used, except where NO_PROXY says otherwise", async () => {
    const proxy = await serve((request, response) => sendJson(response, request.url));
    const { url } = await serve((request, response) => sendJson(response, `directly ${request.url}`));
    const lower = {
      http_proxy: undefined,
      https_proxy: undefined,
      all_proxy: undefined,
      no_proxy: undefined,
    };
    const env = { ...process.env, ...lower, HTTP_PROXY: proxy.url, NO_PROXY: "127.0.0.1" };
    const print = "console.log((await call({}, {})).data);";
    const through = await runModule(`${prologue("http://service.invalid/base")}\n${print}`, { env });
    assert.deepEqual(through, { ...silent, stdout: "http://service.invalid/base/\n" });
    const direct = await runModule(`${prologue(url)}\n${print}`, { env });
    assert.deepEqual(direct, { ...silent, stdout: "directly /\n" });
  });
});
