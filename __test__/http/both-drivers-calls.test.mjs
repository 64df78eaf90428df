// What can happen to a call, through both drivers.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { broken, JSON_TYPE, json, RETRY, sized, throughBothDrivers, to } from "./both-drivers.mjs";
import { failureOf, sendJson, serve, single, until } from "./support.mjs";

throughBothDrivers("calls", {
  "a JSON value": {
    answer: (response) => {
      response.writeHead(201, { ...JSON_TYPE, "x-marker": "m" });
      response.end('{"a":[1]}');
    },
    gives: ({ got }) => assert.deepEqual(got[0].data, { a: [1] }),
  },
  "a text in an old encoding": {
    answer: (response) => {
      response.writeHead(200, { "content-type": "text/plain; charset=shift_jis" });
      response.end(Buffer.from([0x83, 0x65, 0x83, 0x58, 0x83, 0x67]));
    },
    gives: ({ got }) => assert.equal(got[0].data, "テスト"),
  },
  bytes: {
    answer: (response) => {
      response.writeHead(200, { "content-type": "image/png" });
      response.end(Buffer.from([0, 255]));
    },
    gives: ({ got }) => assert.deepEqual(got[0].data, [0, 255]),
  },
  nothing: {
    answer: (response) => {
      response.writeHead(204);
      response.end();
    },
    gives: ({ got }) => assert.equal(got[0].statusCode, 204),
  },
  "a body and headers that are sent": {
    method: "post",
    operation: json,
    input: { body: { a: "ü" } },
    headers: { "X-Own": "1" },
    config: { auth: { type: "bearer", token: "t0k3n-value" } },
    answer: (response, _, { content }) => sendJson(response, JSON.parse(content)),
    gives: ({ got, seen }) => {
      assert.deepEqual(got[0].data, { a: "ü" });
      assert.deepEqual([seen[0].authorization, seen[0].own], ["Bearer t0k3n-value", "1"]);
    },
  },
  "a status outside 2XX with a JSON body": {
    answer: (response) => sendJson(response, { why: "t0k3n-value" }, 403),
    config: { auth: { type: "bearer", token: "t0k3n-value" } },
    gives: ({ got }) => {
      assert.match(got[0].message, /^HTTP 403: Forbidden, in t\./);
      assert.deepEqual(got[0].details.body, { why: "[secret]" });
    },
  },
  "a status outside 2XX with bytes": {
    answer: (response) => {
      response.writeHead(500, "Own Words", { "content-type": "image/png" });
      response.end(Buffer.from([1, 2]));
    },
    gives: ({ got }) => {
      assert.match(got[0].message, /^HTTP 500: Own Words, in t\./);
      assert.deepEqual(got[0].details.body, [1, 2]);
    },
  },
  "JSON that is none": {
    answer: (response) => {
      response.writeHead(200, JSON_TYPE);
      response.end("<html>");
    },
    config: { retry: RETRY },
    gives: ({ got, seen }) => {
      assert.match(got[0].message, /not valid JSON, in t\./);
      assert.equal(seen.length, 1);
    },
  },
  "a connection that closes without an answer": {
    answer: broken,
    gives: ({ got }) => assert.match(got[0].message, /^The request to <host 0> failed: <why>$/),
  },
  "a body that breaks off": {
    answer: (response) => {
      sized(response, "text/plain", 100, "abc");
      setTimeout(() => response.destroy(), 10);
    },
    config: { retry: RETRY },
    gives: ({ got, seen }) => {
      assert.match(got[0].message, /<why> \(tried 3 times\)$/);
      assert.equal(seen.length, 3);
    },
  },
  "a POST whose connection is lost": {
    method: "post",
    operation: json,
    input: { body: 1 },
    answer: broken,
    config: { retry: RETRY },
    gives: ({ seen }) => assert.equal(seen.length, 1),
  },
  "retries until it works, with Retry-After": {
    answer: (response, count) => {
      if (count === 1) return response.destroy();
      if (count === 2) {
        response.writeHead(429, { "retry-after": "0" });
        return response.end();
      }
      return sendJson(response, count);
    },
    config: { retry: { retries: 2, delay: 1 } },
    gives: ({ got }) => assert.equal(got[0].data, 3),
  },
  "retries that do not help": {
    method: "put",
    operation: json,
    input: { body: [1] },
    answer: (response) => sendJson(response, {}, 503),
    config: { retry: RETRY },
    gives: ({ got, seen }) => {
      assert.match(got[0].message, /^HTTP 503: Service Unavailable \(tried 3 times\), in t\./);
      assert.deepEqual(new Set(seen.map(({ body }) => body)), new Set(["[1]"]));
    },
  },
  "a Retry-After that is too long": {
    answer: (response) => {
      response.writeHead(503, { "retry-after": "3600" });
      response.end();
    },
    config: { retry: RETRY },
    gives: ({ seen }) => assert.equal(seen.length, 1),
  },
  "a redirect within the origin takes credentials along": {
    answer: (response, count) => (count === 1 ? to("/there?x=1")(response) : sendJson(response, count)),
    config: { auth: { type: "apiKey", token: "t0k3n-value" } },
    gives: ({ seen }) => {
      assert.deepEqual(
        seen.map(({ request, key }) => [request, key]),
        [
          ["GET /", "t0k3n-value"],
          ["GET /there?x=1", "t0k3n-value"],
        ],
      );
    },
  },
  "a redirect to another origin does not": {
    answer: (response, _, __, { other }) => to(`${other}/there`)(response),
    other: (_, response) => sendJson(response, "other"),
    headers: { "X-Own": "1" },
    config: { auth: { type: "apiKey", token: "t0k3n-value" }, allowPrivateAddresses: true },
    gives: ({ got, other }) => {
      assert.equal(got[0].data, "other");
      assert.deepEqual([other[0].key, other[0].own], [undefined, undefined]);
    },
  },
  "a POST that 303 makes a GET, and 307 does not": {
    method: "post",
    operation: json,
    input: { body: { a: 1 } },
    answer: (response, count) => {
      if (count === 1) return to("/again", 307)(response);
      return count === 2 ? to("/seen", 303)(response) : sendJson(response, 1);
    },
    gives: ({ seen }) => {
      assert.deepEqual(
        seen.map(({ request, body }) => [request, body]),
        [
          ["POST /", '{"a":1}'],
          ["POST /again", '{"a":1}'],
          ["GET /seen", ""],
        ],
      );
    },
  },
  "redirects without end": {
    answer: to("/"),
    config: { retry: RETRY },
    gives: ({ got, seen }) => {
      assert.match(got[0].message, /redirected more than 20 times$/);
      assert.equal(seen.length, 21);
    },
  },
  "a redirect to nowhere": {
    answer: to("mailto:somebody"),
    gives: ({ got }) => assert.match(got[0].message, /not an http or https URL$/),
  },
  "a retry after a redirect begins at the beginning": {
    answer: (response, count) => {
      if (count % 2 === 1) return to("/there")(response);
      return count === 2 ? sendJson(response, {}, 503) : sendJson(response, 1);
    },
    config: { retry: RETRY },
    gives: ({ seen }) =>
      assert.equal(seen.map(({ request }) => request).join(), "GET /,GET /there,GET /,GET /there"),
  },
  "a response that is announced too large": {
    answer: (response) => {
      response.writeHead(200, { ...JSON_TYPE, "content-length": 2000 });
      response.end("1".repeat(2000));
    },
    config: { maxResponseBytes: 1000, retry: RETRY },
    gives: ({ got, seen }) => {
      assert.match(got[0].message, /limit of 1000 bytes/);
      assert.equal(seen.length, 1);
    },
  },
  "a response that becomes too large": {
    answer: (response) => {
      response.writeHead(200, JSON_TYPE);
      response.write("1".repeat(600));
      setTimeout(() => response.end("1".repeat(600)), 10);
    },
    config: { maxResponseBytes: 1000 },
    gives: ({ got }) => assert.match(got[0].message, /limit of 1000 bytes/),
  },
  "no headers in time": {
    answer: () => {},
    config: { timeout: 500, retry: RETRY },
    closes: true,
    gives: ({ got, seen }) => {
      assert.equal(got[0].code, "TIMEOUT");
      assert.equal(
        got[0].message,
        "<host 0> did not answer within 500 ms, the `timeout` of the configuration",
      );
      assert.equal(seen.length, 1);
    },
  },
  "no body in time": {
    answer: (response) => sized(response, "text/plain", 100, "abc"),
    config: { timeout: 500 },
    closes: true,
    gives: ({ got }) => assert.equal(got[0].code, "TIMEOUT"),
  },
  "a pause that the time limit does not allow": {
    answer: (response) => {
      response.writeHead(503, { "retry-after": "20" });
      response.end();
    },
    config: { timeout: 800, retry: RETRY },
    gives: ({ got }) =>
      assert.equal(
        got[0].message,
        "<host 0> did not answer within 800 ms, the `timeout` of the configuration",
      ),
  },
  "too late in the second try": {
    answer: (response, count) => (count === 1 ? sendJson(response, {}, 503) : undefined),
    config: { timeout: 1_000, retry: RETRY },
    gives: ({ got }) => assert.match(got[0].message, /within 1000 ms, .* \(tried 2 times\)$/),
  },
  "a signal while headers are awaited": {
    answer: () => {},
    meanwhile: async ({ abort, received }) => {
      await until(() => received.length === 1);
      abort();
    },
    closes: true,
    gives: ({ got }) => assert.equal(got[0].message, "The request to <host 0> was aborted"),
  },
  "a signal while a body is read": {
    answer: (response) => sized(response, "text/plain", 100, "abc"),
    meanwhile: async ({ abort, received }) => {
      await until(() => received.length === 1);
      setTimeout(abort, 20);
    },
    closes: true,
    gives: ({ got }) => assert.equal(got[0].code, "ABORTED"),
  },
  "a signal during a pause": {
    answer: (response) => {
      response.writeHead(503, { "retry-after": "20" });
      response.end();
    },
    config: { retry: RETRY },
    meanwhile: async ({ abort, state }) => {
      await until(() => state.closed === 1);
      setTimeout(abort, 20);
    },
    gives: ({ got }) => assert.equal(got[0].code, "ABORTED"),
  },
  "a service that is closed": {
    answer: () => {},
    meanwhile: async ({ close, received }) => {
      await until(() => received.length === 1);
      await close();
    },
    closes: true,
    gives: ({ got }) => assert.equal(got[0].message, "The request to <host 0> was aborted"),
  },
});

