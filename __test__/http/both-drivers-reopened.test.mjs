// What can happen to a stream that is opened again, through both drivers.

import assert from "node:assert/strict";
import { broken, events, throughBothDrivers, to } from "./both-drivers.mjs";
import { sendJson, until } from "./support.mjs";

throughBothDrivers(
  "streams that are opened again",
  {
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
        return count < 3 ? events(`data: ${count}\n\n`)(response) : response.writeHead(204).end();
      },
      gives: ({ got }) =>
        assert.deepEqual(
          got.slice(0, 2).map(({ data }) => data),
          [1, 2],
        ),
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
        assert.match(got[1].message, /image\/png \(tried 2 times\), in t\./);
        assert.equal(seen.length, 2);
      },
    },
    "to a refusal, which is final": {
      answer: (response, count) =>
        count === 1 ? events("retry: 1\ndata: 1\n\n")(response) : sendJson(response, {}, 401),
      gives: ({ got, seen }) => {
        assert.match(got[1].message, /^HTTP 401: Unauthorized \(tried 2 times\), in t\./);
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
        assert.match(got[1].message, /^HTTP 503: Service Unavailable \(tried 3 times\), in t\./);
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
        await new Promise((resolve) => setTimeout(resolve, 1000));
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
        await new Promise((resolve) => setTimeout(resolve, 1000));
      },
      closes: true,
      gives: ({ got, seen }) => {
        assert.equal(got[1].code, "ABORTED");
        assert.equal(seen.length, 2);
      },
    },
    "not with a POST, which would run twice": {
      method: "post",
      answer: (response) => events("retry: 0\ndata: 1\n\n")(response),
      gives: ({ got, seen }) => {
        assert.deepEqual([got[0].data, got[1]], [1, "end"]);
        assert.equal(seen.length, 1);
      },
    },
    "with a POST where the configuration says so": {
      method: "post",
      config: { sse: { reconnect: "any-method", maxRetries: 1 } },
      answer: (response, count) => events(`retry: 0\nid: ${count}\ndata: ${count}\n\n`)(response),
      gives: ({ got, seen }) => {
        assert.deepEqual([got[0].data, got[1].data, got[2]], [1, 2, "end"]);
        assert.deepEqual(
          seen.map(({ after }) => after),
          [undefined, "1"],
        );
      },
    },
    "once more where the server is slow": {
      config: { timeout: 500, sse: { reconnect: true, maxRetries: 2 } },
      answer: (response, count) => (count === 1 ? events("retry: 1\ndata: 1\n\n")(response) : undefined),
      gives: ({ got, seen }) => {
        assert.match(got[1].message, /within 500 ms, .* \(tried 3 times\)$/);
        assert.equal(seen.length, 3);
      },
    },
  },
  { stream: true, config: { sse: { reconnect: true } } },
);
