// How calls end before their time, and how they are tried again.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FromOpenAPI, OpenAPIServiceRegistry } from "@alkdev/operations";
import { answers, documentOf, echo, failureOf, sendJson, serve, single, until } from "./support.mjs";

/** A server that answers nothing; it counts requests, and connections that the other side has closed. */
async function silent(head) {
  const state = { open: 0, closed: 0 };
  const server = await serve((_, response) => {
    state.open++;
    if (head !== undefined) {
      response.writeHead(200, head);
      response.write("begun");
    }
  });
  server.server.on("connection", (socket) => socket.on("close", () => state.closed++));
  return { ...server, state };
}

describe("the time limit", () => {
  it("the time limit covers the headers, and closes the connection", async () => {
    const { url, state } = await silent();
    const error = await failureOf(single("get", {}, { baseUrl: url, timeout: 300 })({}, {}));
    assert.equal(error.code, "TIMEOUT");
    assert.equal(
      error.message,
      `${new URL(url).host} did not answer within 300 ms, the \`timeout\` of the configuration`,
    );
    await until(() => state.closed === 1);
  });

  it("the time limit covers the body", async () => {
    const { url, state } = await silent({ "content-type": "text/plain" });
    const error = await failureOf(single("get", {}, { baseUrl: url, timeout: 300 })({}, {}));
    assert.equal(error.code, "TIMEOUT");
    await until(() => state.closed === 1);
  });
});

describe("a signal", () => {
  it("a call with an aborted signal sends nothing", async () => {
    const { url, received } = await serve(echo);
    const call = single("get", {}, { baseUrl: url });
    await assert.rejects(call({}, { signal: AbortSignal.abort() }), { code: "ABORTED" });
    assert.equal(received.length, 0);
  });

  it("a signal ends a call, and the connection with it", async () => {
    const { url, state } = await silent();
    const controller = new AbortController();
    const pending = single("get", {}, { baseUrl: url })({}, { signal: controller.signal });
    await until(() => state.open === 1);
    controller.abort();
    const error = await failureOf(pending);
    assert.equal(error.code, "ABORTED");
    assert.match(error.message, /was aborted/);
    await until(() => state.closed === 1);
  });

  it("a signal can be shared by many calls without a warning", async () => {
    const warnings = [];
    const remember = (warning) => warnings.push(warning.name);
    process.on("warning", remember);
    const { url, state } = await silent();
    const controller = new AbortController();
    const call = single("get", {}, { baseUrl: url });
    const pending = Array.from({ length: 30 }, () => failureOf(call({}, { signal: controller.signal })));
    await until(() => state.open === 30);
    controller.abort();
    for (const error of await Promise.all(pending)) assert.equal(error.code, "ABORTED");
    await until(() => state.closed === 30);
    process.off("warning", remember);
    assert.deepEqual(warnings, []);
  });

  it("a call that is over has removed its listener from the signal", async () => {
    const { url } = await serve(echo);
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args) => {
      listeners++;
      add(...args);
    };
    signal.removeEventListener = (...args) => {
      listeners--;
      remove(...args);
    };
    const call = single("get", {}, { baseUrl: url });
    await Promise.all(Array.from({ length: 10 }, () => call({}, { signal })));
    assert.equal(listeners, 0);
  });
});

