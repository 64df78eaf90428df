// One file for what the main entry loads: Node takes longer to find and read 150 small files than to run what is in them.
// tsc has written a file for each module before. Those that are in the bundle hand on what the bundle has, so that there is
// one of everything, whichever file somebody loads.

import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, posix, relative, sep } from "node:path";
import { build } from "esbuild";
import { isMain, root } from "./lib.mjs";

const require = createRequire(import.meta.url);
const facade = join(root, "facade");
const dist = join(root, "dist");
const BUNDLE = "core.js";

const common = {
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  packages: "external",
  charset: "utf8",
  logLevel: "warning",
  absWorkingDir: root,
  // package.json lists the files in dist/ that have side effects, and these are in facade/.
  ignoreAnnotations: true,
};

export async function bundleNode() {
  const modules = await modulesOf("index.ts");
  // The main entry first: modules are run in the order in which it loads them.
  const contents = [
    'import "./index.ts";',
    ...modules.map((module, index) => `export * as m${index} from "./${module}";`),
  ].join("\n");
  const { outputFiles } = await build({
    ...common,
    stdin: { contents, resolveDir: facade, loader: "ts" },
    write: false,
  });
  writeFileSync(join(dist, BUNDLE), withClassNames(outputFiles[0].text));
  const bundle = require(join(dist, BUNDLE));
  for (const [index, module] of modules.entries()) writeStub(module, index, Object.keys(bundle[`m${index}`]));
  assertNames();
}

/** The modules that an entry loads. */
async function modulesOf(entry) {
  const { metafile } = await build({
    ...common,
    entryPoints: [join(facade, entry)],
    write: false,
    metafile: true,
  });
  return Object.keys(metafile.inputs).map((path) => relative(facade, join(root, path)).split(sep).join("/"));
}

/** Not `module.exports = require(...)`: when an ES module imports such a file, Node reads through all of the bundle for its
 * names. They are in the last line instead, where Node looks for them and nobody runs it. */
function writeStub(module, number, names) {
  const file = module.replace(/\.ts$/, ".js");
  const path = posix.relative(posix.dirname(file), BUNDLE);
  writeFileSync(
    join(dist, file),
    `"use strict";
const { m${number} } = require("${path.startsWith(".") ? path : `./${path}`}");
module.exports = Object.defineProperty(m${number}, "__esModule", { value: true });
0 && (module.exports = { ${names.join(", ")} });
`,
  );
}

/** A class that mentions itself is `var CallError = class _CallError` in a bundle, and would call itself that. */
function withClassNames(text) {
  const classes = Array.from(text.matchAll(/^var (\w+) = class _\1\b/gm), ([, name]) => name);
  return classes.reduce((result, name) => result.replaceAll(new RegExp(`\\b_${name}\\b`, "g"), name), text);
}

/** Users see the names of classes: in a debugger, and in what they log. */
function assertNames() {
  for (const [name, value] of Object.entries(require(join(dist, "index.js")))) {
    const isClass = typeof value === "function" && /^class\b/.test(String(value));
    if (isClass && value.name !== name && !name.startsWith(value.name)) {
      throw new Error(`The bundle calls ${name} ${value.name}`);
    }
  }
}

if (isMain(import.meta.url)) await bundleNode();
