// The runtimes that the package supports, as npm carries them.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureDirectory, root, run } from "./lib.mjs";

export const RUNTIMES = {
  "node-20": { install: "node@20", command: ["node"] },
  "node-22": { install: "node@22", command: ["node"] },
  "node-24": { install: "node@24", command: ["node"] },
  "node-26": { install: "node@26", command: ["node"] },
  bun: { install: "bun@1", command: ["bun"] },
  // Deno asks before it lets a program load a library or read a file; a user of an addon says yes.
  deno: { install: "deno@2", command: ["deno", "run", "--allow-all", "--node-modules-dir=manual"] },
};

/** Installs a tool from npm into a folder of its own, and returns the path of one of its programs. */
export function installTool(folder, wanted, program, overrides = {}) {
  const directory = ensureDirectory(join(root, "target", folder));
  writeFileSync(join(directory, "package.json"), JSON.stringify({ private: true, overrides }));
  run("npm", ["install", "--no-audit", "--no-fund", "--no-save", "--loglevel=error", wanted], {
    cwd: directory,
  });
  return join(directory, "node_modules", ".bin", program + (process.platform === "win32" ? ".cmd" : ""));
}

/** Installs a runtime, and returns the command that runs a program with it. */
export function installRuntime(name) {
  const { install, command } = RUNTIMES[name];
  const [program, ...args] = command;
  const binary = installTool(join("runtimes", name), install, program);
  run(binary, ["--version"]);
  return [binary, ...args];
}
