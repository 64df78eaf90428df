// One table of what can happen to a call or a stream, run twice: through the native client, and through a `fetch` of
// the user's. What the caller gets and what the server sees must be the same.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OpenAPIServiceRegistry } from "@alkdev/operations";
import { answers, documentOf, sendJson, serve, until } from "./support.mjs";

const genuine = globalThis.fetch;
const EVENTS = { "content-type": "text/event-stream" };
const JSON_TYPE = { "content-type": "application/json" };
const json = { requestBody: { content: { "application/json": {} } } };
const RETRY = { retries: 2, delay: 1 };

/** What differs between the drivers by nature: ports, and the words in which a network describes its failures. */
function comparable(text, hosts) {
  let out = text.replaceAll(/(failed: )[^"]*?( \(tried|"|$)/g, "$1<why>$2");
  for (const [index, host] of hosts.entries()) out = out.replaceAll(host, `<host ${index}>`);
  return out;
}

/** An error as what a program can see of it. Why the network failed is worded by whoever noticed. */
function errorOf({ code, message, details }) {
  const { cause, body, headers, ...rest } = details ?? {};
  const bytes = body instanceof ArrayBuffer ? [...new Uint8Array(body)] : body;
  return { code, message, details: { ...rest, body: bytes, type: headers?.["content-type"] } };
}

function envelopeOf({ data, meta: { statusCode, contentType, headers, sse } }) {
  const bytes = data instanceof ArrayBuffer ? [...new Uint8Array(data)] : data;
  return { data: bytes, statusCode, contentType, marker: headers["x-marker"], sse };
}

/** Runs one case with one driver: what the caller got, and what the servers saw. */
async function run(scenario, fetch) {
  const other = await serve((request, response) => scenario.other?.(request, response));
  let count = 0;
  const state = { closed: 0, other: other.url };
  const { url, received } = await serve((request, response) => {
    response.on("close", () => state.closed++);
    return scenario.answer(response, ++count, request, state);
  });
  const { method = "get", stream, operation, config, input = {} } = scenario;
  const type = stream === true ? "text/event-stream" : (stream ?? "application/json");
  const services = new OpenAPIServiceRegistry();
  const document = documentOf({
    "/": { [method]: { operationId: "it", responses: answers(type), ...operation } },
  });
  const [{ handler }] = services.add("t", document, { namespace: "t", baseUrl: url, fetch, ...config });
  const controller = new AbortController();
  const help = { abort: () => controller.abort(), close: () => services.closeAll(), until, received, state };
  const context = { signal: controller.signal, metadata: { headers: scenario.headers ?? {} } };
  const got = [];
  const running = (async () => {
    try {
      const result = handler(input, context);
      if (stream === undefined) got.push(envelopeOf(await result));
      else {
        for await (const envelope of result) {
          got.push(envelopeOf(envelope));
          if (got.length === scenario.leaveAfter) break;
        }
      }
      got.push("end");
    } catch (error) {
      got.push(errorOf(error));
    }
  })();
  await scenario.meanwhile?.({ ...help, got });
  await running;
  if (scenario.closes === true) await until(() => state.closed >= 1);
  await services.closeAll();
  const seen = (requests) =>
    requests.map(({ method, url, headers, content }) => ({
      request: `${method} ${url}`,
      body: content.toString(),
      type: headers["content-type"],
      accept: headers.accept,
      authorization: headers.authorization,
      key: headers["x-api-key"],
      own: headers["x-own"],
      after: headers["last-event-id"],
    }));
  const hosts = [new URL(url).host, new URL(other.url).host];
  const outcome = JSON.stringify({ got, seen: seen(received), other: seen(other.received) }, undefined, 1);
  return JSON.parse(comparable(outcome, hosts));
}

const to =
  (location, status = 302) =>
  (response) => {
    response.writeHead(status, { location });
    response.end("moved");
  };
const events =
  (text, how = (response) => response.end()) =>
  (response) => {
    response.writeHead(200, EVENTS);
    response.write(text);
    setTimeout(() => how(response), 10);
  };
