// Imported subscriptions against a real server.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createBrotliCompress, createDeflate, createGzip } from "node:zlib";
import {
  CallError,
  FromOpenAPI,
  isResponseEnvelope,
  OpenAPIServiceRegistry,
  OperationRegistry,
  subscribe,
} from "@alkdev/operations";
import {
  answers,
  documentOf,
  failureOf,
  handlers,
  registryOf,
  sendJson,
  serve,
  until,
} from "../http/support.mjs";
import { collect as all } from "../support/waiting.mjs";

const sse = answers("text/event-stream");
const EVENTS = { "content-type": "text/event-stream" };

/** The handler of a subscription on `/`. */
function subscription(config, { method = "get", responses = sse, ...operation } = {}) {
  return handlers({ "/": { [method]: { operationId: "it", responses, ...operation } } }, config).it;
}

/** A server that sends these pieces and ends. */
async function sending(...pieces) {
  return serve(async (_, response) => {
    response.writeHead(200, EVENTS);
    for (const piece of pieces) {
      response.write(piece);
      await new Promise(setImmediate);
    }
    response.end();
  });
}

/** A server that sends something and stays; it tells when the other side has gone. */
async function staying(text = "data: 1\n\n") {
  const state = { open: 0, closed: 0 };
  const server = await serve((_, response) => {
    state.open++;
    response.on("close", () => state.closed++);
    response.writeHead(200, EVENTS);
    response.write(text);
  });
  return { ...server, state };
}

const dataOf = (envelopes) => envelopes.map(({ data }) => data);

describe("events", () => {
  it("events are envelopes with the fields of their frame", async () => {
    const { url } = await sending(
      'event: a\nid: 1\nretry: 5\ndata: {"n":1}\n\n',
      ": beat\n\nevent: a\ndata: text\n\n",
      "data: 2\nid\n\n",
    );
    const envelopes = await all(subscription({ baseUrl: url })({}, {}));
    assert.ok(envelopes.every(isResponseEnvelope));
    assert.deepEqual(dataOf(envelopes), [{ n: 1 }, "text", 2]);
    assert.deepEqual(
      envelopes.map(({ meta }) => meta.sse),
      [
        { event: "a", id: "1", retry: 5 },
        { event: "a", id: "1" },
        { event: "message", id: "" },
      ],
    );
    const [{ meta }] = envelopes;
    assert.equal(meta.statusCode, 200);
    assert.equal(meta.contentType, "text/event-stream");
    assert.equal(meta.headers["content-type"], "text/event-stream");
  });

  it("events are JSON if their data is JSON, and strings otherwise", async () => {
    const texts = [
      "1",
      "-0",
      "1e999",
      '"\\ud800"',
      "null",
      "true",
      "[DONE]",
      "nul",
      "01",
      '{"a":1',
      '{"__proto__":1}',
      "",
      " 1 ",
      '"\u2028"',
      "[[[[1]]]]",
      "1 2",
      "ünïcode \u{1f600}",
      'quote " back \\ tab \t',
    ];
    const { url } = await sending(
      texts.map((text) => `data:${text.startsWith(" ") ? " " : ""}${text}\n\n`).join(""),
    );
    const expected = texts.map((text) => {
      try {
        return JSON.parse(text);
      } catch {
        return text;
      }
    });
    assert.deepEqual(dataOf(await all(subscription({ baseUrl: url })({}, {}))), expected);
  });

  it("events arrive however the stream is split", async () => {
    const text =
      '\ufeffevent: ü\r\nid: 7\r\ndata: {"a":\r\ndata: "é"}\r\n\r\ndata: x\rdata: y\r\r: z\n\ndata: last\n\n';
    const bytes = Buffer.from(text);
    const { url } = await sending(...Array.from(bytes, (_, index) => bytes.subarray(index, index + 1)));
    const envelopes = await all(subscription({ baseUrl: url })({}, {}));
    assert.deepEqual(dataOf(envelopes), [{ a: "é" }, "x\ny", "last"]);
    assert.deepEqual(envelopes[0].meta.sse, { event: "ü", id: "7" });
  });

  it("a hundred thousand events arrive complete and in order", async () => {
    const { url } = await serve(async (_, response) => {
      response.writeHead(200, EVENTS);
      for (let at = 0; at < 100_000; at += 500) {
        let text = "";
        for (let index = at; index < at + 500; index++) text += `id: ${index}\ndata: {"n":${index}}\n\n`;
        if (!response.write(text)) await new Promise((resolve) => response.once("drain", resolve));
      }
      response.end();
    });
    let count = 0;
    for await (const { data, meta } of subscription({ baseUrl: url })({}, {})) {
      assert.equal(data.n, count);
      assert.equal(meta.sse.id, String(count));
      count++;
    }
    assert.equal(count, 100_000);
  });

  it("events pass through subscribe, and take the declared shape", async () => {
    const schema = {
      type: "object",
      properties: { n: { type: "integer" } },
      required: ["n"],
      additionalProperties: false,
    };
    const responses = { 200: { description: "", content: { "text/event-stream": { schema } } } };
    const { url } = await sending('data: {"n":"7","x":1}\n\n');
    const registry = registryOf({ "/": { get: { operationId: "it", responses } } }, { baseUrl: url });
    assert.deepEqual(dataOf(await all(subscribe(registry, "t.it", {}, {}))), [{ n: 7 }]);
  });
});

