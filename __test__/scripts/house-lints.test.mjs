// The lints of our own find what they are there for.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { leftovers, napiExports, napiOutsideBinding } from "../../scripts/house-lints.mjs";

describe("leftovers", () => {
  it("leftovers of editors, merges and patches are found", () => {
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

  it("Node-API outside the binding is found by the lock file", () => {
    const text = lock("operations-core", "serde", "napi 3.16.0") + lock("operations-http", "napi-derive");
    assert.deepEqual(
      napiOutsideBinding(text).map((line) => line.split(":")[0]),
      ["operations-core depends on napi", "operations-http depends on napi-derive"],
    );
  });

  it("Node-API is allowed in the binding, and between napi's own crates", () => {
    assert.deepEqual(napiOutsideBinding(lock("operations-napi", "napi") + lock("napi", "napi-sys")), []);
  });

  it("the Node-API lint reads our lock file", () => {
    const text = readFileSync(new URL("../../Cargo.lock", import.meta.url), "utf8");
    assert.deepEqual(napiOutsideBinding(text), []);
    const withoutExemption = text.replace('name = "operations-napi"', 'name = "operations-other"');
    assert.equal(napiOutsideBinding(withoutExemption).length, 1);
  });
});

describe("a panic in native code", () => {
  it("reaches JavaScript as an error, whichever export it happens in", () => {
    const folder = new URL("../../src/", import.meta.url);
    const files = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".rs"));
    const exported = files.flatMap((file) => {
      const source = readFileSync(new URL(file, folder), "utf8");
      return napiExports(source).map((each) => ({ ...each, file }));
    });
    // The binding has not shrunk to what this can read.
    assert.ok(exported.length > 200, `${exported.length} exports`);
    const unguarded = exported.filter(({ isGuarded }) => !isGuarded);
    assert.deepEqual(
      unguarded.map(({ file, name }) => `src/${file}: ${name} needs #[napi(catch_unwind)]`),
      [],
    );
  });

  it("is found where an export does not catch it", () => {
    const source = [
      "#[napi(custom_finalize)]",
      "pub struct Client;",
      "#[napi]",
      "impl Client {",
      "    /// Calls.",
      "    #[napi]",
      '    #[allow(clippy::too_many_arguments, reason = "they are numbers")]',
      "    pub fn call(&self) {}",
      "    #[napi(",
      '        ts_return_type = "string | [string]",',
      "        catch_unwind",
      "    )]",
      "    pub fn read(&self) {}",
      "    #[napi(getter)]",
      "    // Why.",
      "    pub fn id(&self) {}",
      "    pub fn not_exported(&self) {}",
      "}",
    ].join("\n");
    assert.deepEqual(napiExports(source), [
      { name: "call", isGuarded: false },
      { name: "read", isGuarded: true },
      { name: "id", isGuarded: false },
    ]);
  });
});
