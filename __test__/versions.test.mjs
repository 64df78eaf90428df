// The compiled code and the native binary are of one version, or nothing is loaded.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** A copy of the package, and a way to load it after a change of its code. */
function copyOfPackage(t) {
  const folder = mkdtempSync(join(tmpdir(), "operations-version-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(root, "dist"), join(folder, "dist"), { recursive: true });
  for (const name of readdirSync(root)) {
    if (name.endsWith(".node")) cpSync(join(root, name), join(folder, name));
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
  const load = () => {
    const code = `require(${JSON.stringify(join(folder, "dist", "index.js"))})`;
    return spawnSync(process.execPath, ["-e", code], { encoding: "utf8" });
  };
  const replace = (text, other) => {
    const bundle = join(folder, "dist", "core.js");
    const code = readFileSync(bundle, "utf8");
    assert.ok(code.includes(text), text);
    writeFileSync(bundle, code.replace(text, other));
  };
  return { load, replace };
}

const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

describe("a native binary of another version", () => {
  it("a native binary of another version is refused, with both versions and what to do", (t) => {
    const { load, replace } = copyOfPackage(t);
    assert.equal(load().status, 0);
    replace(`VERSION = "${version}"`, 'VERSION = "9.9.9"');
    const { status, stderr } = load();
    assert.notEqual(status, 0);
    assert.ok(
      stderr.includes(`@alkdev/operations 9.9.9 has found a native binary of version ${version}`),
      stderr,
    );
    assert.match(stderr, /Delete node_modules and install again/);
  });

  for (const missing of ["Schema.later", "laterFunction"]) {
    it(`a native binary of the same version from another build is refused: ${missing}`, (t) => {
      const { load, replace } = copyOfPackage(t);
      replace(" Runtime Runtime.", ` Runtime ${missing} Runtime.`);
      const { status, stderr } = load();
      assert.notEqual(status, 0);
      const found = `${version} has found a native binary of version ${version} from another build`;
      assert.ok(stderr.includes(`@alkdev/operations ${found}`), stderr);
      assert.ok(stderr.includes(`without ${missing}.`), stderr);
    });
  }
});
