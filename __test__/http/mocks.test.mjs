// Mocks of `fetch` are taken as they come, and so is whatever somebody has put under Node's own.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { answers, failureOf, single } from "./support.mjs";

const baseUrl = "https://api.example.com";
const call = (response, operation = {}, input = {}) =>
  single("get", operation, { baseUrl, fetch: async () => response })(input, {});

describe("a mock of fetch", () => {
  it("a mock of fetch whose response has json() alone is JSON", async () => {
    const { data, meta } = await call({ ok: true, status: 200, json: async () => ({ a: [1] }) });
    assert.deepEqual(data, { a: [1] });
    assert.equal(meta.contentType, "application/json");
    const silent = { status: 200, headers: new Headers(), json: async () => 1 };
    assert.equal((await call(silent)).data, 1);
  });

  it("a mock of fetch may have headers with entries() and get() only", async () => {
    const given = new Map([
      ["content-type", "text/plain"],
      ["x-request-id", "7"],
    ]);
    const headers = { entries: () => given.entries(), get: (name) => given.get(name) ?? null };
    const { data, meta } = await call({ status: 200, headers, text: async () => "words" });
    assert.equal(data, "words");
    assert.deepEqual(meta.headers, { "content-type": "text/plain", "x-request-id": "7" });
  });

  it("a mock of fetch is read as its content type says", async () => {
    const forbidden = (name) => async () => assert.fail(`${name} was called`);
    const json = { "content-type": "application/vnd.api+json" };
    const own = {
      json: async () => ({ b: 2 }),
      text: forbidden("text"),
      arrayBuffer: forbidden("arrayBuffer"),
    };
    assert.deepEqual((await call({ status: 200, headers: json, ...own })).data, { b: 2 });
    const text = {
      text: async () => "words",
      json: forbidden("json"),
      arrayBuffer: forbidden("arrayBuffer"),
    };
    const plain = { get: (name) => (name === "content-type" ? "text/plain" : null) };
    assert.equal((await call({ status: 200, headers: plain, ...text })).data, "words");
    const other = { text: async () => '{"c":3}' };
    assert.deepEqual((await call({ status: 200, headers: json, ...other })).data, { c: 3 });
  });

  it("a mock of fetch passes on the same ArrayBuffer", async () => {
    const bytes = new Uint8Array([1, 2, 3]).buffer;
    const headers = { "content-type": "image/png" };
    const { data } = await call({ status: 200, headers, arrayBuffer: async () => bytes });
    assert.equal(data, bytes);
  });

  it("a mock of fetch without a status is a success, unless ok is false", async () => {
    assert.equal((await call({ json: async () => 1 })).meta.statusCode, 200);
    const error = await failureOf(call({ ok: false, json: async () => ({ why: "no" }) }));
    assert.deepEqual([error.details.statusCode, error.details.body], [500, { why: "no" }]);
  });

  it("a mock of fetch may have a reader without cancel(), which is released at the end", async () => {
    for (const leave of [false, true]) {
      let released = 0;
      const pieces = ["data: 1\n\n", "data: 2\n\n"];
      const reader = {
        read: async () => {
          const value = pieces.shift();
          return value === undefined ? { done: true } : { done: false, value };
        },
        releaseLock: () => released++,
      };
      const headers = { "content-type": "text/event-stream" };
      const response = { status: 200, headers, body: { getReader: () => reader } };
      const stream = single(
        "get",
        { responses: answers("text/event-stream") },
        { baseUrl, fetch: async () => response },
      );
      const seen = [];
      for await (const { data } of stream({}, {})) {
        seen.push(data);
        if (leave) break;
      }
      assert.deepEqual(seen, leave ? [1] : [1, 2]);
      assert.equal(released, 1);
    }
  });
});

