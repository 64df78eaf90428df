// npm run pack:local: builds in release mode and leaves in pack/ every tarball that a user on this
// platform needs, so that `npm install pack/*.tgz` in an empty folder gives a working package.

import { join } from "node:path";
import { buildAddon, buildFacade, ensureInstalled, root } from "./lib.mjs";
import { packInto } from "./pack.mjs";

ensureInstalled();
buildAddon({ profile: "release" });
buildFacade();
packInto(join(root, "pack"));
console.log("\nInstall it with: npm install pack/*.tgz");
