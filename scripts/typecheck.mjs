// npm run typecheck: the facade, and the type tests against its declarations. Needs no Rust and no addon.

import { writeEsmDeclarations } from "./esm-declarations.mjs";
import { ensureInstalled, heading, isMain, tool } from "./lib.mjs";

/** Checks the type tests against the declarations in dist/. */
export function checkTypeTests() {
  heading("type tests");
  tool("typescript", "bin/tsc", ["-p", "__test__/types"]);
}

if (isMain(import.meta.url)) {
  ensureInstalled();
  heading("facade");
  tool("typescript", "bin/tsc", ["-p", "facade"]);
  writeEsmDeclarations();
  checkTypeTests();
}