/** Responses that no server could have sent, and what is said about them. */
const UNUSABLE = {
  undefined: [undefined, "fetch must resolve to a Response, not undefined"],
  null: [null, "fetch must resolve to a Response, not null"],
  "a text": ["ok", "fetch must resolve to a Response, not a string"],
  "an empty object": [{}, "fetch must resolve to a Response, not an object without a status or a body"],
  "a status that is a text": [
    { status: "200", json: async () => 1 },
    'the status of the response must be a whole number such as 200, not "200"',
  ],
  "a status that is no status": [
    { status: 1e6 },
    "the status of the response must be a whole number such as 200, not 1000000",
  ],
  "a body that somebody else reads": [locked(), "ReadableStream is locked"],
  "a body of numbers": [
    {
      status: 200,
      body: (async function* () {
        yield 5;
      })(),
    },
    "the body of the response must consist of bytes or text, not a number",
  ],
  "headers that throw": [
    {
      status: 200,
      get headers() {
        throw new Error("no headers today");
      },
    },
    "no headers today",
  ],
  "headers with half a surrogate pair": [
    { status: 200, headers: { x: "\ud800" } },
    "The headers of the response cannot be read",
  ],
};

function locked() {
  const response = new Response("x");
  response.body.getReader();
  return response;
}

describe("a mock of fetch that cannot be used", () => {
  for (const [name, [response, message]] of Object.entries(UNUSABLE)) {
    it(`a mock of fetch with ${name} is an error that says what is wrong`, async () => {
      const error = await failureOf(call(response));
      assert.equal(error.name, "CallError", String(error));
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.ok(error.message.startsWith("The request to api.example.com failed: "), error.message);
      assert.ok(error.message.includes(message), error.message);
      assert.deepEqual([error.details.delivery, error.details.operationId], ["unknown", "t.it"]);
    });
  }

  it("a mock of fetch may reject with anything", async () => {
    const unreadable = {
      get message() {
        throw new Error("not even that");
      },
    };
    for (const thrown of [undefined, null, 7, "why", Object.create(null), unreadable]) {
      const fetch = () => Promise.reject(thrown);
      const error = await failureOf(single("get", {}, { baseUrl, fetch })({}, {}));
      assert.equal(error.name, "CallError");
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.match(error.message, /^The request to api\.example\.com failed: ./);
    }
  });

  it("a mock of fetch that is unusable fails a stream, too", async () => {
    const operation = { responses: answers("text/event-stream") };
    const stream = single("get", operation, { baseUrl, fetch: async () => undefined })({}, {});
    const error = await failureOf(stream.next());
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /fetch must resolve to a Response, not undefined/);
  });
});

describe("a body that always has its next piece ready", () => {
  /** Pieces without end, each there at once. */
  const endless = (piece, state = {}) => ({
    status: 200,
    headers: { "content-type": "text/event-stream" },
    body: {
      getReader: () => ({
        read: async () => ({ done: false, value: piece }),
        cancel: () => {
          state.cancelled = true;
        },
      }),
    },
  });
  const streaming = { responses: answers("text/event-stream") };

  it("a body that always has its next chunk ready does not starve timers and the time limit", async () => {
    const config = { baseUrl, timeout: 50, maxResponseBytes: Number.MAX_SAFE_INTEGER };
    const fetch = async () => endless(new Uint8Array(0));
    const error = await failureOf(single("get", {}, { ...config, fetch })({}, {}));
    assert.equal(error.code, "TIMEOUT");
  });

  it("a body that always has its next chunk ready can be aborted by a timer, with events or without", async () => {
    for (const piece of ["data: 1\n\n", ": nothing\n"]) {
      const state = {};
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 20);
      const stream = single("get", streaming, { baseUrl, fetch: async () => endless(piece, state) });
      const reading = (async () => {
        for await (const { data } of stream({}, { signal: controller.signal })) assert.equal(data, 1);
      })();
      assert.equal((await failureOf(reading)).code, "ABORTED");
      assert.equal(state.cancelled, true);
    }
  });
});

/** Runs a program in a process of its own; what it prints is JSON. */
function run(program) {
  const entry = new URL("../../dist/index.mjs", import.meta.url).href;
  const source = `
    import { createServer } from "node:http";
    const document = { openapi: "3.1.0", info: { title: "t", version: "1" },
      paths: { "/": { get: { operationId: "it", responses: {} } } } };
    const answer = (value) => new Response(JSON.stringify(value), { headers: { "content-type": "application/json" } });
    const load = () => import(${JSON.stringify(entry)});
    const ask = async ({ FromOpenAPI }, baseUrl = "https://nowhere.invalid") =>
      (await FromOpenAPI(document, { namespace: "t", baseUrl })[0].handler({}, {})).data;
    ${program}`;
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--input-type=module", "-e", source], {
    encoding: "utf8",
    cwd: new URL("../..", import.meta.url),
  });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

