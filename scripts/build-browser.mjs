// The entries for the export conditions `workerd`, `edge-light` and `browser`: the facade without native code, as ES modules that share
// their classes, and as CommonJS for those who still need it (Jest with jsdom). What an entry has in Node and cannot have
// here is a function that says why.

import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative, sep } from "node:path";
import { build } from "esbuild";
import { ensureDirectory, isMain, root } from "./lib.mjs";

const require = createRequire(import.meta.url);
const facade = join(root, "facade");
const out = join(root, "dist", "browser");

/** The files of the facade that need Node or native code, and what stands in for them. */
const COUNTERPARTS = new Map(
  [
    ["interop/host.ts", "host.ts"],
    ["interop/keep-alive.ts", "keep-alive.ts"],
    ["registry/approval-folder.ts", "approval-stores.ts"],
    ["registry/approval-redis.ts", "approval-stores.ts"],
    ["registry/call-gate.ts", "limits.ts"],
    ["registry/limits.ts", "limits.ts"],
    ["registry/native-mirror.ts", "native-mirror.ts"],
    ["registry/spills.ts", "spills.ts"],
    ["schema/compiled.ts", "compiled.ts"],
    ["schema/registries.ts", "registries.ts"],
    ["sse/read-frames.ts", "read-frames.ts"],
  ].map(([node, browser]) => [join(facade, node), join(facade, "browser", browser)]),
);

/** The entries that package.json offers to browsers, by the name of their file. */
export function browserEntries() {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return Object.values(exports)
    .filter((conditions) => conditions.browser !== undefined)
    .map((conditions) => /^\.\/dist\/([\w-]+)\.js$/.exec(conditions.require)[1]);
}

const common = {
  bundle: true,
  platform: "neutral",
  target: "es2022",
  external: ["@sinclair/typebox", "@logtape/logtape"],
  charset: "utf8",
  logLevel: "warning",
  absWorkingDir: root,
};

export async function buildBrowser() {
  rmSync(out, { recursive: true, force: true });
  ensureDirectory(out);
  const names = browserEntries();
  const available = await namesOf("index");
  const sources = new Map();
  for (const name of names) sources.set(name, await sourceOf(name, available));

  await build({
    ...common,
    entryPoints: names.map((name) => ({ in: `entry:${name}`, out: name })),
    plugins: [withoutNode(sources)],
    format: "esm",
    splitting: true,
    outdir: out,
    chunkNames: "shared-[hash]",
    outExtension: { ".js": ".mjs" },
  });

  // One file has everything, so that there is one `CallError` however many entries are required.
  const all = names.map((name, index) => `export * as e${index} from "entry:${name}";`).join("\n");
  await build({
    ...common,
    stdin: { contents: all, resolveDir: facade, loader: "ts" },
    plugins: [withoutNode(sources)],
    format: "cjs",
    outfile: join(out, "all.cjs"),
  });
  for (const [index, name] of names.entries()) {
    writeFileSync(join(out, `${name}.cjs`), `module.exports = require("./all.cjs").e${index};\n`);
  }
}

/** An entry: what works here, and for every other name of the entry in Node a function that says why it does not. */
async function sourceOf(name, availableInIndex) {
  const hasOwn = existsSync(join(facade, "browser", `${name}.ts`));
  const works = hasOwn ? await namesOf(name) : availableInIndex;
  const lines = ['import { unavailable } from "./browser/unavailable.js";'];
  const inNode = require(join(root, "dist", `${name}.js`));
  for (const [each, value] of Object.entries(inNode)) {
    if (works.has(each)) {
      lines.push(`export { ${each} } from "./browser/${hasOwn ? name : "index"}.js";`);
    } else if (typeof value === "function") {
      lines.push(`export const ${each} = /* @__PURE__ */ unavailable("${each}");`);
    } else {
      throw new Error(
        `${each} of ${name} is no function: facade/browser/${name}.ts has to say what it is there`,
      );
    }
  }
  return lines.join("\n");
}

/** The names that a file of facade/browser/ exports. */
async function namesOf(name) {
  const { metafile } = await build({
    ...common,
    entryPoints: [join(facade, "browser", `${name}.ts`)],
    plugins: [withoutNode(new Map())],
    format: "esm",
    outdir: out,
    write: false,
    metafile: true,
  });
  return new Set(Object.values(metafile.outputs).flatMap(({ exports }) => exports));
}

/** Puts the counterparts in place, and stops where something would still need Node or the addon. */
function withoutNode(sources) {
  return {
    name: "without-node",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^entry:/ }, ({ path }) => ({
        path: path.slice("entry:".length),
        namespace: "entry",
      }));
      onLoad({ filter: /.*/, namespace: "entry" }, ({ path }) => ({
        contents: sources.get(path),
        resolveDir: facade,
        loader: "ts",
      }));
      onResolve({ filter: /^\.{1,2}\// }, ({ path, resolveDir, importer }) => {
        const file = join(resolveDir, path).replace(/\.js$/, ".ts");
        if (file === join(facade, "runtime.ts") || file === join(facade, "native.ts")) {
          return { errors: [{ text: `${show(importer)} needs the addon, which no browser can load` }] };
        }
        return { path: COUNTERPARTS.get(file) ?? file, sideEffects: false };
      });
      onResolve({ filter: /^(node:|zod\/|@valibot\/)/ }, ({ path, importer, kind }) =>
        // The adapters load their libraries on demand; they are left out here, and the import with them.
        kind === "dynamic-import"
          ? { path, external: true }
          : {
              errors: [
                {
                  text: `${show(importer)} needs ${path}, which browsers do not have: put it into facade/interop/host.ts, and its counterpart into facade/browser/host.ts`,
                },
              ],
            },
      );
    },
  };
}

const show = (file) => relative(root, file).split(sep).join("/");

if (isMain(import.meta.url)) await buildBrowser();
