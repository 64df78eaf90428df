// What npm runs where somebody uses the sources as if they were the package.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { runNode } from "../support/run-node.mjs";

const script = fileURLToPath(new URL("../../scripts/prepare.mjs", import.meta.url));
const { _PACOTE_NO_PREPARE_, ...env } = process.env;

describe("prepare", () => {
  it("prepare says what to do when npm installs from a git address", async () => {
    const { code, stderr } = await runNode([script], { env: { ...env, _PACOTE_NO_PREPARE_: "x" } });
    assert.equal(code, 1);
    assert.match(stderr, /cannot be installed from a git address/);
    assert.match(stderr, /npm run pack:local/);
    assert.match(stderr, /npm install pack\/\*\.tgz/);
  });

  it("prepare says how a release is published", async () => {
    const { code, stderr } = await runNode([script, "--publish"], { env });
    assert.equal(code, 1);
    assert.match(stderr, /push a tag/);
  });

  it("prepare accepts a clone", async () => {
    assert.deepEqual(await runNode([script], { env }), { code: 0, signal: null, stdout: "", stderr: "" });
  });
});
