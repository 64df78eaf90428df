// ARCHITECTURE.md names files and tests; all of them exist.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";

const text = readFileSync(new URL("../ARCHITECTURE.md", import.meta.url), "utf8");
const inBackticks = [
  ...text.matchAll(
    /`((?:crates|src|facade|__test__|npm|corpus|bench|fuzz|examples|scripts|docs)\/[\w./-]*)`/g,
  ),
];
const linked = [...text.matchAll(/\]\(([\w./-]+)\)/g)];
const paths = new Set([...inBackticks, ...linked].map(([, path]) => path));

describe("ARCHITECTURE.md", () => {
  it("names the tests that hold its rules", () => {
    const tests = [...paths].filter((path) => /\.test\.mjs$|\/tests\//.test(path));
    assert.ok(tests.length > 15, `${tests.length} tests`);
  });

  for (const path of paths) {
    it(`names ${path}, which exists`, () => assert.ok(existsSync(new URL(`../${path}`, import.meta.url))));
  }
});
