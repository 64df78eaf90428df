// What a limit refuses, the callers of a hub learn as other callers do: why, and when another try makes sense.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, FromOpenAPI, isRetryable } from "@alkdev/operations";
import { answers, documentOf, sendJson, serve as upstream } from "../http/support.mjs";
import { failureOf, hubOf, operation, registryOf, spokeOf, subscription } from "./support.mjs";

const limits = { rate: { calls: 1, per: 3_600_000 }, queue: 0 };
const refused = (error) => {
  assert.equal(error.code, "EXECUTION_ERROR");
  assert.equal(error.details.reason, "rate-limited");
  assert.equal(error.details.delivery, "none");
  assert.ok(error.details.retryAfter > 3_000_000 && error.details.retryAfter <= 3_600_000);
  assert.ok(isRetryable(error));
  return true;
};

describe("a limit at a hub", () => {
  it("a limit at a hub refuses with a reason and a time, in JavaScript and natively", async () => {
    const api = await upstream((_, response) => sendJson(response, { id: 1 }));
    const paths = { "/item": { get: { operationId: "item", responses: answers() } } };
    const { address } = await hubOf([
      operation({ namespace: "demo", name: "work", limits, handler: () => 1 }),
      ...FromOpenAPI(documentOf(paths), { namespace: "api", baseUrl: api.url, limits }),
    ]);
    const { callMap } = await spokeOf(address, { token: "ada" });
    for (const id of ["demo.work", "api.item"]) {
      await callMap.call(id, {});
      await assert.rejects(callMap.call(id, {}), refused, id);
    }
  });

  it("a spoke has as many streams as calls, apart from each other", async () => {
    const { address, registry } = await hubOf([], { hub: { accept: () => ({ namespace: "far" }) } });
    const spoke = await spokeOf(address, { token: "ada" });
    const endless = subscription({
      namespace: "far",
      name: "endless",
      handler: async function* (_, { signal }) {
        yield 1;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    });
    const work = operation({ namespace: "far", name: "work", handler: () => "done" });
    await spoke.serve(registryOf(endless, work), { concurrency: 1 });
    const first = registry.subscribe("far.endless", {}, {})[Symbol.asyncIterator]();
    assert.equal((await first.next()).value.data, 1);
    assert.equal((await registry.execute("far.work", {}, {})).data, "done");
    const second = registry.subscribe("far.endless", {}, {})[Symbol.asyncIterator]();
    const error = await failureOf(second.next());
    assert.match(error.message, /Too many streams/);
    assert.equal(error.details.reason, "overloaded");
    await first.return();
  });

  it("a limit of a spoke reaches callers through its hub, over HTTP with Retry-After", async () => {
    const { address, url } = await hubOf([], { hub: { accept: () => ({ namespace: "far" }) } });
    const spoke = await spokeOf(address, { token: "ada" });
    await spoke.serve(registryOf(operation({ namespace: "far", name: "work", limits, handler: () => 1 })));
    const call = () =>
      fetch(`${url}/api/far/work`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: "Bearer ada" },
        body: "{}",
      });
    assert.equal((await call()).status, 200);
    const response = await call();
    const problem = await response.json();
    assert.equal(response.status, 429, JSON.stringify(problem));
    assert.ok(Number(response.headers.get("retry-after")) > 3_000);
    refused(new CallError(problem.code, problem.detail, problem.details));
  });
});