describe("the global fetch", () => {
  it("a global fetch counts when it is a proxy of the runtime's own, as instrumentations make it", () => {
    assert.deepEqual(
      run(`
        const seen = [];
        globalThis.fetch = new Proxy(globalThis.fetch, {
          apply: (target, self, [url]) => (seen.push(String(url)), Promise.resolve(answer("proxied"))),
        });
        const data = await ask(await load());
        console.log(JSON.stringify([data, seen]));`),
      ["proxied", ["https://nowhere.invalid/"]],
    );
  });

  it("a global fetch that was replaced before the package was loaded is used", () => {
    assert.deepEqual(
      run(`
        const own = globalThis.fetch;
        globalThis.fetch = async () => answer("mocked");
        const package_ = await load();
        const first = await ask(package_);
        globalThis.fetch = function fetch() { return Promise.resolve(answer("another")); };
        const second = await ask(package_);
        globalThis.fetch = own;
        const third = await ask(package_).catch((error) => error.details.cause);
        console.log(JSON.stringify([first, second, third]));`),
      ["mocked", "another", "ENOTFOUND"],
    );
  });

  it("the runtime's own global fetch is not used", () => {
    assert.equal(
      run(`
        const server = createServer((request, response) => {
          response.setHeader("content-type", "application/json");
          response.end(JSON.stringify(request.headers["user-agent"]));
        });
        await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
        const url = "http://127.0.0.1:" + server.address().port;
        await (await fetch(url)).text();
        console.log(JSON.stringify(await ask(await load(), url)));
        server.close();
        server.closeAllConnections();`).split("/")[0],
      "alkdev-operations",
    );
  });

  it("the global fetch follows a dispatcher that was set with undici's setGlobalDispatcher", () => {
    // As the package from npm does it: the symbol is the same for every copy.
    assert.deepEqual(
      run(`
        const package_ = await load();
        // The same name as Node's own.
        class Agent {
          dispatch(options, handler) {
            if (handler === undefined) throw new Error("handler must be an object");
            handler.onConnect?.(() => {});
            const headers = [Buffer.from("content-type"), Buffer.from("application/json")];
            handler.onHeaders(200, headers, () => {}, "OK");
            handler.onData(Buffer.from(JSON.stringify("dispatched " + options.path)));
            handler.onComplete([]);
            return true;
          }
        }
        const before = globalThis[Symbol.for("undici.globalDispatcher.1")];
        await fetch("data:,x");
        globalThis[Symbol.for("undici.globalDispatcher.1")] = new Agent();
        console.log(JSON.stringify(await ask(package_)));`),
      "dispatched /",
    );
  });
});

describe("a request that has failed", () => {
  it("a request that has failed is not aborted afterwards", async () => {
    let signal;
    const fetch = async (_, init) => {
      signal = init.signal;
      throw new TypeError("fetch failed");
    };
    await failureOf(single("get", {}, { baseUrl, fetch })({}, {}));
    assert.equal(signal.aborted, false);
  });

  it("a failed request does not end the process, although undici leaves its connection open", () => {
    assert.deepEqual(
      run(`
        const server = createServer((_, response) => {
          response.writeHead(200, { "content-encoding": "gzip, ".repeat(9) + "gzip", "content-length": 50 });
          response.write("the first of it");
        });
        await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
        const { FromOpenAPI } = await load();
        const baseUrl = "http://127.0.0.1:" + server.address().port;
        const [{ handler }] = FromOpenAPI(document, { namespace: "t", baseUrl, fetch: globalThis.fetch });
        const { code } = await handler({}, {}).catch((error) => error);
        await new Promise((resolve) => setTimeout(resolve, 50));
        console.log(JSON.stringify(code));
        process.exit();`),
      "EXECUTION_ERROR",
    );
  });
});
