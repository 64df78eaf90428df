// node scripts/pack-release.mjs <folder>: packs a release. The folder holds the addons of all platforms, as
// .github/workflows/build.yml makes them; pack/ gets the tarball of the package and of every platform package.

import { copyFileSync, existsSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  addonFile,
  buildFacade,
  ensureDirectory,
  ensureInstalled,
  hostTriple,
  output,
  root,
} from "./lib.mjs";

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error("Which folder holds the addons?");
  process.exit(1);
}
const addon = (triple) => resolve(folder, addonFile(triple));
const triples = readdirSync(join(root, "npm")).sort();
const missing = triples.filter((triple) => !existsSync(addon(triple)));
if (missing.length > 0) {
  console.error(`No addon in ${folder} for: ${missing.join(", ")}`);
  process.exit(1);
}

// The facade is compiled with the addon of this machine in place: the module wrappers list what it exports.
ensureInstalled();
copyFileSync(addon(hostTriple()), join(root, addonFile()));
buildFacade();

const pack = join(root, "pack");
rmSync(pack, { recursive: true, force: true });
ensureDirectory(pack);
packFolder(root);
for (const triple of triples) {
  const platformPackage = join(root, "npm", triple);
  const copy = join(platformPackage, addonFile(triple));
  copyFileSync(addon(triple), copy);
  try {
    packFolder(platformPackage);
  } finally {
    rmSync(copy);
  }
}
console.log(`\n${readdirSync(pack).sort().join("\n")}`);

function packFolder(source) {
  output("npm", ["pack", source, "--pack-destination", pack, "--ignore-scripts", "--loglevel=error"]);
}
