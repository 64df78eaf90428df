// A model gets no more than the identity it acts for, whatever the registry thinks of direct calls.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildCallHandler, OperationRegistry, OperationType, PendingRequestMap } from "@alkdev/operations";
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
  it("a tool call on a registry that trusts direct calls is refused without the scope", async () => {
    const { tools: list, call, calls } = tools();
    const { isError } = await call(list[0].name, {}, { identity: { id: "v", scopes: [] } });
    assert.equal(isError, true);
    assert.equal(calls(), 0);
  });

  it("a tool call on a registry that trusts direct calls is granted with the scope", async () => {
    const { tools: list, call, calls, holder } = tools();
    const { isError } = await call(list[0].name, {}, { identity: holder });
    assert.equal(isError, false);
    assert.equal(calls(), 1);
  });
});

describe("a tool call that an operation makes for its caller", () => {
  const spec = (name, handler, requiredScopes = []) => ({
    namespace: "agent",
    name,
    version: "1.0.0",
    type: OperationType.MUTATION,
    description: name,
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes },
    handler,
  });

  it("gives an anonymous caller's model nothing that needs admin, however deep in env it is made", async () => {
    const registry = new OperationRegistry();
    let removed = 0;
    const useTool = (_, context) => kit.call("agent_remove", {}, context);
    registry.registerAll([
      spec("remove", () => ++removed, ["admin"]),
      spec("step", useTool),
      spec("run", (_, { env }) => env.agent.step({}).then(({ data }) => data)),
    ]);
    const kit = toTools(registry, { target: "json-schema", include: ["agent.remove"] });
    const callMap = new PendingRequestMap();
    callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
    for (const id of ["agent.step", "agent.run"]) {
      const { data } = await callMap.call(id, {});
      assert.equal(data.isError, true, id);
    }
    const { isError } = await kit.call("agent_remove", {}, { trusted: true });
    assert.equal(isError, true);
    assert.equal(removed, 0);
  });
});
