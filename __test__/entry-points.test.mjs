// The index of the documentation lists what each entry point really exports.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";

const index = readFileSync(new URL("../docs/README.md", import.meta.url), "utf8");
const section = /^### Entry points$([\s\S]*?)^## /m.exec(index)[1];
const rows = [...section.matchAll(/^\|(.*)\|$/gm)].map(([, row]) =>
  row.split("|").map((cell) => cell.trim()),
);
const code = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text);

/** What the index says, by entry point. */
const told = new Map([["@alkdev/operations", new Set()]]);
for (const [first, names, third] of rows) {
  const [ownPath] = code(first);
  const paths = ownPath === undefined ? ["@alkdev/operations", ...code(third)] : [ownPath];
  for (const path of paths) told.set(path, new Set([...(told.get(path) ?? []), ...code(names)]));
}

describe("the entry points in docs/README.md", () => {
  it("the entry points in docs/README.md are those of package.json", () => {
    const { exports } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
    const paths = Object.keys(exports).filter((path) => path !== "./package.json");
    assert.deepEqual(
      [...told.keys()].sort(),
      paths.map((path) => path.replace(".", "@alkdev/operations")).sort(),
    );
  });

  for (const [path, names] of told) {
    it(`docs/README.md lists every name of ${path}, and no other`, async () => {
      assert.deepEqual([...names].sort(), Object.keys(await import(path)).sort());
    });
  }
});
