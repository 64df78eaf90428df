// What can happen to a stream, through both drivers.

import assert from "node:assert/strict";
import { broken, EVENTS, events, JSON_TYPE, RETRY, sized, throughBothDrivers, to } from "./both-drivers.mjs";
import { sendJson, until } from "./support.mjs";

throughBothDrivers("streams", {
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
      assert.match(got[1].message, /line 2 is not JSON/);
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
      assert.match(got[0].message, /not valid JSON, in t\./);
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
      assert.match(got[0].message, /a stream was expected, and the response is image\/png, in t\./);
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
    answer: (response, count) => (count < 3 ? sendJson(response, {}, 503) : events("data: 1\n\n")(response)),
    config: { retry: RETRY },
    gives: ({ got }) => assert.equal(got[0].data, 1),
  },
  "opening that is tried in vain": {
    stream: true,
    answer: (response) => sendJson(response, {}, 503),
    config: { retry: RETRY },
    gives: ({ got }) =>
      assert.match(got[0].message, /^HTTP 503: Service Unavailable \(tried 3 times\), in t\./),
  },
  "a redirect to another origin": {
    stream: true,
    answer: (response, _, __, { other }) => to(other)(response),
    other: (_, response) => events("data: 1\n\n")(response),
    config: {
      auth: { type: "bearer", token: "t0k3n-value" },
      sse: { lastEventId: "4" },
      allowPrivateAddresses: true,
    },
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
    config: { timeout: 500, retry: RETRY },
    closes: true,
    gives: ({ got, seen }) => {
      assert.equal(got[0].code, "TIMEOUT");
      assert.equal(seen.length, 1);
    },
  },
  "a body that is no stream and not there in time": {
    stream: true,
    answer: (response) => sized(response, "application/json", 100, "[1"),
    config: { timeout: 500 },
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
});
