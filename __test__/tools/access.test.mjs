// A model gets no more than the identity it acts for, whatever the registry thinks of direct calls.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OperationRegistry, OperationType } from "@alkdev/operations";
import { toTools } from "@alkdev/operations/tools";
import { Type } from "@sinclair/typebox";

function tools() {
  const registry = new OperationRegistry({ trustDirectCalls: true });
  let calls = 0;
  registry.register({
    namespace: "files",
    name: "remove",
    version: "1.0.0",
    type: OperationType.MUTATION,
    description: "Removes a file",
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: ["files:write"] },
    handler: () => {
      calls += 1;
      return "gone";
    },
  });
  // Whoever may call it sees it.
  const holder = { id: "u", scopes: ["files:write"] };
  return { ...toTools(registry, { target: "json-schema", identity: holder }), holder, calls: () => calls };
}

describe("a tool call on a registry that trusts direct calls", () => {
  it("is refused without the scope", async () => {
    const { tools: list, call, calls } = tools();
    const { isError } = await call(list[0].name, {}, { identity: { id: "v", scopes: [] } });
    assert.equal(isError, true);
    assert.equal(calls(), 0);
  });

  it("is granted with it", async () => {
    const { tools: list, call, calls, holder } = tools();
    const { isError } = await call(list[0].name, {}, { identity: holder });
    assert.equal(isError, false);
    assert.equal(calls(), 1);
  });
});