describe("a compressed stream", () => {
  for (const [encoding, make] of Object.entries({
    gzip: createGzip,
    deflate: createDeflate,
    br: createBrotliCompress,
  })) {
    it(`events of a stream compressed with ${encoding} arrive as they are sent`, async () => {
      let ask;
      const { url } = await serve((_, response) => {
        response.writeHead(200, { ...EVENTS, "content-encoding": encoding });
        const compressed = make();
        compressed.pipe(response);
        let sent = 0;
        ask = () => {
          compressed.write(`data: ${++sent}\n\n`);
          compressed.flush();
        };
        ask();
      });
      const stream = subscription({ baseUrl: url })({}, {});
      // The server sends the next event only when the one before has arrived.
      for (let expected = 1; expected <= 3; expected++) {
        assert.equal((await stream.next()).value.data, expected);
        ask();
      }
      await stream.return();
    });
  }
});

describe("a subscription", () => {
  it("an SSE subscription is recognised as an async generator function", () => {
    const [operation] = FromOpenAPI(documentOf({ "/": { get: { operationId: "it", responses: sse } } }), {
      namespace: "t",
      baseUrl: "http://localhost",
    });
    assert.equal(operation.type, "subscription");
    assert.equal(operation.handler[Symbol.toStringTag], "AsyncGeneratorFunction");
    new OperationRegistry().register(operation);
    const stream = operation.handler({}, {});
    assert.equal(Object.prototype.toString.call(stream), "[object AsyncGenerator]");
    assert.equal(stream[Symbol.asyncIterator](), stream);
  });

  it("an SSE subscription accepts event streams only, and sends its input", async () => {
    const { url, received } = await sending("data: 1\n\n");
    const responses = {
      200: { description: "", content: { "application/json": {}, "text/event-stream": {} } },
    };
    const requestBody = { content: { "application/json": {} } };
    const stream = subscription(
      { baseUrl: url, auth: { type: "bearer", token: "abc" } },
      { method: "post", responses, requestBody },
    );
    assert.deepEqual(
      dataOf(await all(stream({ body: { stream: true } }, { metadata: { headers: { "X-A": "1" } } }))),
      [1],
    );
    const [{ headers, content, method }] = received;
    assert.equal(method, "POST");
    assert.equal(headers.accept, "text/event-stream");
    assert.equal(headers.authorization, "Bearer abc");
    assert.equal(headers["x-a"], "1");
    assert.equal(content.toString(), '{"stream":true}');
  });

  it("an SSE subscription sends a Blob, which has to be read first", async () => {
    const { url, received } = await sending("data: 1\n\n");
    const requestBody = { content: { "application/octet-stream": {} } };
    const stream = subscription({ baseUrl: url }, { method: "post", requestBody });
    assert.deepEqual(dataOf(await all(stream({ body: new Blob(["abc"]) }, {}))), [1]);
    assert.equal(received[0].content.toString(), "abc");
  });

  it("an SSE subscription does nothing before the first next()", async () => {
    const { url, received } = await sending("data: 1\n\n");
    const stream = subscription({ baseUrl: url })({}, {});
    await stream.return();
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
    assert.equal(received.length, 0);
  });

  it("concurrent next() calls of an SSE subscription resolve in order", async () => {
    const { url } = await sending("data: 1\n\n", "data: 2\n\n", "data: 3\n\n");
    const stream = subscription({ baseUrl: url })({}, {});
    const steps = await Promise.all([stream.next(), stream.next(), stream.next(), stream.next()]);
    assert.deepEqual(
      steps.map(({ done, value }) => (done ? "end" : value.data)),
      [1, 2, 3, "end"],
    );
  });
});

