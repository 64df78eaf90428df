// The crates can be published: each says what crates.io asks for, and holds what it is made of.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { root, withoutCargo } from "./programs.mjs";

function cargo(...args) {
  const options = { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 };
  const { status, stdout, stderr } = spawnSync("cargo", args, options);
  assert.equal(status, 0, stderr);
  return stdout;
}

describe("the crates", { skip: withoutCargo() }, () => {
  const metadata = () =>
    JSON.parse(cargo("metadata", "--no-deps", "--locked", "--offline", "--format-version", "1"));
  const crates = withoutCargo() ? [] : metadata().packages;
  // null: to every registry.
  const published = crates.filter(({ publish }) => publish === null);

  it("all crates are published but the binding", () => {
    const others = crates.filter((crate) => !published.includes(crate));
    assert.deepEqual(
      others.map(({ name }) => name),
      ["operations-napi"],
    );
  });

  for (const {
    name,
    description,
    license,
    repository,
    readme,
    rust_version,
    manifest_path,
    dependencies,
  } of published) {
    it(`${name} says what crates.io asks for`, () => {
      assert.ok(description.length > 10);
      assert.equal(license, "MIT OR Apache-2.0");
      assert.match(repository, /^https:/);
      assert.ok(rust_version);
      assert.ok(existsSync(join(dirname(manifest_path), readme)));
    });

    it(`${name} needs published crates only, each by its version`, () => {
      const ours = dependencies.filter((each) => each.path !== undefined && each.path !== null);
      for (const { name: needed, req } of ours) {
        assert.ok(
          published.some((crate) => crate.name === needed),
          needed,
        );
        assert.match(req, /^=\d+\.\d+\.\d+$/, needed);
      }
    });

    it(`${name} packs its sources and its readme, and nothing that was built`, () => {
      const files = cargo("package", "--list", "--allow-dirty", "--offline", "-p", name).trim().split("\n");
      for (const file of ["Cargo.toml", "README.md", "src/lib.rs"]) assert.ok(files.includes(file), file);
      assert.deepEqual(
        files.filter(
          (file) =>
            !/^(\.cargo_vcs_info\.json|Cargo\.|README\.md$|build\.rs$|(src|tests|examples|benches)\/)/.test(
              file,
            ),
        ),
        [],
      );
    });
  }
});
