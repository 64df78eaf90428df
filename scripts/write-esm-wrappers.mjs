// One implementation (CommonJS) and, for `import`, wrappers that hand out the very same objects: see
// docs/decisions/0002-one-cjs-implementation.md.

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { writeEsmDeclarations } from "./esm-declarations.mjs";
import { root } from "./lib.mjs";

const require = createRequire(import.meta.url);
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

// TypeBox's ES module and CommonJS builds have registries of their own, so the wrappers hand in theirs. The registries are
// three of the 200 files that make up TypeBox, and loading all takes longer than everything of ours. package.json says who
// gets which of these, under "imports".
const TRACED = (other) => `
// Which of the two files is loaded is up to the Node that runs the program: tools that copy what it imports take both.
export const traced = () => import("./typebox-registries-${other}.mjs");
`;
const REGISTRIES = {
  // Loads what may throw, before an ES module imports it: Node 20 ends the process then, even if the program catches what
  // `import()` rejects with.
  "load-first.mjs": `import { createRequire } from "node:module";

if (process.version.startsWith("v20.") && process.versions.bun === undefined) {
  try {
    createRequire(import.meta.url)("./runtime.js");
  } catch (error) {
    // In a bundle there is no such file.
    if (error.code !== "MODULE_NOT_FOUND") throw error;
  }
}
`,
  // Bundlers need to see what is imported, and give a program the one copy that is in the bundle.
  "typebox-registries.mjs": `import { FormatRegistry, TypeRegistry } from "@sinclair/typebox";
import registries from "./schema/registries.js";

registries.useTypeBox({ FormatRegistry, TypeRegistry });
`,
  // Node 22.12 and above: `require` takes ES modules, so this can wait until one is needed. No top-level
  // `await` here, which would keep programs from requiring an ES module that imports this package.
  "typebox-registries-sync.mjs": `import "./load-first.mjs";
import registries from "./schema/registries.js";

registries.useEsModule(import.meta.resolve("@sinclair/typebox"));
${TRACED("async")}`,
  "typebox-registries-async.mjs": `import "./load-first.mjs";
import registries from "./schema/registries.js";

let typebox;
try {
  typebox = await import(new URL("./type/registry/index.mjs", import.meta.resolve("@sinclair/typebox")));
} catch {
  typebox = await import("@sinclair/typebox");
}
registries.useTypeBox(typebox);
${TRACED("sync")}`,
};
for (const [name, text] of Object.entries(REGISTRIES)) writeFileSync(join(root, "dist", name), text);

// Names are listed one by one because Node finds the names of a CommonJS module by a guess at its
// source, and other tools by another.
for (const conditions of Object.values(exports)) {
  if (typeof conditions === "string") continue;
  const implementation = conditions.require;
  const names = Object.keys(require(join(root, implementation)));
  writeFileSync(
    join(root, conditions.import),
    [
      // The client checks no schemas, and is to stay small.
      ...(implementation === "./dist/client.js" ? [] : ['import "#typebox-registries";']),
      `import implementation from "${implementation.replace("./dist/", "./")}";`,
      "",
      "export const {",
      ...names.map((name) => `  ${name},`),
      "} = implementation;",
      "",
    ].join("\n"),
  );
}

writeEsmDeclarations();
