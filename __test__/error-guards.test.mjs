// Questions about what a call rejected with.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  CallError,
  isAccessError,
  isApprovalRequired,
  isHTTPError,
  isRetryable,
  isTimeout,
  isValidationError,
  OperationRegistry,
} from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { operation, rejection } from "./registry/support/operations.mjs";

describe("the guards", () => {
  it("error guards know the errors that the registry raises", async () => {
    const registry = new OperationRegistry();
    registry.registerAll([
      operation({ namespace: "n", name: "typed", inputSchema: Type.Number() }),
      operation({ namespace: "n", name: "closed", accessControl: { requiredScopes: ["s"] } }),
    ]);
    const { thrown: invalid } = await rejection(registry.execute("n.typed", "x"));
    assert.ok(isValidationError(invalid));
    assert.equal(invalid.details.errors[0].path, "");
    const { thrown: denied } = await rejection(
      registry.execute("n.closed", 1, { identity: { id: "u", scopes: [] } }),
    );
    assert.ok(isAccessError(denied));
    assert.deepEqual(denied.details.missingScopes, ["s"]);
    for (const guard of [isHTTPError, isTimeout]) assert.ok(!guard(invalid) && !guard(denied));
  });

  it("error guards require the details that they promise", () => {
    const http = { statusCode: 404, headers: {}, contentType: "text/plain", body: "" };
    assert.ok(isHTTPError(new CallError("EXECUTION_ERROR", "HTTP 404", http)));
    assert.ok(isTimeout(new CallError("TIMEOUT", "late", { deadline: 1 })));
    const approval = { id: "a", operationId: "n.closed", expires: 1 };
    assert.ok(isApprovalRequired(new CallError("APPROVAL_REQUIRED", "asks", { approval })));
    const guards = [
      isHTTPError,
      isValidationError,
      isAccessError,
      isTimeout,
      isApprovalRequired,
      isRetryable,
    ];
    for (const guard of guards) {
      for (const stranger of [undefined, null, "TIMEOUT", new Error("x"), { code: "TIMEOUT", details: {} }]) {
        assert.equal(guard(stranger), false);
      }
      for (const code of [
        "EXECUTION_ERROR",
        "VALIDATION_ERROR",
        "ACCESS_DENIED",
        "TIMEOUT",
        "APPROVAL_REQUIRED",
      ]) {
        assert.equal(guard(new CallError(code, "without details")), false);
      }
    }
  });

  it("isRetryable is true if a call certainly did not run, and another attempt could succeed", () => {
    const error = (code, details) => new CallError(code, "x", details);
    assert.equal(isRetryable(error("EXECUTION_ERROR", { delivery: "none" })), true);
    assert.equal(isRetryable(error("TIMEOUT", { delivery: "none" })), true);
    assert.equal(isRetryable(error("OPERATION_NOT_FOUND", { delivery: "none", reason: "no-worker" })), true);
    assert.equal(isRetryable(error("OPERATION_NOT_FOUND", { delivery: "none" })), false);
    assert.equal(isRetryable(error("EXECUTION_ERROR", { delivery: "none", reason: "closed" })), false);
    assert.equal(isRetryable(error("EXECUTION_ERROR", { delivery: "none", reason: "not-started" })), false);
    for (const delivery of ["unknown", "done", undefined]) {
      assert.equal(isRetryable(error("EXECUTION_ERROR", { delivery })), false);
    }
    for (const code of ["ACCESS_DENIED", "VALIDATION_ERROR", "ABORTED"]) {
      assert.equal(isRetryable(error(code, { delivery: "none" })), false);
    }
  });
});
