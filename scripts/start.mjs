// npm start: the tour, on a package that is built here if need be.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { addonFile, buildAddon, buildFacade, ensureInstalled, root, run } from "./lib.mjs";

ensureInstalled();
if (!existsSync(join(root, addonFile()))) buildAddon({ profile: "ci", features: ["test-hooks"] });
if (!existsSync(join(root, "dist", "index.mjs"))) buildFacade();
run(process.execPath, [join(root, "examples", "tour", "index.mjs")]);
