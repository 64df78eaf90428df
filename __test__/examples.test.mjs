// The examples are documentation, and documentation must run.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { runNode } from "./support/run-node.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

describe("the tour", () => {
  it("runs to its end and shows each chapter's point", async () => {
    const { code, stdout, stderr } = await runNode(["examples/tour/index.mjs"], { cwd: root });
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    for (const line of [
      /local {2}tasks\.get +\{ id: 7/,
      /the tool says that it failed/,
      /TASK_NOT_FOUND +TASK_NOT_FOUND: no task 8/,
      /UNKNOWN_ERROR +a string, of all things/,
      /ACCESS_DENIED .*missing required scopes: tasks:write/,
      /ACCESS_DENIED .*identity required/,
    ]) {
      assert.match(stdout, line);
    }
  });
});
