// `@alkdev/typebox`, a fork with the API of TypeBox and registries of its own: found where the program would find it.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const NAME = "@alkdev/typebox";

/** Where the two builds of the fork begin. */
export interface Fork {
  readonly commonJs: string;
  /** A URL. */
  readonly esModule: string | undefined;
}

/** The fork that the program has installed, if it has. Nothing of it is loaded. Never looked for in the working directory: a
 * program may be started in a folder that is not to be trusted. */
export function installedFork(): Fork | undefined {
  const program = process.argv[1];
  // An ES module bundle has no `__dirname`.
  const own = typeof __dirname === "string" ? __dirname : undefined;
  for (const base of [program && dirname(program), own]) {
    if (base === undefined) continue;
    try {
      const commonJs = createRequire(join(base, "index.js")).resolve(NAME);
      return { commonJs, esModule: esModuleOf(commonJs) };
    } catch {
      // Not there, or files may not be read.
    }
  }
  return undefined;
}

function esModuleOf(commonJs: string): string | undefined {
  const start = commonJs.lastIndexOf(join(NAME));
  if (start < 0) return undefined;
  const root = commonJs.slice(0, start + NAME.length);
  const { exports, module } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const entry = exports?.["."]?.import;
  const path: unknown = entry?.default ?? entry ?? module;
  return typeof path === "string" ? pathToFileURL(join(root, path)).href : undefined;
}
