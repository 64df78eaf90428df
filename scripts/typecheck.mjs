// npm run typecheck: the facade, and the type tests against its declarations. Needs no Rust and no addon.

import { writeEsmDeclarations } from "./esm-declarations.mjs";
import { compile, ensureInstalled, heading, isMain, tool } from "./lib.mjs";

/** Checks the type tests against the declarations in dist/, with both compilers that users have, or the quicker one. */
export function checkTypeTests({ oldCompiler = true } = {}) {
  heading("type tests");
  compile("__test__/types");
  if (oldCompiler) tool("typescript", "bin/tsc", ["-p", "__test__/types"]);
}

if (isMain(import.meta.url)) {
  ensureInstalled();
  heading("facade");
  compile("facade");
  writeEsmDeclarations();
  checkTypeTests();
}
