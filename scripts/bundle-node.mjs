// One file for what the main entry loads: Node takes longer to find and read 150 small files than to run what is in them.
// tsc has written a file for each module before. Those that are in the bundle hand on what the bundle has, so that there is
// one of everything, whichever file is loaded.

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, posix, relative, sep } from "node:path";
import { build } from "esbuild";
import { isMain, root } from "./lib.mjs";

const require = createRequire(import.meta.url);
const facade = join(root, "facade");
const dist = join(root, "dist");
const BUNDLE = "core.js";

/** Classes of test builds. */
const FOR_TESTS = ["CallMachine", "RegistryHooks", "TestHooks"];

/** What the addon has to have, from the declarations: `Runtime`, `Runtime.version`. */
function nativeNames() {
  const source = readFileSync(join(facade, "native-binding.ts"), "utf8");
  const functions = [...source.matchAll(/^export declare function (\w+)/gm)].map(([, name]) => name);
  const classes = [...source.matchAll(/^export declare class (\w+) \{\n([\s\S]*?)^\}/gm)];
  const members = classes
    .filter(([, name]) => !FOR_TESTS.includes(name))
    .flatMap(([, name, body]) => [
      name,
      ...[...body.matchAll(/^ {2}(?:get )?(\w+)\(/gm)]
        .filter(([, member]) => member !== "constructor")
        .map(([, member]) => `${name}.${member}`),
    ]);
  return [...functions, ...members];
}

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
  define: { NATIVE_NAMES: JSON.stringify(nativeNames().join(" ")) },
};

/** Files of their own, with what they load: the command line prints its help without anything else. */
const APART = ["errors.ts", "interop/nearest-name.ts"];

export async function bundleNode() {
  const apart = new Set(await modulesOf(APART));
  const modules = (await modulesOf(["index.ts"])).filter((module) => !apart.has(module));
  // The main entry first: modules are run in the order in which it loads them.
  const contents = [
    'import "./index.ts";',
    ...modules.map((module, index) => `export * as m${index} from "./${module}";`),
  ].join("\n");
  const { outputFiles } = await build({
    ...common,
    stdin: { contents, resolveDir: facade, loader: "ts" },
    plugins: [leftApart(apart)],
    write: false,
  });
  writeFileSync(join(dist, BUNDLE), withClassNames(outputFiles[0].text));
  // Written here, because tsc leaves a file alone that it has written before, whatever has become of it.
  await build({
    ...common,
    bundle: false,
    packages: undefined,
    entryPoints: [...apart].map((module) => join(facade, module)),
    outdir: dist,
    outbase: facade,
  });
  const bundle = require(join(dist, BUNDLE));
  for (const [index, module] of modules.entries()) writeStub(module, index, Object.keys(bundle[`m${index}`]));
  assertNames();
}

/** Has the bundle load some modules as files. */
function leftApart(apart) {
  return {
    name: "apart",
    setup({ onResolve }) {
      onResolve({ filter: /^\.{1,2}\/.*\.js$/ }, ({ path, resolveDir }) => {
        const module = relative(facade, join(resolveDir, path)).split(sep).join("/");
        if (!apart.has(module.replace(/\.js$/, ".ts"))) return undefined;
        return { path: `./${module}`, external: true };
      });
    },
  };
}

/** The modules that entries load. */
async function modulesOf(entries) {
  const { metafile } = await build({
    ...common,
    entryPoints: entries.map((entry) => join(facade, entry)),
    outdir: dist,
    write: false,
    metafile: true,
  });
  return Object.keys(metafile.inputs).map((path) => relative(facade, join(root, path)).split(sep).join("/"));
}

/** Not `module.exports = require(...)`: when an ES module imports such a file, Node reads through all of the bundle for its
 * names. They are in the last line instead, where Node looks for them and where they do not run. */
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
