// Makes tarballs of what is built at the moment.

import { copyFileSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { addonFile, ensureDirectory, hostTriple, output, root, rustSources } from "./lib.mjs";
import { NOTICES, notices } from "./notices.mjs";

/** The platforms that there are packages for, each a folder of npm/. */
export const triples = () => readdirSync(join(root, "npm")).sort();

/**
 * Packs the package itself and the platform packages of some addons, by default the one of this machine.
 *
 * @param {Record<string, string>} addons where the addon of each platform is
 * @param {string} [version] another version than that of the sources, for rehearsals
 */
export function packInto(
  directory,
  addons = { [hostTriple()]: join(root, addonFile()) },
  version = undefined,
) {
  rmSync(directory, { recursive: true, force: true });
  ensureDirectory(directory);
  packFolder(stagePackage(version), directory);
  for (const [triple, addon] of Object.entries(addons)) {
    packFolder(stagePlatform(triple, addon, version), directory);
  }
}

/**
 * The package as users get it, in a folder of its own: what `files` names, and the platform packages among its
 * dependencies. In a clone these would name versions that are not published yet, and `npm ci` would refuse them.
 */
function stagePackage(version) {
  const stage = join(root, "target", "package");
  rmSync(stage, { recursive: true, force: true });
  ensureDirectory(stage);
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  if (version !== undefined) manifest.version = version;
  // They are for contributors.
  delete manifest.scripts;
  delete manifest.devDependencies;
  for (const path of ["README.md", ...manifest.files.filter((pattern) => !pattern.startsWith("!"))]) {
    cpSync(join(root, path), join(stage, path), { recursive: true });
  }
  manifest.optionalDependencies = Object.fromEntries(
    triples().map((triple) => [`${manifest.name}-${triple}`, manifest.version]),
  );
  writeFileSync(join(stage, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
  return stage;
}

/** A platform package: the addon, and the terms of everything that is compiled into it. */
function stagePlatform(triple, addon, version) {
  const stage = join(root, "target", "packages", triple);
  rmSync(stage, { recursive: true, force: true });
  cpSync(join(root, "npm", triple), stage, { recursive: true });
  const file = join(stage, "package.json");
  const manifest = JSON.parse(readFileSync(file, "utf8"));
  if (version !== undefined) manifest.version = version;
  // So that a clone without Rust knows whether this addon fits its sources (`npm run check`).
  manifest.sources = rustSources();
  writeFileSync(file, `${JSON.stringify(manifest, undefined, 2)}\n`);
  copyFileSync(addon, join(stage, addonFile(triple)));
  for (const licence of ["LICENSE-APACHE", "LICENSE-MIT"])
    copyFileSync(join(root, licence), join(stage, licence));
  writeFileSync(join(stage, NOTICES), notices(triple));
  return stage;
}

function packFolder(source, directory) {
  output("npm", ["pack", source, "--pack-destination", directory, "--ignore-scripts", "--loglevel=error"]);
}