const broken = (response) => response.destroy();
const sized = (response, type, length, text) => {
  response.writeHead(200, { "content-type": type, "content-length": length });
  response.write(text);
};

/** Each case: what the server does, and what must come of it, so that two equal mistakes do not count as agreement. */
const CASES = {
  calls: {
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
        assert.equal(got[0].message, "HTTP 403: Forbidden");
        assert.deepEqual(got[0].details.body, { why: "[secret]" });
      },
    },
    "a status outside 2XX with bytes": {
      answer: (response) => {
        response.writeHead(500, "Own Words", { "content-type": "image/png" });
        response.end(Buffer.from([1, 2]));
      },
      gives: ({ got }) => {
        assert.equal(got[0].message, "HTTP 500: Own Words");
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
        assert.match(got[0].message, /not valid JSON$/);
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
        assert.equal(got[0].message, "HTTP 503: Service Unavailable (tried 3 times)");
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
      config: { auth: { type: "apiKey", token: "t0k3n-value" } },
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
      gives: ({ got }) => assert.match(got[0].message, /no http or https URL$/),
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
      config: { timeout: 60, retry: RETRY },
      closes: true,
      gives: ({ got, seen }) => {
        assert.equal(got[0].code, "TIMEOUT");
        assert.equal(got[0].message, "<host 0> did not answer within 60 ms");
        assert.equal(seen.length, 1);
      },
    },
    "no body in time": {
      answer: (response) => sized(response, "text/plain", 100, "abc"),
      config: { timeout: 60 },
      closes: true,
      gives: ({ got }) => assert.equal(got[0].code, "TIMEOUT"),
    },
    "a pause that the time limit does not allow": {
      answer: (response) => {
        response.writeHead(503, { "retry-after": "20" });
        response.end();
      },
      config: { timeout: 60, retry: RETRY },
      gives: ({ got }) => assert.equal(got[0].message, "<host 0> did not answer within 60 ms"),
    },
    "too late in the second try": {
      answer: (response, count) => (count === 1 ? sendJson(response, {}, 503) : undefined),
      config: { timeout: 100, retry: RETRY },
      gives: ({ got }) => assert.match(got[0].message, /within 100 ms \(tried 2 times\)$/),
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
  },

  streams: {
    events: {
      stream: true,
      answer: (response) => {
        response.writeHead(200, { ...EVENTS, "x-marker": "m" });
        response.end(
          'event: a\nid: 1\nretry: 5\ndata: {"n":1}\n\nother: field\ndata: text\n\n: x\n\ndata: dropped',
        );
      },
      gives: ({ got }) => {
        assert.deepEqual(
          got.slice(0, 2).map(({ data, sse }) => [data, sse]),
          [
            [{ n: 1 }, { event: "a", id: "1", retry: 5 }],
            ["text", { event: "message", id: "1" }],
          ],
        );
        assert.equal(got[2], "end");
      },
    },
    "lines of JSON": {
      stream: "application/x-ndjson",
      answer: (response) => {
        response.writeHead(200, { "content-type": "application/x-ndjson" });
        response.end('{"a":1}\n\n[2]\r\n"last"');
      },
      config: { sse: { reconnect: true } },
      gives: ({ got, seen }) => {
        assert.deepEqual(
          got.slice(0, 3).map(({ data }) => data),
          [{ a: 1 }, [2], "last"],
        );
        assert.equal(seen.length, 1, "lines are not asked for again");
      },
    },
    "lines that are none": {
      stream: "application/x-ndjson",
      answer: (response) => {
        response.writeHead(200, { "content-type": "application/x-ndjson" });
        response.end("1\noops\n2");
      },
      gives: ({ got }) => {
        assert.equal(got[0].data, 1);
        assert.match(got[1].message, /line 2 is none/);
      },
    },
    "JSON instead of a stream": {
      stream: true,
      answer: (response) => sendJson(response, { a: 1 }),
      gives: ({ got }) => assert.deepEqual([got[0].data, got[1]], [{ a: 1 }, "end"]),
    },
    "JSON instead of a stream that is none": {
      stream: true,
      answer: (response) => {
        response.writeHead(200, JSON_TYPE);
        response.end("<html>");
      },
      config: { retry: RETRY },
      gives: ({ got, seen }) => {
        assert.match(got[0].message, /not valid JSON$/);
        assert.equal(seen.length, 1);
      },
    },
    "JSON instead of a stream that breaks off": {
      stream: true,
      answer: (response, count) => {
        if (count > 1) return sendJson(response, count);
        sized(response, "application/json", 100, "[1");
        setTimeout(() => response.destroy(), 10);
      },
      config: { retry: RETRY },
      gives: ({ got }) => assert.equal(got[0].data, 2),
    },
    204: {
      stream: true,
      answer: (response) => {
        response.writeHead(204);
        response.end();
      },
      gives: ({ got }) => assert.deepEqual(got, ["end"]),
    },
    "a picture": {
      stream: true,
      answer: (response) => {
        response.writeHead(200, { "content-type": "image/png" });
        response.end("x");
      },
      config: { retry: RETRY },
      gives: ({ got, seen }) => {
        assert.match(got[0].message, /a stream was expected, and the response is image\/png$/);
        assert.equal(seen.length, 1);
      },
    },
    "an error status": {
      stream: true,
      answer: (response) => sendJson(response, { why: "busy" }, 429),
      gives: ({ got }) => assert.deepEqual(got[0].details.body, { why: "busy" }),
    },
    "opening that is tried again": {
      stream: true,
      answer: (response, count) =>
        count < 3 ? sendJson(response, {}, 503) : events("data: 1\n\n")(response),
      config: { retry: RETRY },
      gives: ({ got }) => assert.equal(got[0].data, 1),
    },
    "opening that is tried in vain": {
      stream: true,
      answer: (response) => sendJson(response, {}, 503),
      config: { retry: RETRY },
      gives: ({ got }) => assert.equal(got[0].message, "HTTP 503: Service Unavailable (tried 3 times)"),
    },
    "a redirect to another origin": {
      stream: true,
      answer: (response, _, __, { other }) => to(other)(response),
      other: (_, response) => events("data: 1\n\n")(response),
      config: { auth: { type: "bearer", token: "t0k3n-value" }, sse: { lastEventId: "4" } },
      gives: ({ got, other }) => {
        assert.equal(got[0].data, 1);
        assert.deepEqual([other[0].authorization, other[0].after], [undefined, "4"]);
      },
    },
    "redirects without end": {
      stream: true,
      answer: to("/"),
      config: { retry: RETRY },
      gives: ({ seen }) => assert.equal(seen.length, 21),
    },
    "no headers in time": {
      stream: true,
      answer: () => {},
      config: { timeout: 60, retry: RETRY },
      closes: true,
      gives: ({ got, seen }) => {
        assert.equal(got[0].code, "TIMEOUT");
        assert.equal(seen.length, 1);
      },
    },
    "a body that is no stream and not there in time": {
      stream: true,
      answer: (response) => sized(response, "application/json", 100, "[1"),
      config: { timeout: 60 },
      closes: true,
      gives: ({ got }) => assert.equal(got[0].code, "TIMEOUT"),
    },
    "events after the time limit": {
      stream: true,
      answer: (response) => {
        response.writeHead(200, EVENTS);
        response.flushHeaders();
        setTimeout(() => response.end("data: late\n\n"), 1500);
      },
      config: { timeout: 1000 },
      gives: ({ got }) => assert.equal(got[0].data, "late"),
    },
    "an event that is too large": {
      stream: true,
      answer: events(`data: 1\n\ndata: ${"x".repeat(2000)}\n\n`),
      config: { sse: { maxEventBytes: 1000, reconnect: true } },
      gives: ({ got, seen }) => {
        assert.equal(got[0].data, 1);
        assert.match(got[1].message, /limit of 1000 bytes/);
        assert.equal(seen.length, 1);
      },
    },
    "one value that is too large": {
      stream: true,
      answer: (response) => sendJson(response, "x".repeat(2000)),
      config: { maxResponseBytes: 1000, retry: RETRY },
      gives: ({ got, seen }) => {
        assert.match(got[0].message, /limit of 1000 bytes/);
        assert.equal(seen.length, 1);
      },
    },
    "a connection that breaks": {
      stream: true,
      answer: events("data: 1\n\ndata: unfinished", broken),
      gives: ({ got }) => {
        assert.equal(got[0].data, 1);
        assert.match(got[1].message, /^The request to <host 0> failed: <why>$/);
      },
    },
    "a signal between events": {
      stream: true,
      answer: events("data: 1\n\n", () => {}),
      meanwhile: async ({ abort, got }) => {
        await until(() => got.length === 1);
        abort();
      },
      closes: true,
      gives: ({ got }) => assert.equal(got[1].code, "ABORTED"),
    },
    "a service that is closed": {
      stream: true,
      answer: events("data: 1\n\n", () => {}),
      meanwhile: async ({ close, got }) => {
        await until(() => got.length === 1);
        await close();
      },
      closes: true,
      gives: ({ got }) => assert.equal(got[1].message, "The request to <host 0> was aborted"),
    },
    "a service that is closed before there are headers": {
      stream: true,
      answer: () => {},
      meanwhile: async ({ close, received }) => {
        await until(() => received.length === 1);
        await close();
      },
      closes: true,
      gives: ({ got }) => assert.equal(got[0].message, "The request to <host 0> was aborted"),
    },
  },

  "streams that are opened again": {
    "after the last event, whether they broke or ended": {
      answer: (response, count) => {
        if (count === 4) return response.writeHead(204).end();
        const how = count === 1 ? broken : (response) => response.end();
        return events(`retry: 1\nevent: e${count}\nid: ${count}\ndata: ${count}\n\n`, how)(response);
      },
      gives: ({ got, seen }) => {
        assert.deepEqual(
          got.slice(0, 3).map(({ data, sse }) => [data, sse.id, sse.event]),
          [1, 2, 3].map((n) => [n, String(n), `e${n}`]),
        );
        assert.deepEqual(
          seen.map(({ after }) => after),
          [undefined, "1", "2", "3"],
        );
      },
    },
    "from where the configuration says, or the call": {
      config: { sse: { reconnect: true, lastEventId: "5" } },
      headers: { "Last-Event-ID": "7" },
      answer: (response, count) =>
        count === 1 ? events("retry: 1\nid: 8\ndata: 1\n\n")(response) : response.writeHead(204).end(),
      gives: ({ seen }) => assert.equal(seen.map(({ after }) => after).join(), "7,8"),
    },
    "with the pause that the first connection asked for": {
      answer: (response, count) => {
        if (count === 1) return events("retry: 1\ndata: 1\n\n")(response);
        return count < 5 ? events(`data: ${count}\n\n`)(response) : response.writeHead(204).end();
      },
      gives: ({ got }) => assert.equal(got.length, 5),
    },
    "to one value, which is delivered": {
      answer: (response, count) =>
        count === 1 ? events("retry: 1\ndata: 1\n\n")(response) : sendJson(response, { last: true }),
      gives: ({ got, seen }) => {
        assert.deepEqual(
          [got[1].data, got[1].contentType, got[2]],
          [{ last: true }, "application/json", "end"],
        );
        assert.equal(seen.length, 2);
      },
    },
    "to lines, which are delivered": {
      answer: (response, count) => {
        if (count === 1) return events("retry: 1\ndata: 1\n\n")(response);
        response.writeHead(200, { "content-type": "application/x-ndjson" });
        return response.end("2\n3\n");
      },
      gives: ({ got, seen }) => {
        assert.deepEqual([got[1].data, got[2].data, got[3]], [2, 3, "end"]);
        assert.equal(seen.length, 2);
      },
    },
    "to a picture, which is final": {
      answer: (response, count) => {
        if (count === 1) return events("retry: 1\ndata: 1\n\n")(response);
        response.writeHead(200, { "content-type": "image/png" });
        return response.end("x");
      },
      gives: ({ got, seen }) => {
        assert.match(got[1].message, /image\/png \(tried 2 times\)$/);
        assert.equal(seen.length, 2);
      },
    },
    "to a refusal, which is final": {
      answer: (response, count) =>
        count === 1 ? events("retry: 1\ndata: 1\n\n")(response) : sendJson(response, {}, 401),
      gives: ({ got, seen }) => {
        assert.equal(got[1].message, "HTTP 401: Unauthorized (tried 2 times)");
        assert.equal(seen.length, 2);
      },
    },
    "to a redirect to nowhere, which is final": {
      answer: (response, count) =>
        count === 1 ? events("retry: 1\ndata: 1\n\n")(response) : to("mailto:x")(response),
      gives: ({ seen }) => assert.equal(seen.length, 2),
    },
    "until attempts without an event are too many": {
      config: { sse: { reconnect: true, maxRetries: 2 } },
      answer: (response, count) => {
        if (count === 1) return events("retry: 1\ndata: 1\n\n")(response);
        return count === 2 ? response.destroy() : sendJson(response, {}, 503);
      },
      gives: ({ got, seen }) => {
        assert.equal(got[1].message, "HTTP 503: Service Unavailable (tried 3 times)");
        assert.equal(seen.length, 3);
      },
    },
    "until they end without an event too often, which is an end": {
      config: { sse: { reconnect: true, maxRetries: 2 } },
      answer: (response, count) => events(count === 1 ? "retry: 1\ndata: 1\n\n" : ": nothing\n\n")(response),
      gives: ({ got, seen }) => {
        assert.equal(got[1], "end");
        assert.equal(seen.length, 3);
      },
    },
    "not for someone who has left": {
      leaveAfter: 2,
      answer: (response, count) => events(`retry: 1\nid: ${count}\ndata: ${count}\n\n`)(response),
      // Long enough for many more requests, if there were any.
      meanwhile: async ({ got }) => {
        await until(() => got.length === 3);
        await new Promise((resolve) => setTimeout(resolve, 150));
      },
      gives: ({ got, seen }) => {
        assert.equal(got[2], "end");
        assert.equal(seen.length, 2);
      },
    },
    "not for someone who has left while nothing came": {
      answer: (response, count) =>
        count === 1 ? events("retry: 1\ndata: 1\n\n")(response) : events("", () => {})(response),
      meanwhile: async ({ abort, received }) => {
        await until(() => received.length === 2);
        abort();
        await new Promise((resolve) => setTimeout(resolve, 150));
      },
      closes: true,
      gives: ({ got, seen }) => {
        assert.equal(got[1].code, "ABORTED");
        assert.equal(seen.length, 2);
      },
    },
    "once more where the server is slow": {
      config: { timeout: 80, sse: { reconnect: true, maxRetries: 2 } },
      answer: (response, count) => (count === 1 ? events("retry: 1\ndata: 1\n\n")(response) : undefined),
      gives: ({ got, seen }) => {
        assert.match(got[1].message, /within 80 ms \(tried 3 times\)$/);
        assert.equal(seen.length, 3);
      },
    },
  },
};

for (const [about, cases] of Object.entries(CASES)) {
  describe(`${about}, through both drivers`, () => {
    const usual = about.endsWith("opened again")
      ? { stream: true, config: { sse: { reconnect: true } } }
      : {};
    for (const [name, given] of Object.entries(cases)) {
      it(name, async () => {
        const scenario = { ...usual, ...given };
        const native = await run(scenario, undefined);
        const driven = await run(scenario, (url, init) => genuine(url, init));
        given.gives(native);
        given.gives(driven);
        assert.deepEqual(driven, native);
      });
    }
  });
}
