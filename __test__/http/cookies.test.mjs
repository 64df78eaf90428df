// Cookies of an upstream server stay with the one who called it.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildCallHandler, PendingRequestMap } from "@alkdev/operations";
import { answers, registryOf, sendJson, serve } from "./support.mjs";

describe("set-cookie of an upstream server", () => {
  const setUp = async () => {
    const { url: baseUrl } = await serve((request, response) => {
      response.setHeader("set-cookie", ["session=s3cret; HttpOnly", "b=2"]);
      response.setHeader("x-kept", "1");
      if (request.url === "/events") {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end("data: 1\n\n");
      } else sendJson(response, {}, request.url === "/bad" ? 500 : 200);
    });
    const registry = registryOf(
      {
        "/good": { get: { operationId: "good", responses: answers() } },
        "/bad": { get: { operationId: "bad", responses: answers() } },
        "/events": { get: { operationId: "events", responses: answers("text/event-stream") } },
      },
      { baseUrl },
    );
    const callMap = new PendingRequestMap();
    callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
    return { registry, callMap };
  };

  it("set-cookie of an upstream server does not reach callers through the call protocol", async () => {
    const { callMap } = await setUp();
    const { meta } = await callMap.call("t.good", {});
    assert.equal(meta.headers["x-kept"], "1");
    assert.equal("set-cookie" in meta.headers, false);
    for await (const event of callMap.subscribe("t.events", {})) {
      assert.equal(event.meta.headers["x-kept"], "1");
      assert.equal("set-cookie" in event.meta.headers, false);
    }
    await assert.rejects(callMap.call("t.bad", {}), (error) => {
      assert.equal(error.details.headers["x-kept"], "1");
      assert.equal("set-cookie" in error.details.headers, false);
      return true;
    });
  });

  it("set-cookie of an upstream server is in the result of a direct call", async () => {
    const { registry } = await setUp();
    const { meta } = await registry.execute("t.good", {}, {});
    assert.equal(meta.headers["set-cookie"], "session=s3cret; HttpOnly, b=2");
  });
});
