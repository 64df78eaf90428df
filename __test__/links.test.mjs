// Every relative link in a Markdown file leads to a file that exists, and to a heading that exists. No network is needed.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
/** All Markdown files of the repository, new ones included. */
const pages = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", "*.md"],
  { cwd: root, encoding: "utf8" },
)
  .split("\0")
  .filter((path) => path !== "" && existsSync(join(root, path)));

const withoutCode = (text) => text.replace(/^( *)```[\s\S]*?^\1```$/gm, "").replace(/`[^`\n]*`/g, "``");

/** The anchors of a page, as GitHub makes them of its headings. */
function anchorsOf(path) {
  const text = readFileSync(path, "utf8").replace(/^( *)```[\s\S]*?^\1```$/gm, "");
  const seen = new Map();
  const anchors = new Set();
  for (const [, heading] of text.matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
    const slug = plain
      .toLowerCase()
      .replace(/[^\p{Letter}\p{Number}\p{Mark} _-]/gu, "")
      .replaceAll(" ", "-");
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  for (const [, id] of text.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id);
  return anchors;
}

/** Where the links of a page lead: `[text](target)`, images, and `[name]: target`. */
function linksOf(text) {
  const plain = withoutCode(text);
  return [
    ...[...plain.matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g)].map(([, target]) => target),
    ...[...plain.matchAll(/^\[[^\]]+\]: +(\S+)$/gm)].map(([, target]) => target),
  ];
}

function problemsOf(page) {
  const problems = [];
  for (const link of linksOf(readFileSync(join(root, page), "utf8"))) {
    if (/^[a-z][a-z+.-]*:/i.test(link)) continue;
    const [path, anchor] = link.split("#");
    const target = path === "" ? join(root, page) : resolve(root, dirname(page), decodeURI(path));
    if (relative(root, target).startsWith("..")) problems.push(`${link} leads out of the repository`);
    else if (!existsSync(target)) problems.push(`${link}: there is no such file`);
    else if (anchor !== undefined && target.endsWith(".md") && !anchorsOf(target).has(anchor)) {
      problems.push(`${link}: there is no such heading`);
    }
  }
  return problems;
}

describe("links in Markdown", () => {
  it("links in Markdown are found", () => {
    const count = pages.reduce(
      (sum, page) => sum + linksOf(readFileSync(join(root, page), "utf8")).length,
      0,
    );
    assert.ok(pages.length > 50 && count > 200, `${pages.length} pages, ${count} links`);
  });

  for (const page of pages) {
    it(`every link of ${page} leads somewhere`, () => assert.deepEqual(problemsOf(page), []));
  }
});

describe("docs/README.md", () => {
  it("docs/README.md links to every guide, recipe and other page of docs/", () => {
    const linked = new Set(
      linksOf(readFileSync(join(root, "docs/README.md"), "utf8")).map((link) => link.split("#")[0]),
    );
    const own = pages.filter((page) => /^docs\/(?:guides|recipes|design)\/|^docs\/[^/]+$/.test(page));
    const missing = own
      .map((page) => page.slice("docs/".length))
      .filter((page) => page !== "README.md" && !linked.has(page));
    assert.deepEqual(missing, []);
  });
});
