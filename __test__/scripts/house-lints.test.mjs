// The lints of our own find what they are there for.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { leftovers, napiOutsideBinding } from "../../scripts/house-lints.mjs";

describe("leftovers", () => {
  it("of editors, merges and patches are found", () => {
    const stray = ["src/raw.rs.orig", "facade/a.ts.rej", "b.bak", "README.md~", ".c.swp", "d.tmp"];
    const found = leftovers(["src/raw.rs", ...stray, "facade/original.ts", "docs/tmp.md"]);
    assert.deepEqual(
      found.map((line) => line.split(":")[0]),
      stray,
    );
  });
});

describe("Node-API outside the binding", () => {
  const lock = (name, ...dependencies) =>
    `[[package]]\nname = "${name}"\nversion = "1.0.0"\ndependencies = [\n${dependencies
      .map((each) => ` "${each}",\n`)
      .join("")}]\n\n`;

  it("is found by the lock file", () => {
    const text = lock("operations-core", "serde", "napi 3.16.0") + lock("operations-http", "napi-derive");
    assert.deepEqual(
      napiOutsideBinding(text).map((line) => line.split(":")[0]),
      ["operations-core depends on napi", "operations-http depends on napi-derive"],
    );
  });

  it("is fine in the binding, and between napi's own crates", () => {
    assert.deepEqual(napiOutsideBinding(lock("operations-napi", "napi") + lock("napi", "napi-sys")), []);
  });

  it("reads the lock file that we have", () => {
    const text = readFileSync(new URL("../../Cargo.lock", import.meta.url), "utf8");
    assert.deepEqual(napiOutsideBinding(text), []);
    const withoutExemption = text.replace('name = "operations-napi"', 'name = "operations-other"');
    assert.equal(napiOutsideBinding(withoutExemption).length, 1);
  });
});
