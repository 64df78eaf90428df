// Keys of `_meta`, and of `metadata`, that are one slip away from those that the package reads.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildCallHandler, FromSchema, OperationRegistry, PendingRequestMap } from "@alkdev/operations";

function registered(_meta) {
  const registry = new OperationRegistry();
  registry.register({
    namespace: "t",
    name: "x",
    version: "1.0.0",
    type: "query",
    description: "",
    inputSchema: FromSchema({}),
    outputSchema: FromSchema({}),
    accessControl: { requiredScopes: [] },
    handler: () => 1,
    _meta,
  });
  return registry;
}

describe("a misspelt key of _meta", () => {
  for (const [meta, path, right] of [
    [{ outptu: "strict" }, "_meta.outptu", "output"],
    [{ Output: "strict" }, "_meta.Output", "output"],
    [{ mpc: {} }, "_meta.mpc", "mcp"],
    [{ annotation: {} }, "_meta.annotation", "annotations"],
    [{ mcp: { resorce: {} } }, "_meta.mcp.resorce", "resource"],
    [{ mcp: { promt: true } }, "_meta.mcp.promt", "prompt"],
  ]) {
    it(`${path} is refused at registration, and ${right} is named`, () => {
      assert.throws(
        () => registered(meta),
        (error) => {
          assert.equal(error.code, "VALIDATION_ERROR");
          assert.equal(
            error.message,
            `Cannot register operation t.x: ${path}: Unknown key. Did you mean ${right}?`,
          );
          return true;
        },
      );
    });
  }

  it("keys of the user's own are allowed, with and without a namespace", () => {
    registered({
      cost: 3,
      map: {},
      tcp: 1,
      "acme.com/output": 1,
      "acme.outputs": 2,
      method: "get",
      path: "/",
    });
    registered({ mcp: { tool: true, task: "optional" }, output: "strict", deprecated: true });
  });
});

describe("a misspelt key of metadata", () => {
  const registry = registered({});

  for (const [metadata, right] of [
    [{ header: {} }, "headers"],
    [{ Headers: {} }, "headers"],
    [{ timeuot: 5 }, "timeout"],
    [{ lasteventid: "7" }, "lastEventId"],
  ]) {
    const [key] = Object.keys(metadata);
    it(`metadata.${key} is refused at the call, and ${right} is named`, async () => {
      const callMap = new PendingRequestMap();
      callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
      const calls = [registry.execute("t.x", {}, { metadata }), callMap.call("t.x", {}, { metadata })];
      for (const outcome of await Promise.allSettled(calls)) {
        assert.equal(outcome.reason?.code, "VALIDATION_ERROR");
        assert.match(outcome.reason.message, new RegExp(`metadata\\.${key}: .*Did you mean ${right}\\?`));
      }
    });
  }

  it("keys of the caller's own are allowed, and data from elsewhere is what it is", async () => {
    const metadata = { tenant: "acme", trace: "t-1", head: 1, "acme.com/header": 1, timeout: 5_000 };
    assert.equal((await registry.execute("t.x", {}, { metadata })).data, 1);
    const callMap = new PendingRequestMap();
    const answer = new Promise((resolve) => callMap["call.responded"].subscribe(resolve));
    const event = { requestId: "r", operationId: "t.x", input: {}, metadata: { header: 1 } };
    await buildCallHandler({ registry, callMap })(event);
    assert.equal((await answer).output.data, 1);
  });
});
