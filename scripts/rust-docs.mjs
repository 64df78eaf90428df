// npm run rust-docs: documents the crates, without a warning, and compares what `operations` offers to Rust programs with
// crates/operations/api.txt. A change of that file is a change for users. With --update it is written.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { heading, isMain, root, run } from "./lib.mjs";

const LISTING = join(root, "crates", "operations", "api.txt");
const ENTITIES = { lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'", nbsp: " " };

/** The text of a piece of HTML. */
function textOf(html) {
  return html
    .replaceAll(/<div class="where">/g, " ")
    .replaceAll(/<summary[^>]*>.*?<\/summary>|<[^>]*>/gs, "")
    .replaceAll(/&([a-z#\d]+);/g, (_, name) => ENTITIES[name] ?? " ")
    .replaceAll(/\s+/g, " ")
    .trim();
}

const all = (html, pattern) => Array.from(html.matchAll(pattern), ([, found]) => textOf(found));

/** What a page of rustdoc says about an item: its declaration, its own functions, and the traits that it implements. */
export function itemOf(html) {
  // Every type has the automatic traits and the blanket ones.
  const [page] = html.split(/<h2 id="(?:synthetic|blanket)-implementations"/);
  const [own, traits = ""] = page.split('<h2 id="trait-implementations"');
  return {
    declaration: all(own, /<pre class="rust item-decl"><code>(.*?)<\/code><\/pre>/gs).join("\n"),
    functions: all(own, /<h4 class="code-header">(.*?)<\/h4>/gs),
    traits: all(traits, /<h3 class="code-header">(.*?)<\/h3>/gs),
    hasExample: own.includes('class="rust rust-example-rendered"'),
  };
}

/** All items of the crate, by the names of their pages. */
export function items(folder = join(root, "target", "doc", "operations")) {
  const pages = readdirSync(folder).filter((name) =>
    /^(struct|enum|fn|trait|type|constant|macro)\..*\.html$/.test(name),
  );
  return pages.sort().map((name) => ({
    name: name.replace(/^\w+\.(.*)\.html$/, "$1"),
    ...itemOf(readFileSync(join(folder, name), "utf8")),
  }));
}

function listing() {
  return items()
    .map(({ declaration, functions, traits }) =>
      [declaration, ...functions.map((each) => `    ${each}`), ...traits.map((each) => `    ${each}`)].join(
        "\n",
      ),
    )
    .join("\n\n")
    .concat("\n");
}

/** Documents all crates, and ends this process where that warns, where an item has no example, or where the listing differs. */
export function rustDocs({ update = false } = {}) {
  heading("cargo doc");
  const env = { RUSTDOCFLAGS: "-D warnings" };
  run("cargo", ["doc", "--no-deps", "--all-features", "--locked"], { env });
  const without = items().filter(({ hasExample }) => !hasExample);
  if (without.length > 0) fail(`without an example: ${without.map(({ name }) => name).join(", ")}`);
  const now = listing();
  if (update) writeFileSync(LISTING, now);
  const before = readFileSync(LISTING, "utf8");
  if (now === before) return;
  const lines = new Set(before.split("\n"));
  const after = new Set(now.split("\n"));
  for (const line of lines) if (!after.has(line)) console.error(`- ${line}`);
  for (const line of after) if (!lines.has(line)) console.error(`+ ${line}`);
  fail("the API of crates/operations has changed. If that is intended: npm run rust-docs -- --update");
}

function fail(why) {
  console.error(`cargo doc: ${why}`);
  process.exit(1);
}

if (isMain(import.meta.url)) {
  const { values } = parseArgs({ options: { update: { type: "boolean" } } });
  rustDocs(values);
}
