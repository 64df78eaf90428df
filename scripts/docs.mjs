// npm run docs: guides, recipes, decisions and the reference of every name as one static site, in target/site/. A dead link is
// an error. The generator is a dependency of docs/ alone.

import { join } from "node:path";
import { ensureDeclarations, ensureInstalled, root, run } from "./lib.mjs";
import { makeReference } from "./reference.mjs";

const docs = join(root, "docs");
ensureInstalled();
run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: docs });
run(process.execPath, [join(docs, "node_modules", "vitepress", "bin", "vitepress.js"), "build", docs], {
  cwd: docs,
});
ensureDeclarations();
const count = await makeReference({ folder: join(root, "target", "site", "reference") });
console.log(`${join("target", "site", "index.html")}, with the reference of ${count} names`);
