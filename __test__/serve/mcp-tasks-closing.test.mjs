// A server that closes stores how its tasks ended before `close` resolves.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { call, job } from "./support/tasks.mjs";

const root = mkdtempSync(join(tmpdir(), "operations-test-tasks-closing-"));
after(() => {
  if (process.platform !== "win32") rmSync(root, { recursive: true, force: true });
});

const TASKS = 200;

describe("close", () => {
  for (const drain of [0, 10_000]) {
    it(`close resolves when the end of every task is stored, with a drain of ${drain}`, async () => {
      const dir = join(root, `serve-${drain}`);
      const registry = new OperationRegistry();
      registry.register(job("endless", () => new Promise(() => {})));
      const served = await serve(registry, { doors: { mcp: { tasks: { dir } } } });
      await Promise.all(Array.from({ length: TASKS }, () => call(served.url, "x_endless")));
      await served.close({ drain });
      const records = readdirSync(dir)
        .filter((name) => name.endsWith(".json"))
        .map((name) => JSON.parse(readFileSync(join(dir, name), "utf8")));
      assert.equal(records.length, TASKS);
      const statuses = new Set(records.map(({ status }) => status));
      assert.deepEqual([...statuses], ["failed"]);
    });
  }
});
