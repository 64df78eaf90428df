// `config.fetch`, and a global `fetch` that was replaced: the same requests and the same answers.

import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { FromOpenAPIUrl, OpenAPIServiceRegistry } from "@alkdev/operations";
import { collectData as all } from "../support/waiting.mjs";
import {
  answers,
  documentOf,
  echo,
  failureOf,
  handlers,
  sendJson,
  serve,
  single,
  until,
} from "./support.mjs";

const genuine = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = genuine;
});

const post = { requestBody: { content: { "application/json": {} } } };
const streaming = { responses: answers("text/event-stream") };

/** A `fetch` that remembers what it was asked. */
function recording(inner = genuine) {
  const calls = [];
  const fetch = (url, init) => {
    calls.push({ url: String(url), ...init });
    return inner(url, init);
  };
  return { fetch, calls };
}

describe("config.fetch", () => {
  it("config.fetch gets the request that would have been sent, and its response counts", async () => {
    const { url } = await serve(echo);
    const { fetch, calls } = recording();
    const auth = { type: "bearer", token: "abc" };
    const parameters = [{ name: "q", in: "query", schema: {} }];
    const call = single(
      "post",
      { ...post, parameters },
      { baseUrl: url, fetch, auth, headers: { "X-A": "1" } },
    );
    const { data, meta } = await call({ q: "ü", body: { a: 1 } }, { metadata: { headers: { "X-B": "2" } } });
    assert.equal(calls.length, 1);
    assert.equal(calls[0].method, "POST");
    assert.equal(calls[0].body, '{"a":1}');
    assert.equal(calls[0].headers.Authorization, "Bearer abc");
    assert.deepEqual(
      [
        data.url,
        data.headers.authorization,
        data.headers["x-a"],
        data.headers["x-b"],
        data.headers["content-type"],
      ],
      ["/?q=%C3%BC", "Bearer abc", "1", "2", "application/json"],
    );
    assert.equal(meta.source, "http");
    assert.equal(meta.headers["content-type"], "application/json");
  });

  it("config.fetch sends bytes and multipart bodies", async () => {
    const { url, received } = await serve(echo);
    const multipart = { requestBody: { content: { "multipart/form-data": {} } } };
    const call = single("post", multipart, { baseUrl: url, fetch: genuine.bind(undefined) });
    await call({ body: { file: new Blob(["xyz"]), text: "t" } }, {});
    const [request] = received;
    const form = await new Response(request.content, { headers: request.headers }).formData();
    assert.equal(await form.get("file").text(), "xyz");
    assert.equal(form.get("text"), "t");
  });

  it("error responses of config.fetch are read like native ones", async () => {
    const { url } = await serve((_, response) => sendJson(response, { echo: "token-abc" }, 403));
    const { fetch } = recording();
    const auth = { type: "bearer", token: "token-abc" };
    const error = await failureOf(single("get", {}, { baseUrl: url, fetch, auth })({}, {}));
    assert.match(error.message, /^HTTP 403: Forbidden, in t\./);
    assert.deepEqual(error.details.body, { echo: "[secret]" });
  });

  it("a config.fetch that fails is an error with the host and the reason, and without secrets", async () => {
    const fetch = () =>
      Promise.reject(new TypeError("fetch failed", { cause: new Error("no route for key-123") }));
    const auth = { type: "apiKey", token: "key-123" };
    const error = await failureOf(single("get", {}, { baseUrl: "http://host.test/", fetch, auth })({}, {}));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.equal(error.message, "The request to host.test failed: fetch failed: no route for [secret]");
    const throwing = () => {
      throw new Error("at once");
    };
    const call = single("get", {}, { baseUrl: "http://host.test/", fetch: throwing });
    assert.match((await failureOf(call({}, {}))).message, /host\.test failed: at once/);
  });

  it("config.fetch gets no credentials for other origins, in any header", async () => {
    const other = await serve(echo);
    const { url } = await serve((_, response) => {
      response.writeHead(302, { location: other.url });
      response.end();
    });
    const { fetch, calls } = recording();
    const auth = { type: "apiKey", token: "open-sesame" };
    const { data } = await single(
      "get",
      {},
      { baseUrl: url, fetch, auth, hosts: [new URL(other.url).host] },
    )({}, {});
    assert.equal(calls.length, 2);
    assert.equal(data.headers["x-api-key"], undefined);
  });

  it("config.fetch is bound by the limits: size, time, signal", async () => {
    const { url } = await serve((request, response) => {
      if (request.url !== "/") response.end("x".repeat(2000));
    });
    const at = (path, config) => {
      const { it: call } = handlers(
        { [path]: { get: { operationId: "it", responses: answers() } } },
        {
          baseUrl: url,
          fetch: recording().fetch,
          ...config,
        },
      );
      return call;
    };
    const large = await failureOf(at("/large", { maxResponseBytes: 1000 })({}, {}));
    assert.match(large.message, /limit of 1000 bytes/);
    const late = await failureOf(at("/", { timeout: 50 })({}, {}));
    assert.equal(late.code, "TIMEOUT");
    assert.match(late.message, /within 50 ms/);
    const controller = new AbortController();
    const pending = failureOf(at("/")({}, { signal: controller.signal }));
    controller.abort();
    assert.equal((await pending).code, "ABORTED");
    const deaf = () => new Promise(() => {});
    assert.equal((await failureOf(at("/", { fetch: deaf, timeout: 20 })({}, {}))).code, "TIMEOUT");
  });

  it("config.fetch is called again as `retry` says", async () => {
    let count = 0;
    const fetch = async () => {
      count++;
      if (count === 1) throw new Error("lost");
      if (count === 2) return new Response("", { status: 503, headers: { "retry-after": "0" } });
      return Response.json(count);
    };
    const retry = { retries: 2, delay: 1 };
    const { data } = await single("get", {}, { baseUrl: "http://host.test", fetch, retry })({}, {});
    assert.equal(data, 3);
    const failing = async () => new Response("", { status: 503 });
    const error = await failureOf(
      single("get", {}, { baseUrl: "http://host.test", fetch: failing, retry })({}, {}),
    );
    assert.match(error.message, /^HTTP 503: Service Unavailable \(tried 3 times\), in t\./);
  });
});

