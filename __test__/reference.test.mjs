// `npm run reference` makes a page for every exported name, without a warning.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { makeReference } from "../scripts/reference.mjs";

describe("the reference", () => {
  it("the reference can be made from the declarations, without a warning", async () => {
    const index = readFileSync(new URL("../index.d.ts", import.meta.url), "utf8");
    const names = [...index.matchAll(/^ {2}(?:type )?(\w+),$/gm)];
    const count = await makeReference({ check: true });
    assert.ok(count >= names.length && count > 250, `${count} names`);
  });
});
