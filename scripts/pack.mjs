// Makes the tarballs that a user on this platform installs, of what is built at the moment.

import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { addonFile, ensureDirectory, hostTriple, output, root } from "./lib.mjs";

/** Packs what is built: the package itself and the platform package of this machine. */
export function packInto(directory) {
  rmSync(directory, { recursive: true, force: true });
  ensureDirectory(directory);
  const platformPackage = join(root, "npm", hostTriple());
  const addon = join(platformPackage, addonFile());
  copyFileSync(join(root, addonFile()), addon);
  try {
    for (const source of [root, platformPackage]) {
      output("npm", [
        "pack",
        source,
        "--pack-destination",
        directory,
        "--ignore-scripts",
        "--loglevel=error",
      ]);
    }
  } finally {
    rmSync(addon);
  }
}