describe("closeAll", () => {
  it("closeAll ends calls and streams through fetch, too", async () => {
    const { url, received } = await serve((request, response) => {
      if (request.url !== "/stream") return;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n");
    });
    const services = new OpenAPIServiceRegistry();
    const paths = {
      "/": { get: { operationId: "call", responses: answers() } },
      "/stream": { get: { operationId: "stream", ...streaming } },
    };
    const config = { namespace: "t", baseUrl: url, fetch: recording().fetch };
    const [call, stream] = services.add("t", documentOf(paths), config).map(({ handler }) => handler);
    const calling = failureOf(call({}, {}));
    const events = stream({}, {});
    await events.next();
    const waiting = failureOf(events.next());
    await until(() => received.length === 2);
    await services.closeAll();
    assert.equal((await calling).code, "ABORTED");
    assert.equal((await waiting).code, "ABORTED");
  });
});

describe("a mock", () => {
  const call = async (response) => {
    const fetch = async () => response;
    return (await single("get", {}, { baseUrl: "http://host.test", fetch })({}, {})).data;
  };

  it("a mock of fetch may return less than a Response", async () => {
    const headers = new Map([["content-type", "application/json"]]);
    assert.deepEqual(await call({ ok: true, status: 200, headers, json: async () => ({ a: 1 }) }), { a: 1 });
    assert.deepEqual(await call({ ok: true, status: 200, json: async () => [1] }), [1]);
    assert.equal(
      await call({ status: 200, headers: { "content-type": "text/plain" }, text: async () => "t" }),
      "t",
    );
    const asked = { get: (name) => (name.toLowerCase() === "content-type" ? "application/json" : null) };
    assert.equal(await call({ status: 200, headers: asked, text: async () => "7" }), 7);
    assert.equal(await call({ status: 204 }), undefined);
  });
});

describe("a global fetch that was replaced", () => {
  it("a global fetch that was replaced is used, and the native client again afterwards", async () => {
    const { url, received } = await serve(echo);
    const call = single("get", {}, { baseUrl: url });
    globalThis.fetch = async () => Response.json("mocked");
    assert.equal((await call({}, {})).data, "mocked");
    assert.equal(received.length, 0);
    globalThis.fetch = genuine;
    assert.equal((await call({}, {})).data.url, "/");
  });

  it("a global fetch that was replaced fetches documents as well", async () => {
    const document = documentOf({ "/": { get: { operationId: "it", responses: answers() } } });
    globalThis.fetch = async () => Response.json(document);
    const [operation] = await FromOpenAPIUrl("http://host.test/openapi.json", { namespace: "t" });
    assert.equal(operation.name, "it");
  });
});

