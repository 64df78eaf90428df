// One implementation (CommonJS) and, for `import`, wrappers that hand out the very same objects: see
// docs/decisions/0002-one-cjs-implementation.md.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
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

// The declarations once more for ES modules: TypeBox declares its `Kind` symbol separately for each
// module format, so a schema constant that is declared through one is no `TSchema` to the other.
for (const entry of readdirSync(join(root, "dist"), { recursive: true, withFileTypes: true })) {
  if (!entry.name.endsWith(".d.ts")) continue;
  const file = join(entry.parentPath ?? entry.path, entry.name);
  const declarations = readFileSync(file, "utf8").replace(/(["'])(\.{1,2}\/[^"'\n]*)\.js\1/g, "$1$2.mjs$1");
  writeFileSync(file.replace(/\.d\.ts$/, ".d.mts"), declarations);
}
