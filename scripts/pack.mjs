// Makes tarballs of what is built at the moment.

import { copyFileSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { addonFile, ensureDirectory, hostTriple, output, root } from "./lib.mjs";

/** The platforms that there are packages for, each a folder of npm/. */
export const triples = () => readdirSync(join(root, "npm")).sort();

/**
 * Packs the package itself and the platform packages of some addons, by default the one of this machine.
 *
 * @param {Record<string, string>} addons where the addon of each platform is
 */
export function packInto(directory, addons = { [hostTriple()]: join(root, addonFile()) }) {
  rmSync(directory, { recursive: true, force: true });
  ensureDirectory(directory);
  packFolder(stagePackage(), directory);
  for (const [triple, addon] of Object.entries(addons)) {
    const platformPackage = join(root, "npm", triple);
    const copy = join(platformPackage, addonFile(triple));
    copyFileSync(addon, copy);
    try {
      packFolder(platformPackage, directory);
    } finally {
      rmSync(copy);
    }
  }
}

/**
 * The package as users get it, in a folder of its own: what `files` names, and the platform packages among its
 * dependencies. In a clone these would name versions that are not published yet, and `npm ci` would refuse them.
 */
function stagePackage() {
  const stage = join(root, "target", "package");
  rmSync(stage, { recursive: true, force: true });
  ensureDirectory(stage);
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const path of ["README.md", ...manifest.files.filter((pattern) => !pattern.startsWith("!"))]) {
    cpSync(join(root, path), join(stage, path), { recursive: true });
  }
  manifest.optionalDependencies = Object.fromEntries(
    triples().map((triple) => [`${manifest.name}-${triple}`, manifest.version]),
  );
  writeFileSync(join(stage, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
  return stage;
}

function packFolder(source, directory) {
  output("npm", ["pack", source, "--pack-destination", directory, "--ignore-scripts", "--loglevel=error"]);
}
