// node scripts/pack-release.mjs <folder>: packs a release. The folder holds the addons of all platforms, as
// .github/workflows/build.yml makes them; pack/ gets the tarball of the package and of every platform package.

import { copyFileSync, existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { addonFile, buildFacade, ensureInstalled, hostTriple, root } from "./lib.mjs";
import { packInto, triples } from "./pack.mjs";

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error("Which folder holds the addons?");
  process.exit(1);
}
const addon = (triple) => resolve(folder, addonFile(triple));
const missing = triples().filter((triple) => !existsSync(addon(triple)));
if (missing.length > 0) {
  console.error(`No addon in ${folder} for: ${missing.join(", ")}`);
  process.exit(1);
}

// The facade is compiled with the addon of this machine in place: the module wrappers list what it exports.
ensureInstalled();
copyFileSync(addon(hostTriple()), join(root, addonFile()));
buildFacade();

const pack = join(root, "pack");
packInto(pack, Object.fromEntries(triples().map((triple) => [triple, addon(triple)])));
console.log(`\n${readdirSync(pack).sort().join("\n")}`);