for (const [driver, config] of [
  ["the native client", {}],
  ["a fetch of the user's", { fetch: globalThis.fetch }],
]) {
  describe(`what is told about requests and responses: ${driver}`, () => {
    it(`headers do not mention a compression that was undone: ${driver}`, async () => {
      const { url } = await serve((_, response) => {
        const body = gzipSync('{"a":1}');
        response.writeHead(200, {
          ...JSON_TYPE,
          "content-encoding": "gzip",
          "content-length": body.length,
          "x-marker": "m",
        });
        response.end(body);
      });
      const { data, meta } = await single("get", {}, { baseUrl: url, ...config })({}, {});
      assert.deepEqual(data, { a: 1 });
      assert.equal(meta.headers["x-marker"], "m");
      assert.equal("content-encoding" in meta.headers, false);
      assert.equal("content-length" in meta.headers, false);
    });

    it(`a body that is announced as too large is not awaited: ${driver}`, async () => {
      const { url } = await serve((_, response) =>
        sized(response, "text/plain", 1_000_000, "the first of it"),
      );
      const call = single("get", {}, { baseUrl: url, maxResponseBytes: 1_000, ...config });
      const error = await failureOf(call({}, {}));
      assert.equal(error.details.reason, "too-large");
    });

    it(`the Content-Length of a response to HEAD is no body: ${driver}`, async () => {
      const { url } = await serve((_, response) => {
        response.writeHead(200, { ...JSON_TYPE, "content-length": 1_000_000 });
        response.end();
      });
      const call = single(
        "head",
        {},
        { baseUrl: url, maxResponseBytes: 1_000, methods: ["head"], ...config },
      );
      const { data, meta } = await call({}, {});
      assert.deepEqual([data, meta.headers["content-length"]], [undefined, "1000000"]);
    });

    it(`a connection that the server has closed has the system error as its cause: ${driver}`, async () => {
      const { url } = await serve((_, response) => response.destroy());
      const error = await failureOf(single("get", {}, { baseUrl: url, ...config })({}, {}));
      assert.equal(error.details.cause, "ECONNRESET");
    });

    it(`what no request can carry is refused before anything is sent: ${driver}`, async () => {
      const { url, received } = await serve((_, response) => sendJson(response, 1));
      const parameters = [{ name: "q", in: "query", schema: {} }];
      const call = single("get", { parameters }, { baseUrl: url, ...config });
      for (const [q, message] of [
        ["a\ud800b", /half of a character \(a lone surrogate\)/],
        ["a".repeat(5_000_000), /its URL has 50000\d\d bytes, and 65534 are the most/],
      ]) {
        const error = await failureOf(call({ q }, {}));
        assert.equal(error.code, "VALIDATION_ERROR");
        assert.match(error.message, message);
      }
      assert.equal(received.length, 0);
    });
  });
}
