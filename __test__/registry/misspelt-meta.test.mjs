// Keys of `_meta` that are one slip away from those that the package reads.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FromSchema, OperationRegistry } from "@alkdev/operations";

const registered = (_meta) =>
  new OperationRegistry().register({
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
