// The declarations once more for ES modules: TypeBox declares its `Kind` symbol separately for each module format, so
// a schema constant that is declared through one is no `TSchema` to the other.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./lib.mjs";

export function writeEsmDeclarations() {
  for (const entry of readdirSync(join(root, "dist"), { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith(".d.ts")) continue;
    const file = join(entry.parentPath ?? entry.path, entry.name);
    const declarations = readFileSync(file, "utf8").replace(/(["'])(\.{1,2}\/[^"'\n]*)\.js\1/g, "$1$2.mjs$1");
    writeFileSync(file.replace(/\.d\.ts$/, ".d.mts"), declarations);
  }
}
