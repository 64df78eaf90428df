// The worker of code mode as one text in a module, with the engine's own module in it: a program in a single file starts it without a
// file beside it.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "./lib.mjs";

// Its terms ask for their text wherever it goes.
const terms = readFileSync(join(root, "node_modules", "quickjs-wasi", "LICENSE"), "utf8").trim();

const { outputFiles } = await build({
  entryPoints: [join(root, "facade", "code", "worker.ts")],
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  charset: "utf8",
  minifySyntax: true,
  legalComments: "inline",
  banner: { js: `/*! Contains quickjs-wasi:\n${terms}\n*/` },
  logLevel: "warning",
  absWorkingDir: root,
  write: false,
});
writeFileSync(
  join(root, "dist", "code", "worker-text.js"),
  `module.exports = ${JSON.stringify(outputFiles[0].text)};\n`,
);
