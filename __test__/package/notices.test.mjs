// Whoever passes the addon on passes on the work of many: their terms go with it, in the package of every platform.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { hostTriple } from "../../scripts/lib.mjs";
import { NOTICES, notices, TARGETS } from "../../scripts/notices.mjs";
import { triples } from "../../scripts/pack.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const packed = process.env.OPERATIONS_PACK ?? join(root, "target", "pack-for-tests");

it("there is a target for every platform package", () => {
  assert.deepEqual(Object.keys(TARGETS).sort(), triples());
});

describe("the notices", () => {
  for (const triple of triples()) {
    it(`the notices for ${triple} have the terms of every crate`, () => {
      const text = notices(triple);
      const crates = [...text.matchAll(/^\| ([\w-]+ \d\S*) \| .+ \| http.+ \|$/gm)].map(([, crate]) => crate);
      const covered = new Set([...text.matchAll(/^## (.+)$/gm)].flatMap(([, users]) => users.split(", ")));
      assert.ok(crates.length > 150, `${crates.length} crates`);
      assert.deepEqual(
        crates.filter((crate) => !covered.has(crate)),
        [],
      );
      assert.ok(covered.has("Rust's standard library"));
      // The C library inside of a crate.
      assert.match(text, /Copyright \(c\) Meta Platforms/);
    });
  }

  it("the notices name only what a platform has", () => {
    assert.match(notices("win32-x64-msvc"), /^\| windows-sys /m);
    assert.doesNotMatch(notices("linux-x64-gnu"), /^\| (windows-sys|security-framework|jni|r-efi) /m);
    assert.match(notices("darwin-arm64"), /^\| security-framework /m);
  });
});

it("the packed platform package has its notices and both licences", () => {
  const tarball = readdirSync(packed).find((file) => file.includes(hostTriple()));
  const read = (file) =>
    execFileSync("tar", ["-xzOf", join(packed, tarball), `package/${file}`], {
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
    });
  assert.equal(read(NOTICES), notices(hostTriple()));
  assert.match(read("LICENSE-MIT"), /^MIT License/);
  assert.match(read("LICENSE-APACHE"), /Apache License/);
});
