// One implementation (CommonJS) and, for `import`, wrappers that hand out the very same objects: see
// docs/decisions/0002-one-cjs-implementation.md.

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { writeEsmDeclarations } from "./esm-declarations.mjs";
import { root } from "./lib.mjs";

const require = createRequire(import.meta.url);
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

// TypeBox's ES module and CommonJS builds have registries of their own, so the wrappers hand in theirs.
writeFileSync(
  join(root, "dist", "typebox-registries.mjs"),
  `import { FormatRegistry, TypeRegistry } from "@sinclair/typebox";
import registries from "./schema/registries.js";

registries.useTypeBox({ FormatRegistry, TypeRegistry });
`,
);

// Names are listed one by one because Node finds the names of a CommonJS module by a guess at its
// source, and other tools by another.
for (const conditions of Object.values(exports)) {
  if (typeof conditions === "string") continue;
  const implementation = conditions.require.default;
  const names = Object.keys(require(join(root, implementation)));
  writeFileSync(
    join(root, conditions.import.default),
    [
      'import "./typebox-registries.mjs";',
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
