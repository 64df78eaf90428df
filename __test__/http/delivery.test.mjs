// What a caller can know when a call has failed: `details.delivery`, and who was asked.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import { CallError, isRetryable } from "@alkdev/operations";
import { answers, failureOf, handlers, sendJson, serve, single } from "./support.mjs";

const post = { requestBody: { content: { "application/json": {} } } };

/** A port where nobody listens. */
async function closedPort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

describe("details.delivery", () => {
  it('details.delivery is "none" if nothing can have arrived', async () => {
    const baseUrl = await closedPort();
    const refused = await failureOf(single("post", post, { baseUrl })({ body: 1 }, {}));
    assert.equal(refused.details.delivery, "none");
    assert.equal(refused.details.reason, "network");
    assert.equal(refused.details.cause, "ECONNREFUSED");
    assert.equal(isRetryable(refused), true);
    const again = await failureOf(single("post", post, { baseUrl, retry: { retries: 2, delay: 1 } })({}, {}));
    assert.equal(again.details.delivery, "none");
    const signal = AbortSignal.abort();
    const early = await failureOf(single("get", {}, { baseUrl })({}, { signal }));
    assert.deepEqual([early.code, early.details.delivery], ["ABORTED", "none"]);
    // While it waits for another try, nothing is under way.
    const controller = new AbortController();
    const call = single("get", {}, { baseUrl, retry: { retries: 1, delay: 60_000, maxDelay: 60_000 } });
    const waiting = failureOf(call({}, { signal: controller.signal }));
    await new Promise((resolve) => setTimeout(resolve, 300));
    controller.abort();
    assert.equal((await waiting).details.delivery, "none");
  });

  it('details.delivery is "unknown" if the request may have been carried out', async () => {
    let count = 0;
    const { url: baseUrl } = await serve((_, response) => {
      count += 1;
      if (count === 1) response.destroy();
    });
    const lost = await failureOf(single("post", post, { baseUrl })({ body: 1 }, {}));
    assert.deepEqual([lost.code, lost.details.delivery], ["EXECUTION_ERROR", "unknown"]);
    const late = await failureOf(single("get", {}, { baseUrl, timeout: 500 })({}, {}));
    assert.deepEqual([late.code, late.details.delivery, late.details.timeout], ["TIMEOUT", "unknown", 500]);
    const controller = new AbortController();
    const aborted = failureOf(single("get", {}, { baseUrl })({}, { signal: controller.signal }));
    setTimeout(() => controller.abort(), 50);
    assert.deepEqual([(await aborted).code, (await aborted).details.delivery], ["ABORTED", "unknown"]);
  });

  it('details.delivery stays "unknown" when a later attempt did not arrive', async () => {
    const {
      url: baseUrl,
      server,
      stop,
    } = await serve((_, response) => {
      response.destroy();
      server.close();
      server.closeAllConnections();
    });
    const config = { baseUrl, retry: { retries: 1, delay: 50 } };
    const error = await failureOf(single("put", post, config)({ body: 1 }, {}));
    assert.equal(error.details.delivery, "unknown");
    await stop().catch(() => {});
  });

  it('details.delivery is "done" if the server has responded', async () => {
    const { url: baseUrl } = await serve((_, response) => sendJson(response, { why: "no" }, 409));
    const error = await failureOf(single("get", {}, { baseUrl })({}, {}));
    assert.deepEqual([error.details.delivery, error.details.statusCode], ["done", 409]);
  });
});

describe("an HTTP error", () => {
  it("an HTTP error names the operation, the method, the path and the host, and no value of a parameter", async () => {
    const { url: baseUrl } = await serve((_, response) => sendJson(response, {}, 404));
    const parameters = [
      { name: "id", in: "path", required: true, schema: {} },
      { name: "key", in: "query", schema: {} },
    ];
    const paths = { "/pets/{id}": { get: { operationId: "getPet", parameters, responses: answers() } } };
    const { getPet } = handlers(paths, { baseUrl });
    const error = await failureOf(getPet({ id: "s3cret", key: "s3cret" }, {}));
    assert.ok(error instanceof CallError);
    const { host } = new URL(baseUrl);
    assert.equal(error.message, `HTTP 404: Not Found, in t.getPet (GET /pets/{id} at ${host})`);
    const { operationId, method, path } = error.details;
    assert.deepEqual(
      [operationId, method, path, error.details.host],
      ["t.getPet", "GET", "/pets/{id}", host],
    );
  });

  it("a base URL without a scheme is quoted, with what was meant", () => {
    assert.throws(() => single("get", {}, { baseUrl: "api.example.com/v1" }), {
      code: "VALIDATION_ERROR",
      message:
        'config.baseUrl must be an absolute http or https URL, not "api.example.com/v1"; did you mean "https://api.example.com/v1"?',
    });
    for (const host of ["localhost:3000", "127.0.0.1:80/v1", "[::1]:80"]) {
      assert.throws(() => single("get", {}, { baseUrl: host }), {
        message: `config.baseUrl must be an absolute http or https URL, not "${host}"; did you mean "http://${host}"?`,
      });
    }
    assert.throws(
      () => single("get", {}, { baseUrl: "user:pass@api.example.com" }),
      (error) => {
        assert.doesNotMatch(error.message, /pass/);
        return true;
      },
    );
  });
});
