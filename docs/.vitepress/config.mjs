// The site: `npm run docs`. Its menu is read from the tables of docs/README.md, so that a page is listed once.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const docs = join(import.meta.dirname, "..");
const { homepage, version } = JSON.parse(readFileSync(join(docs, "..", "package.json"), "utf8"));
const repository = homepage.replace(/#.*$/, "");
const index = readFileSync(join(docs, "README.md"), "utf8");

/** The pages that a part of docs/README.md lists, in its order. */
const pages = (part) =>
  Array.from(part.matchAll(/^\| \[([^\]]+)\]\(([\w/-]+)\.md\)/gm), ([, text, page]) => ({
    text,
    link: `/${page}`,
  }));

/** A part of docs/README.md: from its heading to the next. */
function section(heading) {
  const [, part] = index.split(`\n## ${heading}\n`);
  return part.split("\n## ")[0];
}

const guides = section("Guides")
  .split(/^\*\*(.+)\*\*$/m)
  .slice(1);
const decisions = readdirSync(join(docs, "decisions"))
  .filter((name) => /^\d/.test(name))
  .map((name) => {
    const [, title] = /^# (.+)$/m.exec(readFileSync(join(docs, "decisions", name), "utf8"));
    return { text: title, link: `/decisions/${name.replace(/\.md$/, "")}` };
  });

const sidebar = [
  {
    text: "Start",
    items: [
      { text: "Overview", link: "/" },
      { text: "Concepts", link: "/concepts" },
    ],
  },
];
for (let at = 0; at < guides.length; at += 2)
  sidebar.push({ text: guides[at], items: pages(guides[at + 1]) });
sidebar.push(
  { text: "Recipes", items: pages(section("Recipes")) },
  { text: "About the package", items: pages(section("About the package")) },
  { text: "Decisions", collapsed: true, items: decisions },
);

/** Links that leave docs/ lead to the repository. */
function linksToRepository(markdown) {
  const open =
    markdown.renderer.rules.link_open ??
    ((tokens, at, options, _, self) => self.renderToken(tokens, at, options));
  markdown.renderer.rules.link_open = (tokens, at, options, env, self) => {
    const href = tokens[at].attrGet("href");
    const [, above, path] = /^((?:\.\.\/)+)(.*)$/.exec(href) ?? [];
    const depth = env.relativePath.split("/").length;
    if (above !== undefined && above.length / 3 >= depth)
      tokens[at].attrSet("href", `${repository}/blob/main/${path}`);
    return open(tokens, at, options, env, self);
  };
}

export default {
  title: "@alkdev/operations",
  description: "Functions, HTTP APIs, event streams and MCP tools as operations in one registry",
  base: process.env.DOCS_BASE ?? "/",
  outDir: join(docs, "..", "target", "site"),
  cacheDir: join(docs, "..", "target", "vitepress"),
  cleanUrls: true,
  rewrites: { "README.md": "index.md", "decisions/README.md": "decisions/index.md" },
  // Pages of the reference are made by TypeDoc, after the site.
  ignoreDeadLinks: [/^\/reference\//],
  markdown: { html: false, config: linksToRepository },
  themeConfig: {
    sidebar,
    outline: [2, 3],
    search: { provider: "local" },
    nav: [
      { text: "Guides", link: "/" },
      { text: "Reference", link: "/reference/index.html", target: "_self" },
      { text: version, link: `${repository}/blob/main/CHANGELOG.md` },
    ],
    socialLinks: [{ icon: "github", link: repository }],
  },
};