describe("what comes instead of a stream", () => {
  const answering = async (status, headers, body, config) => {
    const { url } = await serve((_, response) => {
      response.writeHead(status, headers);
      response.end(body);
    });
    return all(subscription({ baseUrl: url, ...config })({}, {}));
  };

  it("a JSON response instead of a stream is one value", async () => {
    const [envelope, ...rest] = await answering(200, { "content-type": "application/json" }, '{"a":1}');
    assert.deepEqual(envelope.data, { a: 1 });
    assert.equal(envelope.meta.contentType, "application/json");
    assert.equal(envelope.meta.sse, undefined);
    assert.equal(rest.length, 0);
  });

  it("an empty response instead of a stream is its end", async () => {
    assert.deepEqual(await answering(204, {}), []);
    assert.deepEqual(await answering(200, { "content-type": "application/json" }, ""), []);
  });

  it("a text response instead of a stream is read as the stream that was promised", async () => {
    assert.deepEqual(dataOf(await answering(200, { "content-type": "text/plain" }, "data: 1\n\n")), [1]);
    assert.deepEqual(dataOf(await answering(200, {}, "data: 1\n\n")), [1]);
  });

  it("an image instead of a stream is an error", async () => {
    const error = await failureOf(answering(200, { "content-type": "image/png" }, "x"));
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /a stream was expected, and the response is image\/png/);
  });

  it("an error status is thrown before the first event, with its body", async () => {
    const error = await failureOf(answering(429, { "content-type": "application/json" }, '{"why":"busy"}'));
    assert.match(error.message, /^HTTP 429: Too Many Requests, in t\./);
    assert.deepEqual(error.details.body, { why: "busy" });
    const binary = await failureOf(answering(500, { "content-type": "image/png" }, Buffer.from([255])));
    assert.ok(binary.details.body instanceof ArrayBuffer);
  });

  it("opening a stream is retried as `retry` says", async () => {
    let count = 0;
    const { url } = await serve((_, response) => {
      response.writeHead(count++ === 0 ? 503 : 200, EVENTS);
      response.end("data: 1\n\n");
    });
    assert.deepEqual(
      dataOf(await all(subscription({ baseUrl: url, retry: { retries: 1, delay: 1 } })({}, {}))),
      [1],
    );
  });
});

