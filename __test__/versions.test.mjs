// The compiled code and the native binary are of one version, or nothing is loaded.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

describe("a native binary of another version", () => {
  it("a native binary of another version is refused, with both versions and what to do", () => {
    const folder = mkdtempSync(join(tmpdir(), "operations-version-"));
    after(() => rmSync(folder, { recursive: true, force: true }));
    cpSync(join(root, "dist"), join(folder, "dist"), { recursive: true });
    for (const name of readdirSync(root)) {
      if (name.endsWith(".node")) cpSync(join(root, name), join(folder, name));
    }
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
    const bundle = join(folder, "dist", "core.js");
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const load = () => {
      const code = `require(${JSON.stringify(join(folder, "dist", "index.js"))})`;
      const { status, stderr } = spawnSync(process.execPath, ["-e", code], { encoding: "utf8" });
      return { status, stderr };
    };
    assert.equal(load().status, 0);
    const text = readFileSync(bundle, "utf8");
    const own = `VERSION = "${version}"`;
    assert.ok(text.includes(own));
    writeFileSync(bundle, text.replace(own, 'VERSION = "9.9.9"'));
    const { status, stderr } = load();
    assert.notEqual(status, 0);
    assert.ok(
      stderr.includes(`@alkdev/operations 9.9.9 has found a native binary of version ${version}`),
      stderr,
    );
    assert.match(stderr, /Delete node_modules and install again/);
  });
});
