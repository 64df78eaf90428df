// npm run build: the addon and the facade, as a user gets them.
// With --profile dev: as the tests use them.

import { buildAddon, buildFacade, ensureInstalled } from "./lib.mjs";

const { argv } = process;
const at = argv.indexOf("--profile");
const profile = at === -1 ? "release" : argv[at + 1];

ensureInstalled();
buildAddon({ profile, features: profile === "dev" ? ["test-hooks"] : [] });
buildFacade();
