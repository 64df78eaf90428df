// What the tests of approvals share: an operation that needs one, and callers.
import assert from "node:assert/strict";
import { OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";

export const ADA = { id: "ada", scopes: [] };
export const BOB = { id: "bob", scopes: ["approvals:decide"] };

/** A mutation that needs an approval unless `more` says otherwise. */
export function removing(handler, more = {}) {
  return {
    namespace: "files",
    name: "remove",
    version: "1.0.0",
    type: "mutation",
    description: "Removes a file",
    inputSchema: Type.Unknown(),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
    approval: "always",
    handler,
    ...more,
  };
}

/** A registry with that operation, and what it was called with. */
export function guarded(approvals = {}, more = {}) {
  const calls = [];
  const registry = new OperationRegistry({ approvals });
  const handler = async (input) => {
    calls.push(structuredClone(input));
    return "removed";
  };
  registry.register(removing(handler, more));
  return { registry, calls };
}

/** The approval that a call was refused for. */
export async function requestOf(call) {
  const error = await call.then(
    () => assert.fail("the call was made"),
    (thrown) => thrown,
  );
  assert.equal(error.code, "APPROVAL_REQUIRED", error.message);
  assert.equal(error.details.delivery, "none");
  return error.details.approval;
}

export const isNotApproved = ({ code, details }) =>
  code === "ACCESS_DENIED" && details.reason === "not-approved";
