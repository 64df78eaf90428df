// What `npm publish` would send: every file by its name, next to a list that is kept here. A file that appears, goes or moves is
// seen in a change. OPERATIONS_UPDATE=1 writes the list anew.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const packed = process.env.OPERATIONS_PACK ?? join(root, "target", "pack-for-tests");
const kept = fileURLToPath(new URL("./contents.txt", import.meta.url));

/** The names of a tarball's files. */
const filesOf = (tarball) =>
  execFileSync("tar", ["-tzf", join(packed, tarball)], { encoding: "utf8" })
    .split(/\r?\n/)
    .filter((name) => name !== "")
    .map((name) =>
      name.replace(/^package\//, "").replace(/operations\.[\w-]+\.node$/, "operations.<platform>.node"),
    )
    .sort();

/** One line for each file, without the sources of the facade and what the compiler makes of each: these have a test below. */
function listOf(tarball) {
  const files = filesOf(tarball);
  const sources = new Set(files.filter((name) => name.startsWith("facade/")));
  const source = (name) => name.replace(/^dist\//, "facade/").replace(/(\.d\.m?ts|\.js)(\.map)?$/, ".ts");
  const rest = files.filter((name) => !sources.has(name) && !sources.has(source(name)));
  // The bundler names what its bundles share after their contents.
  return [...new Set(rest.map((name) => name.replace(/shared-[A-Z0-9]+/, "shared-<hash>")))];
}

it("the tarballs hold the files of the list", () => {
  const tarballs = readdirSync(packed)
    .filter((file) => file.endsWith(".tgz"))
    .sort();
  const found = tarballs
    .map((tarball) => {
      const [, platform] = /operations-(?!\d)(.+?)-\d/.exec(tarball) ?? [];
      const title = platform === undefined ? "@alkdev/operations" : "@alkdev/operations-<platform>";
      return `# ${title}\n${listOf(tarball).join("\n")}\n`;
    })
    .sort()
    .join("\n");
  if (process.env.OPERATIONS_UPDATE === "1") writeFileSync(kept, found);
  assert.equal(
    found,
    readFileSync(kept, "utf8"),
    "to accept the change: OPERATIONS_UPDATE=1 node --test __test__/package/contents.test.mjs",
  );
});

it("every source of the facade comes with what the compiler made of it", () => {
  const [main] = readdirSync(packed).filter((file) => /operations-\d.*\.tgz$/.test(file));
  const files = new Set(filesOf(main));
  const sources = [...files].filter((name) => name.startsWith("facade/"));
  assert.ok(sources.length > 50);
  for (const source of sources) {
    assert.match(source, /\.ts$/);
    // What only browsers load is bundled.
    if (source.startsWith("facade/browser/")) continue;
    const module = source.replace(/^facade\//, "dist/").replace(/\.ts$/, "");
    for (const made of [".js", ".d.ts", ".d.ts.map"]) assert.ok(files.has(module + made), module + made);
  }
});
