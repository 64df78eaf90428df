// The site of `npm run docs`: built as its workflow does, then read.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, it } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const site = join(root, "target", "site");

before(() => execFileSync(process.execPath, [join(root, "scripts", "docs.mjs")], { stdio: "inherit" }));

it("every guide, recipe and decision is a page that the menu leads to", () => {
  const menu = readFileSync(join(site, "index.html"), "utf8");
  assert.ok(!menu.includes("{{"), "the theme's own templates are rendered");
  for (const folder of ["guides", "recipes", "decisions"]) {
    const names = readdirSync(join(root, "docs", folder)).filter((name) => name !== "README.md");
    assert.ok(names.length > 5);
    for (const name of names) {
      const page = `${folder}/${name.replace(/\.md$/, "")}`;
      assert.ok(existsSync(join(site, `${page}.html`)), page);
      assert.ok(menu.includes(`href="/${page}"`), `${page} is not in the menu`);
    }
  }
});

it("the reference is a part of the site, and the search knows the guides", () => {
  assert.ok(existsSync(join(site, "reference", "index.html")));
  const chunks = readdirSync(join(site, "assets", "chunks"));
  const index = chunks.find((name) => name.startsWith("@localSearchIndex"));
  assert.match(readFileSync(join(site, "assets", "chunks", index), "utf8"), /guides\/limits#the-breaker/);
});