describe("a stream through fetch", () => {
  it("a stream through fetch is parsed like a native one, and read only as it is consumed", async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('event: a\nid: 1\ndata: {"n":1}\n\nda');
      setTimeout(() => response.end("ta: two\n\n: comment\n\ndata: dropped"), 20);
    });
    const stream = single("get", streaming, { baseUrl: url, fetch: recording().fetch })({}, {});
    const first = await stream.next();
    assert.deepEqual(first.value.data, { n: 1 });
    assert.deepEqual(first.value.meta.sse, { event: "a", id: "1" });
    assert.equal(first.value.meta.contentType, "text/event-stream");
    assert.deepEqual(await all(stream), ["two"]);
  });

  it("return() ends a stream through fetch while a read is pending, and the server sees it", async () => {
    let closed = false;
    const { url } = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n");
      response.on("close", () => {
        closed = true;
      });
    });
    const stream = single("get", streaming, { baseUrl: url, fetch: recording().fetch })({}, {});
    await stream.next();
    const pending = stream.next();
    await stream.return();
    assert.deepEqual(await pending, { done: true, value: undefined });
    await until(() => closed);
  });

  it("a stream through fetch is reopened if configured, and goes on", async () => {
    const { url, received } = await serve((request, response) => {
      const next = Number(request.headers["last-event-id"] ?? 0) + 1;
      if (next > 3) {
        response.writeHead(204);
        return response.end();
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`retry: 1\nevent: e${next}\nid: ${next}\ndata: ${next}\n\n`);
      setTimeout(() => (next === 1 ? response.destroy() : response.end()), 10);
    });
    const config = { baseUrl: url, fetch: recording().fetch, sse: { reconnect: true } };
    const envelopes = [];
    for await (const envelope of single("get", streaming, config)({}, {})) envelopes.push(envelope);
    assert.deepEqual(
      envelopes.map(({ data, meta }) => [data, meta.sse]),
      [1, 2, 3].map((n) => [n, { event: `e${n}`, id: String(n), retry: 1 }]),
    );
    assert.deepEqual(
      received.map(({ headers }) => headers["last-event-id"]),
      [undefined, "1", "2", "3"],
    );
  });

  it("a stream through fetch is given up after so many attempts, and opening is retried as `retry` says", async () => {
    let count = 0;
    const fetch = async () => {
      if (count++ > 0) return new Response("", { status: 503 });
      return new Response("retry: 1\ndata: 1\n\n", { headers: { "content-type": "text/event-stream" } });
    };
    const sse = { reconnect: true, maxRetries: 2 };
    const stream = single("get", streaming, { baseUrl: "http://host.test", fetch, sse })({}, {});
    await stream.next();
    await assert.rejects(stream.next(), /HTTP 503: Service Unavailable \(tried 3 times\)/);
    assert.equal(count, 3);
    let opened = 0;
    const late = async () => {
      if (opened++ === 0) throw new Error("lost");
      return new Response("data: 1\n\n", { headers: { "content-type": "text/event-stream" } });
    };
    const config = { baseUrl: "http://host.test", fetch: late, retry: { retries: 1, delay: 1 } };
    assert.deepEqual(await all(single("get", streaming, config)({}, {})), [1]);
  });

  it("a stream through fetch has the same rules for responses that are no stream", async () => {
    const of = (response) => {
      const fetch = async () => response;
      return all(single("get", streaming, { baseUrl: "http://host.test", fetch })({}, {}));
    };
    assert.deepEqual(await of(Response.json({ a: 1 })), [{ a: 1 }]);
    assert.deepEqual(await of(new Response(null, { status: 204 })), []);
    await assert.rejects(
      of(new Response("x", { headers: { "content-type": "image/png" } })),
      /a stream was expected/,
    );
    await assert.rejects(
      of(Response.json({ no: 1 }, { status: 500 })),
      (error) => error.details.body.no === 1,
    );
    const large = new Response(`data: ${"x".repeat(3000)}\n\n`, {
      headers: { "content-type": "text/event-stream" },
    });
    const fetch = async () => large;
    const config = { baseUrl: "http://host.test", fetch, sse: { maxEventBytes: 1000 } };
    await assert.rejects(all(single("get", streaming, config)({}, {})), /limit of 1000 bytes/);
    const lines = new Response('{"a":1}\n{"a":2}\n', { headers: { "content-type": "application/x-ndjson" } });
    assert.deepEqual(await of(lines), [{ a: 1 }, { a: 2 }]);
  });
});
