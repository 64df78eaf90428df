// What counts as a line of code, and where it is counted.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { codeLines, room, testModules } from "../../scripts/lines.mjs";

describe("npm run lines", () => {
  it("npm run lines counts crates as a whole, and the facade by folder", () => {
    assert.equal(room("crates/operations-core/src/registry/mod.rs"), "crates/operations-core");
    assert.equal(room("src/live/host.rs"), "src");
    assert.equal(room("src/lib.rs"), "src");
    assert.equal(room("facade/index.ts"), "facade");
    assert.equal(room("facade/mcp/operations.ts"), "facade/mcp");
  });

  it("npm run lines omits tests, and what users do not get", () => {
    for (const path of [
      "crates/operations-core/src/call/pending/tests.rs",
      "crates/operations-core/tests/it/registry.rs",
      "scripts/lines.mjs",
      "facade/tsconfig.json",
    ]) {
      assert.equal(room(path), undefined, path);
    }
  });

  it("npm run lines omits a file that is a module for tests alone", () => {
    const text = "mod call;\n#[cfg(test)]\npub(crate) mod scripted;\n";
    assert.deepEqual(testModules("crates/a/src/client/mod.rs", text), ["crates/a/src/client/scripted.rs"]);
    assert.deepEqual(testModules("crates/a/src/client.rs", text), ["crates/a/src/client/scripted.rs"]);
    assert.deepEqual(testModules("src/lib.rs", '#[cfg(feature = "test-hooks")]\nmod test_hooks;'), [
      "src/test_hooks.rs",
    ]);
  });

  it("npm run lines omits comments and blank lines", () => {
    assert.equal(
      codeLines("/** what\n * it is */\nconst a = 1;\n\n// why\n  /* one */\nconst b = 2; // both\n"),
      2,
    );
  });

  it("npm run lines omits what is compiled for tests alone", () => {
    const rust = [
      "struct Lines {",
      "    #[cfg(test)]",
      "    looks: usize,",
      "    rest: usize,",
      "}",
      "#[cfg(test)]",
      "mod tests;",
      "#[cfg(test)]",
      "#[allow(dead_code)]",
      "fn only_here(",
      "    text: &str,",
      ") -> usize {",
      "    text.len()",
      "}",
      "const LAST: usize = 1;",
      "#[cfg(all(test, not(windows)))]",
      "mod inner {",
      "    use super::*;",
      "}",
    ];
    assert.equal(codeLines(rust.join("\n")), 4);
  });
});
