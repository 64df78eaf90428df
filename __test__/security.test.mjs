// docs/security.md promises nothing that no test holds: the tests that it names exist.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const text = read("../docs/security.md").replaceAll("\n", " ");

/** A file in backticks, and the names of tests that follow it in quotation marks. */
const references = [...text.matchAll(/`([\w/-]+(?:\.test|\/kit)\.mjs)`((?::? ?,? ?"[^"]+")*)/g)];

describe("docs/security.md", () => {
  it("docs/security.md names tests", () =>
    assert.ok(references.length > 30, `${references.length} references`));

  for (const [, file, names] of references) {
    it(`docs/security.md names tests that exist: ${file}${names}`, () => {
      const url = new URL(file, import.meta.url);
      assert.ok(existsSync(url), `there is no ${file}`);
      const source = readFileSync(url, "utf8");
      for (const [, name] of names.matchAll(/"([^"]+)"/g)) {
        assert.ok(source.includes(`"${name}"`), `${file} has no test called "${name}"`);
      }
    });
  }

  it("docs/security.md has a test for each of the 33 findings of 0.2", () => {
    const rows = read("../docs/security.md").split("### In 0.2\n")[1].split("\n");
    const findings = rows.filter((row) => /^\| \d+\. .+ \| .*`[\w/.-]+\.mjs`: "[^"]+".* \|$/.test(row));
    assert.deepEqual(
      findings.map((row) => Number.parseInt(row.slice(2), 10)),
      Array.from({ length: 33 }, (_, i) => i + 1),
    );
  });

  it("docs/security.md names fuzz targets that exist", () => {
    const cargo = read("../fuzz/Cargo.toml");
    const targets = [...text.matchAll(/fuzz target `(\w+)`/g)].map(([, target]) => target);
    assert.ok(targets.length > 0);
    for (const target of targets) assert.match(cargo, new RegExp(`^name = "${target}"$`, "m"));
  });
});