describe("lines of JSON", () => {
  it("newline-delimited JSON is one value per row", async () => {
    for (const mediaType of ["application/x-ndjson", "application/jsonl"]) {
      const { url } = await serve((_, response) => {
        response.writeHead(200, { "content-type": mediaType });
        response.write('{"a":1}\r\n\n[2');
        setTimeout(() => response.end(']\n"last"'), 10);
      });
      const envelopes = await all(subscription({ baseUrl: url }, { responses: answers(mediaType) })({}, {}));
      assert.deepEqual(dataOf(envelopes), [{ a: 1 }, [2], "last"]);
      assert.equal(envelopes[0].meta.contentType, mediaType);
      assert.equal(envelopes[0].meta.sse, undefined);
    }
  });

  it("invalid newline-delimited JSON ends the stream after the values before it", async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { "content-type": "application/x-ndjson" });
      response.end("1\n2\noops\n3\n");
    });
    const stream = subscription({ baseUrl: url }, { responses: answers("application/x-ndjson") })({}, {});
    assert.equal((await stream.next()).value.data, 1);
    assert.equal((await stream.next()).value.data, 2);
    await assert.rejects(stream.next(), { code: "EXECUTION_ERROR", message: /line 3 is not JSON/ });
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
  });
});

describe("leaving a stream closes its connection", () => {
  it("break closes the connection of a stream", async () => {
    const { url, state } = await staying();
    for await (const { data } of subscription({ baseUrl: url })({}, {})) {
      assert.equal(data, 1);
      break;
    }
    await until(() => state.closed === 1);
  });

  it("return() while next() is pending closes the connection of a stream", async () => {
    const { url, state } = await staying();
    const stream = subscription({ baseUrl: url })({}, {});
    await stream.next();
    const waiting = [stream.next(), stream.next()];
    assert.deepEqual(await stream.return(), { done: true, value: undefined });
    assert.deepEqual(await Promise.all(waiting), [
      { done: true, value: undefined },
      { done: true, value: undefined },
    ]);
    await until(() => state.closed === 1);
  });

  it("return() before there is a response closes the connection of a stream", async () => {
    const { url, state } = await (async () => {
      const state = { open: 0, closed: 0 };
      const server = await serve((_, response) => {
        state.open++;
        response.on("close", () => state.closed++);
      });
      return { ...server, state };
    })();
    const stream = subscription({ baseUrl: url })({}, {});
    const waiting = stream.next();
    await until(() => state.open === 1);
    await stream.return();
    assert.deepEqual(await waiting, { done: true, value: undefined });
    await until(() => state.closed === 1);
  });

  it("throw() closes the connection of a stream", async () => {
    const { url, state } = await staying();
    const stream = subscription({ baseUrl: url })({}, {});
    await stream.next();
    await assert.rejects(stream.throw(new Error("mine")), /mine/);
    await until(() => state.closed === 1);
  });

  it("return() through subscribe while next() is pending closes the connection of a stream", async () => {
    const { url, state } = await staying();
    const registry = registryOf({ "/": { get: { operationId: "it", responses: sse } } }, { baseUrl: url });
    const stream = subscribe(registry, "t.it", {}, {});
    await stream.next();
    const waiting = stream.next();
    await stream.return();
    assert.deepEqual(await waiting, { done: true, value: undefined });
    await until(() => state.closed === 1);
  });

  it("a signal closes the connection of a stream, with an error for the pending or following next()", async () => {
    const { url, state } = await staying();
    for (const waitsFirst of [true, false]) {
      const controller = new AbortController();
      const stream = subscription({ baseUrl: url })({}, { signal: controller.signal });
      await stream.next();
      const before = state.closed;
      const waiting = waitsFirst ? failureOf(stream.next()) : undefined;
      controller.abort();
      const error = await (waiting ?? failureOf(stream.next()));
      assert.equal(error.code, "ABORTED");
      assert.deepEqual(await stream.next(), { done: true, value: undefined });
      await until(() => state.closed === before + 1);
    }
  });

  it("a stream with an aborted signal opens no connection", async () => {
    const { url, received } = await sending("data: 1\n\n");
    const stream = subscription({ baseUrl: url })({}, { signal: AbortSignal.abort() });
    await assert.rejects(stream.next(), { code: "ABORTED" });
    assert.equal(received.length, 0);
  });

  it("closeAll() closes the connection of a stream, with an error for the pending next()", async () => {
    const { url, state } = await staying();
    const services = new OpenAPIServiceRegistry();
    const document = documentOf({ "/": { get: { operationId: "it", responses: sse } } });
    const [{ handler }] = services.add("t", document, { namespace: "t", baseUrl: url });
    const stream = handler({}, {});
    await stream.next();
    const waiting = failureOf(stream.next());
    await services.closeAll();
    assert.equal((await waiting).code, "ABORTED");
    await until(() => state.closed === 1);
  });

  it("a stream that has ended leaves no listener on its signal", async () => {
    const { url } = await sending("data: 1\n\n");
    const { signal } = new AbortController();
    let listeners = 0;
    signal.addEventListener = () => listeners++;
    signal.removeEventListener = () => listeners--;
    await all(subscription({ baseUrl: url })({}, { signal }));
    assert.equal(listeners, 0);
  });
});

