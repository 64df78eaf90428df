// Approvals of the AI SDK for operations that need one.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { toAISDKTools } from "@alkdev/operations/tools";
import { failureOf } from "../support/waiting.mjs";
import { mockModel, VERSIONS } from "../tools/support/ai-sdk.mjs";
import { removing, tokens } from "./support/served.mjs";

function toolsOf({ approvals, operation, ...options } = {}) {
  const calls = [];
  const registry = new OperationRegistry({ approvals });
  registry.register(removing(calls, operation));
  const make = () => toAISDKTools(registry, { identity: tokens.ada, ...options });
  return { calls, registry, make, tools: make() };
}

for (const [version, { load }] of Object.entries(VERSIONS)) {
  describe(`an operation that needs an approval, as a tool of ${version}`, () => {
    const user = [{ role: "user", content: "Remove it" }];
    const ask = async (tools, messages, ...turns) => {
      const { generateText, stepCountIs, isStepCount } = await load();
      const { model } = await mockModel(version, turns);
      return generateText({ model, tools, messages, stopWhen: (stepCountIs ?? isStepCount)(3) });
    };
    const turn = { tool: "files_remove", input: { path: "/a" } };

    it(`runs once when its person approves, and never without, with ${version}`, async () => {
      const { calls, registry, tools, make } = toolsOf();
      const first = await ask(tools, user, turn, "it waits");
      assert.equal(calls.length, 0);
      if (version === "ai 5") {
        // It cannot ask. The model reads what to do.
        const { error } = first.steps[0].content.find(({ type }) => type === "tool-error");
        const [{ id }] = await registry.approvals.list();
        assert.equal(error.details.approval.id, id);
        assert.ok(error.message.includes(id), error.message);
        return;
      }
      const { approvalId } = first.content.find(({ type }) => type === "tool-approval-request");
      const answered = (approved, id = approvalId) => [
        ...user,
        ...first.response.messages,
        { role: "tool", content: [{ type: "tool-approval-response", approvalId: id, approved }] },
      ];
      await ask(tools, answered(false), "well");
      assert.equal(calls.length, 0);
      await ask(tools, answered(true), "removed");
      assert.deepEqual(calls, [{ path: "/a" }]);
      // In another process, the messages say what was approved.
      await ask(make(), answered(true), "removed");
      assert.equal(calls.length, 2);
      assert.deepEqual(await registry.approvals.list(), []);
    });

    it(`runs without asking where the registry allows it, and not where it refuses, with ${version}`, async () => {
      const decide = ({ input, origin }) => {
        assert.equal(origin, "tool");
        return input.path === "/tmp" ? "allow" : "deny";
      };
      const { calls, tools } = toolsOf({ approvals: { decide } });
      await ask(tools, user, { tool: "files_remove", input: { path: "/tmp" } }, "removed");
      assert.deepEqual(calls, [{ path: "/tmp" }]);
      const denied = await ask(tools, user, turn, "no");
      assert.ok(denied.steps[0].content.some(({ type }) => type === "tool-error"));
      assert.equal(calls.length, 1);
    });
  });
}

const call = (toolCallId, messages = []) => ({ toolCallId, messages });

describe("an approval of the AI SDK", () => {
  it("is for the input that was shown, and for one call", async () => {
    const { calls, tools } = toolsOf();
    const { files_remove: tool } = tools;
    assert.equal(await tool.needsApproval({ path: "/a" }, call("1")), true);
    assert.equal((await failureOf(tool.execute({ path: "/b" }, call("1")))).code, "APPROVAL_REQUIRED");
    assert.equal(await tool.needsApproval({ path: "/a" }, call("2")), true);
    await tool.execute({ path: "/a" }, call("2"));
    assert.equal((await failureOf(tool.execute({ path: "/a" }, call("2")))).code, "APPROVAL_REQUIRED");
    const other = [
      { role: "assistant", content: [{ type: "tool-approval-request", approvalId: "x", toolCallId: "3" }] },
      { role: "tool", content: [{ type: "tool-approval-response", approvalId: "x", approved: true }] },
    ];
    const refused = await failureOf(tool.execute({ path: "/a" }, call("4", other)));
    assert.equal(refused.code, "APPROVAL_REQUIRED");
    assert.equal(calls.length, 1);
  });

  it("is not for the calls that the operation makes itself", async () => {
    const { calls, registry, make } = toolsOf();
    registry.register(removing([], { name: "tidy", handler: (input, { env }) => env.files.remove(input) }));
    const { files_tidy: tool } = make();
    assert.equal(await tool.needsApproval({ path: "/a" }, call("1")), true);
    const error = await failureOf(tool.execute({ path: "/a" }, call("1")));
    assert.equal(error.details.approval.operationId, "files.remove");
    assert.equal(calls.length, 0);
  });

  it("is not asked for where the caller may not call, and beside needsApproval of the program", async () => {
    const { make, registry } = toolsOf();
    registry.protect("files.*", { requiredScopes: ["root"] });
    const tools = toAISDKTools(registry, { identity: { id: "x", scopes: ["root"] } });
    const context = { identity: tokens.ada };
    const other = toAISDKTools(registry, { identity: { id: "x", scopes: ["root"] }, context });
    assert.equal(await tools.files_remove.needsApproval({}, call("1")), true);
    assert.equal(await other.files_remove.needsApproval({}, call("1")), false);
    assert.equal((await failureOf(other.files_remove.execute({}, call("1")))).code, "ACCESS_DENIED");
    assert.deepEqual(make(), {});
    const free = toolsOf({
      needsApproval: ({ name }) => name === "remove",
      operation: { approval: "never" },
    });
    assert.equal(await free.tools.files_remove.needsApproval({}, call("1")), true);
  });

  it("lets a stream begin", async () => {
    const handler = async function* () {
      yield 1;
    };
    const { tools } = toolsOf({ operation: { type: "subscription", handler } });
    const { files_remove: tool } = tools;
    assert.equal((await failureOf(tool.execute({}, call("1")).next())).code, "APPROVAL_REQUIRED");
    assert.equal(await tool.needsApproval({}, call("2")), true);
    const events = [];
    for await (const { data } of tool.execute({}, call("2"))) events.push(data);
    assert.deepEqual(events, [[1]]);
  });
});
