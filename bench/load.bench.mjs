// How long `import` takes, in fresh processes, next to what a TypeScript package of this kind loads
// anyway (TypeBox and its value module); and how big the installed package is. Interleaved.

import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { report } from "./results.mjs";
import { median, printTable } from "./support.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const ROUNDS = Number(process.argv[2] ?? 40);

const variants = {
  "typebox + /value (ESM)": 'await import("@sinclair/typebox"); await import("@sinclair/typebox/value");',
  "operations (ESM)": 'await import("@alkdev/operations");',
  "typebox + /value (CJS)": 'require("@sinclair/typebox"); require("@sinclair/typebox/value");',
  "operations (CJS)": 'require("@alkdev/operations");',
};

function loadTime(name, code) {
  const type = name.includes("ESM") ? "module" : "commonjs";
  const script = `const start = performance.now(); ${code} console.log(performance.now() - start);`;
  return Number(
    execFileSync(process.execPath, [`--input-type=${type}`, "--eval", script], {
      cwd: root,
      encoding: "utf8",
    }),
  );
}

const times = Object.fromEntries(Object.keys(variants).map((name) => [name, []]));
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, code] of Object.entries(variants)) times[name].push(loadTime(name, code));
}

const typical = Object.fromEntries(Object.entries(times).map(([name, list]) => [name, median(list)]));
printTable(
  ["import in a fresh process", "median ms", "ratio"],
  Object.entries(typical).map(([name, ms]) => {
    const reference = typical[`typebox + /value (${name.includes("ESM") ? "ESM" : "CJS"})`];
    return [name, ms.toFixed(1), (ms / reference).toFixed(2)];
  }),
);

report("load.import", { ours: typical["operations (ESM)"], reference: typical["typebox + /value (ESM)"] });

const sizeOf = (path) =>
  statSync(path).isDirectory()
    ? readdirSync(path).reduce((sum, entry) => sum + sizeOf(join(path, entry)), 0)
    : statSync(path).size;
const addon = readdirSync(root).filter((file) => file.endsWith(".node"));
if (addon.length === 1) report("load.addon", { ours: sizeOf(join(root, addon[0])) / 1e6 });
printTable(
  ["installed size", "KiB"],
  [
    ["dist (JavaScript and types)", Math.round(sizeOf(join(root, "dist")) / 1024)],
    ...addon.map((file) => [`addon ${file}`, Math.round(sizeOf(join(root, file)) / 1024)]),
    [
      "@sinclair/typebox, for comparison",
      Math.round(sizeOf(join(root, "node_modules/@sinclair/typebox")) / 1024),
    ],
  ],
);