describe("retries", () => {
  /** Fails this often, then answers. */
  async function moody(failures, fail) {
    let count = 0;
    return serve((request, response) => {
      if (count++ < failures) return fail(response);
      sendJson(response, { tries: count, body: request.content.toString() });
    });
  }
  const busy = (headers) => (response) => {
    response.writeHead(503, headers);
    response.end();
  };
  const post = { requestBody: { content: { "application/json": {} } } };

  it("retries are off by default", async () => {
    const { url, received } = await moody(1, busy());
    const error = await failureOf(single("get", {}, { baseUrl: url })({}, {}));
    assert.match(error.message, /^HTTP 503: Service Unavailable, in t\./);
    assert.equal(received.length, 1);
  });

  it("retries happen for safe methods, and are counted in the error", async () => {
    const { url } = await moody(2, busy());
    const retry = { retries: 2, delay: 1 };
    assert.equal((await single("get", {}, { baseUrl: url, retry })({}, {})).data.tries, 3);
    const { url: always } = await moody(Infinity, busy());
    const error = await failureOf(single("delete", {}, { baseUrl: always, retry })({}, {}));
    assert.match(error.message, /^HTTP 503: Service Unavailable \(tried 3 times\), in t\./);
    assert.equal(error.details.statusCode, 503);
  });

  it("retries send the body again", async () => {
    const { url } = await moody(1, (response) => response.destroy());
    const { data } = await single("put", post, { baseUrl: url, retry: { retries: 1, delay: 1 } })(
      { body: [1] },
      {},
    );
    assert.deepEqual(data, { tries: 2, body: "[1]" });
  });

  it("retries do not repeat what the server may have done", async () => {
    for (const fail of [busy(), (response) => response.destroy()]) {
      const { url, received } = await moody(1, fail);
      await failureOf(
        single("post", post, { baseUrl: url, retry: { retries: 3, delay: 1 } })({ body: 1 }, {}),
      );
      assert.equal(received.length, 1);
    }
  });

  it("retries repeat any request that was not sent", async () => {
    const { url, stop } = await serve(echo);
    await stop();
    const call = single("post", post, { baseUrl: url, retry: { retries: 2, delay: 1 } });
    assert.match((await failureOf(call({ body: 1 }, {}))).message, /refused \(tried 3 times\)$/);
  });

  it("retries wait as long as the server says, unless that is too long", async () => {
    const { url } = await moody(1, busy({ "retry-after": "0" }));
    const patient = { retries: 1, delay: 60_000, maxDelay: 60_000 };
    assert.equal((await single("get", {}, { baseUrl: url, retry: patient })({}, {})).data.tries, 2);
    const { url: later, received } = await moody(1, busy({ "retry-after": "3600" }));
    await failureOf(single("get", {}, { baseUrl: later, retry: 3 })({}, {}));
    assert.equal(received.length, 1);
  });

  it("retries are within the time limit of the call", async () => {
    const { url } = await moody(Infinity, busy());
    const call = single(
      "get",
      {},
      { baseUrl: url, timeout: 50, retry: { retries: 5, delay: 60_000, maxDelay: 60_000 } },
    );
    assert.equal((await failureOf(call({}, {}))).code, "TIMEOUT");
  });
});

describe("connections", () => {
  it("connections are used again", async () => {
    const sockets = new Set();
    const { url } = await serve((request, response) => {
      sockets.add(request.socket);
      sendJson(response, 1);
    });
    const call = single("get", {}, { baseUrl: url });
    for (let count = 0; count < 50; count++) await call({}, {});
    // A connection goes back a moment after its answer, so that the next call may just miss it.
    assert.ok(sockets.size < 10, `${sockets.size} connections for 50 calls in turn`);
  });

  it("connections that the server has closed are replaced", async () => {
    const { url, server } = await serve(echo);
    // One try more: the server may close a connection in the very moment in which it is used.
    const call = single("get", {}, { baseUrl: url, retry: { retries: 1, delay: 1 } });
    for (let count = 0; count < 3; count++) {
      await call({}, {});
      server.closeIdleConnections();
    }
  });

  it("several hundred calls at once all get responses", async () => {
    const { url } = await serve((request, response) => sendJson(response, request.url));
    const parameters = [{ name: "n", in: "query", schema: {} }];
    const call = single("get", { parameters }, { baseUrl: url });
    const results = await Promise.all(Array.from({ length: 300 }, (_, n) => call({ n }, {})));
    assert.deepEqual(
      results.map(({ data }) => data),
      results.map((_, n) => `/?n=${n}`),
    );
  });
});

describe("closeAll", () => {
  it("closeAll ends calls, closes connections, and leaves the service usable", async () => {
    const { url, state } = await silent();
    const services = new OpenAPIServiceRegistry();
    const document = documentOf({ "/": { get: { operationId: "it", responses: answers() } } });
    const [{ handler }] = services.add("t", document, { namespace: "t", baseUrl: url });
    const pending = failureOf(handler({}, {}));
    await until(() => state.open === 1);
    await services.closeAll();
    assert.equal((await pending).code, "ABORTED");
    await until(() => state.closed === 1);
    const again = new AbortController();
    const usable = failureOf(handler({}, { signal: again.signal }));
    await until(() => state.open === 2);
    again.abort();
    assert.equal((await usable).code, "ABORTED");
  });

  it("closeAll closes idle connections", async () => {
    const { url, server } = await serve(echo);
    let closed = 0;
    server.on("connection", (socket) => socket.on("close", () => closed++));
    const services = new OpenAPIServiceRegistry();
    const document = documentOf({ "/": { get: { operationId: "it", responses: answers() } } });
    const [{ handler }] = services.add("t", document, { namespace: "t", baseUrl: url });
    await handler({}, {});
    await services.closeAll();
    await until(() => closed === 1);
  });
});

describe("a handler", () => {
  it("an imported handler can be called without a context, and without an input", async () => {
    const { url } = await serve(echo);
    const [{ handler }] = FromOpenAPI(
      documentOf({ "/": { get: { operationId: "it", responses: answers() } } }),
      {
        namespace: "t",
        baseUrl: url,
      },
    );
    assert.equal((await handler()).data.url, "/");
  });
});
