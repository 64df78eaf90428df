// Values that are nested as deeply as messages may be, and deeper: whoever would send them is told at once.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, FromOpenAPI, unwrap } from "@alkdev/operations";
import { serve } from "../http/support.mjs";
import { assertNoStalls } from "../support/event-loop.mjs";
import { query, skip, useNats, watch } from "./support.mjs";

assertNoStalls();

const nested = (levels) => {
  let value = 1;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
};
const JSON_OF_ANY_KIND = { "application/json": { schema: {} } };
const DOCUMENT = {
  openapi: "3.1.0",
  info: { title: "deep", version: "1" },
  paths: {
    "/echo": {
      post: {
        operationId: "echo",
        requestBody: { content: JSON_OF_ANY_KIND },
        responses: { 200: { description: "the body", content: JSON_OF_ANY_KIND } },
      },
    },
    "/deep": {
      get: {
        operationId: "deep",
        parameters: [{ name: "levels", in: "query", schema: { type: "integer" } }],
        responses: { 200: { description: "a list of lists", content: JSON_OF_ANY_KIND } },
      },
    },
  },
};

describe("values that are nested deeply", { skip, timeout: 60_000 }, () => {
  const nats = useNats();

  it("deeply nested values arrive over NATS, or are refused at once by their sender", async () => {
    await nats.worker([query("echo", (input) => input), query("deep", ({ levels }) => nested(levels))]);
    const { callMap } = await nats.connect();
    for (const levels of [400, 508, 509, 510]) {
      assert.deepEqual(unwrap(await callMap.call("t.echo", nested(levels))), nested(levels));
      assert.deepEqual(unwrap(await callMap.call("t.deep", { levels })), nested(levels));
    }
    await assert.rejects(callMap.call("t.echo", nested(511)), { code: "EXECUTION_ERROR", message: /nested/ });
    for (const levels of [512, 513, 600]) {
      await assert.rejects(callMap.call("t.echo", nested(levels)), {
        code: "VALIDATION_ERROR",
        message: /nested/,
        details: { operationId: "t.echo", delivery: "none" },
      });
    }
    for (const levels of [511, 512, 600]) {
      await assert.rejects(callMap.call("t.deep", { levels }), {
        code: "EXECUTION_ERROR",
        message: /nested/,
        details: { operationId: "t.deep", delivery: "done" },
      });
    }
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("deeply nested values of native calls arrive over NATS, or are refused at once", async () => {
    const api = await serve((request, response) => {
      const { pathname, searchParams } = new URL(request.url, "http://api");
      const levels = Number(searchParams.get("levels"));
      response.writeHead(200, { "content-type": "application/json" });
      response.end(pathname === "/echo" ? request.content : `${"[".repeat(levels)}1${"]".repeat(levels)}`);
    });
    const { registry } = await nats.worker(FromOpenAPI(DOCUMENT, { namespace: "web", baseUrl: api.url }));
    const seen = watch(registry);
    const { callMap } = await nats.connect();
    for (const levels of [400, 509, 510]) {
      assert.deepEqual(unwrap(await callMap.call("web.echo", { body: nested(levels) })), nested(levels));
      assert.deepEqual(unwrap(await callMap.call("web.deep", { levels })), nested(levels));
    }
    for (const levels of [511, 512, 600]) {
      await assert.rejects(callMap.call("web.echo", { body: nested(levels) }), { code: "VALIDATION_ERROR" });
      await assert.rejects(callMap.call("web.deep", { levels }), {
        code: "EXECUTION_ERROR",
        message: /nested/,
      });
    }
    assert.deepEqual(seen, []);
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("deeply nested details of an error are left out, and the error arrives", async () => {
    await nats.worker([
      query("fails", ({ levels }) => {
        throw new CallError("FULL", "no room", { value: nested(levels) });
      }),
    ]);
    const { callMap } = await nats.connect();
    await assert.rejects(callMap.call("t.fails", { levels: 100 }), {
      code: "FULL",
      details: { value: nested(100), delivery: "done" },
    });
    for (const levels of [511, 512, 5_000]) {
      await assert.rejects(callMap.call("t.fails", { levels }), {
        code: "FULL",
        message: "no room",
        details: { delivery: "done" },
      });
    }
  });
});
