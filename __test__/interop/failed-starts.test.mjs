// A native call that refuses its argument: the caller is told, nothing is left waiting, and the process may end.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError } from "@alkdev/operations";
import { connected, failure, stdio } from "../mcp/support/servers.mjs";
import { runModule } from "../support/run-node.mjs";

describe("a start that fails", () => {
  it("a start of the runtime that fails is a CallError, and later calls are not affected", async (t) => {
    const { wrapper } = await connected(t, stdio());
    for (const name of [undefined, null, 7, {}, Symbol("x")]) {
      const error = await failure(wrapper.client.callTool({ name }));
      assert.ok(error instanceof CallError, String(error));
      assert.equal(error.code, "VALIDATION_ERROR");
    }
    const result = await wrapper.client.callTool({ name: "echo", arguments: { text: "still here" } });
    assert.equal(result.content[0].text, "still here");
  });

  it("a start of the runtime that fails leaves nothing behind that keeps the process alive", async () => {
    const { code, signal, stdout, stderr } = await runModule(
      `
      import { closeMCPClient, createMCPClient } from "@alkdev/operations";
      import { stdio } from "../mcp/support/servers.mjs";
      const wrapper = await createMCPClient("test", stdio());
      const outcome = await wrapper.client.callTool({ name: undefined }).catch((error) => error.code);
      await closeMCPClient(wrapper);
      console.log(outcome);
    `,
    );
    assert.deepEqual(
      { code, signal, stdout, stderr },
      { code: 0, signal: null, stdout: "VALIDATION_ERROR\n", stderr: "" },
    );
  });
});
