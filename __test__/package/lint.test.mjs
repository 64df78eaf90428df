// publint and "are the types wrong" have nothing to say about the packed tarball.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { publint } from "publint";

const root = fileURLToPath(new URL("../..", import.meta.url));
const packed = process.env.OPERATIONS_PACK ?? join(root, "target", "pack-for-tests");
const tarball = readdirSync(packed)
  .filter((file) => /^alkdev-operations-\d/.test(file))
  .map((file) => join(packed, file))[0];

describe("the packed tarball", () => {
  it("the packed tarball exists", () => assert.ok(tarball));

  it("publint reports nothing about the packed tarball", async () => {
    const { messages } = await publint({
      pack: { tarball: new Uint8Array(readFileSync(tarball)).buffer },
      strict: true,
    });
    assert.deepEqual(messages, []);
  });

  it("are-the-types-wrong reports nothing about the packed tarball", { timeout: 120_000 }, async () => {
    const cli = join(root, "node_modules", "@arethetypeswrong", "cli", "dist", "index.js");
    const { stdout } = await promisify(execFile)(process.execPath, [cli, tarball, "--format", "json"]).catch(
      (error) => error,
    );
    const { analysis, problems } = JSON.parse(stdout);
    assert.deepEqual(problems ?? {}, {});
    assert.deepEqual(analysis.problems, []);
  });
});
