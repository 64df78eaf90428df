// The workflows run only code that was looked at: every action is pinned by commit, with its version beside it.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";

const folder = new URL("../../.github/workflows/", import.meta.url);

describe("the actions of the workflows", () => {
  for (const name of readdirSync(folder)) {
    it(`the actions of the workflows are pinned by commit in ${name}`, () => {
      const used = [...readFileSync(new URL(name, folder), "utf8").matchAll(/uses: (.+)$/gm)];
      assert.ok(used.length > 0);
      const loose = used
        .map(([, action]) => action)
        .filter(
          (action) => !action.startsWith("./") && !/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action),
        );
      assert.deepEqual(loose, []);
    });
  }
});
