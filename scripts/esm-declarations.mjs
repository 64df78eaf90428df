// The declarations once more for ES modules: TypeBox declares its `Kind` symbol separately for each module format, so
// a schema constant that is declared through one is no `TSchema` to the other. What has nothing to do with TypeBox is
// declared once for both, so that a type of one format is the type of the other.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./lib.mjs";

const RELATIVE = /(["'])(\.{1,2}\/[^"'\n]*)\.js\1/g;

export function writeEsmDeclarations() {
  const dist = join(root, "dist");
  const texts = new Map();
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith(".d.ts")) continue;
    const file = join(entry.parentPath ?? entry.path, entry.name);
    // A class with private fields fits nowhere but where the same declaration of it is asked for. The line stays, for
    // the declaration maps.
    const text = readFileSync(file, "utf8").replace(/^ +#private;$/gm, "");
    writeFileSync(file, text);
    texts.set(file, text);
  }
  const twice = needingTypeBox(texts);
  for (const [file, text] of texts) {
    const declarations = text.replace(RELATIVE, (whole, quote, path) =>
      twice.has(target(file, path)) ? `${quote}${path}.mjs${quote}` : whole,
    );
    writeFileSync(file.replace(/\.d\.ts$/, ".d.mts"), declarations);
  }
}

const target = (file, path) => join(dirname(file), `${path}.d.ts`);

/** Declarations that import TypeBox's, or others that do. */
function needingTypeBox(texts) {
  const needing = new Set(
    [...texts].filter(([, text]) => text.includes("@sinclair/typebox")).map(([file]) => file),
  );
  for (let before = -1; before !== needing.size; ) {
    before = needing.size;
    for (const [file, text] of texts) {
      if ([...text.matchAll(RELATIVE)].some(([, , path]) => needing.has(target(file, path))))
        needing.add(file);
    }
  }
  return needing;
}