describe("a connection that is lost", () => {
  /** Sends one event per connection, the one after `Last-Event-ID`; says 204 after the third. */
  const forgetful = () =>
    serve((request, response) => {
      const next = Number(request.headers["last-event-id"] ?? 0) + 1;
      if (next > 3) {
        response.writeHead(204);
        return response.end();
      }
      response.writeHead(200, { ...EVENTS, "x-connection": String(next) });
      response.write(`retry: 1\nid: ${next}\ndata: ${next}\n\ndata: unfinished`);
      setTimeout(() => response.destroy(), 10);
    });

  it("a lost connection is an error of the stream, after its events", async () => {
    const { url } = await forgetful();
    const stream = subscription({ baseUrl: url })({}, {});
    assert.equal((await stream.next()).value.data, 1);
    const error = await failureOf(stream.next());
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.ok(error.message.includes(new URL(url).host), error.message);
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
  });

  it("a lost connection is made again if configured, and the stream goes on", async () => {
    const { url, received } = await forgetful();
    const envelopes = await all(subscription({ baseUrl: url, sse: { reconnect: true } })({}, {}));
    assert.deepEqual(dataOf(envelopes), [1, 2, 3]);
    assert.deepEqual(
      envelopes.map(({ meta }) => [meta.sse.id, meta.headers["x-connection"]]),
      [
        ["1", "1"],
        ["2", "2"],
        ["3", "3"],
      ],
    );
    assert.deepEqual(
      received.map(({ headers }) => headers["last-event-id"]),
      [undefined, "1", "2", "3"],
    );
  });

  it("a stream begins at the configured event id", async () => {
    const { url } = await forgetful();
    const stream = subscription({ baseUrl: url, sse: { lastEventId: "2" } })({}, {});
    const { value } = await stream.next();
    assert.deepEqual(value.meta.sse, { event: "message", id: "3", retry: 1 });
    await stream.return();
  });

  it("a lost connection is given up after so many attempts, and the error counts them", async () => {
    let count = 0;
    const { url } = await serve((_, response) => {
      if (count++ > 0) return sendJson(response, {}, 503);
      response.writeHead(200, EVENTS);
      response.end("retry: 1\ndata: 1\n\n");
    });
    const stream = subscription({ baseUrl: url, sse: { reconnect: true, maxRetries: 2 } })({}, {});
    await stream.next();
    await assert.rejects(stream.next(), /HTTP 503: Service Unavailable \(tried 3 times\)/);
    assert.equal(count, 3);
  });

  it("a lost connection is not made again for a consumer that has left", async () => {
    const { url, received } = await forgetful();
    const stream = subscription({ baseUrl: url, sse: { reconnect: true } })({}, {});
    await stream.next();
    await stream.return();
    const { length } = received;
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(received.length, length);
  });
});

describe("the time limit of a stream", () => {
  it("the time limit of a stream ends with its headers", async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, EVENTS);
      response.flushHeaders();
      setTimeout(() => response.end("data: late\n\n"), 1500);
    });
    assert.deepEqual(dataOf(await all(subscription({ baseUrl: url, timeout: 1000 })({}, {}))), ["late"]);
    const { url: silent } = await serve(() => {});
    await assert.rejects(all(subscription({ baseUrl: silent, timeout: 50 })({}, {})), { code: "TIMEOUT" });
  });
});
