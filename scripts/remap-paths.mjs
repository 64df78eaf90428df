// node scripts/remap-paths.mjs [PROFILE]: for builds that do not go through `npm run build`, as those of .github/workflows/build.yml:
// cargo build --release --config "$(node scripts/remap-paths.mjs)". With a profile (`scripts/guided.mjs`) the addon is optimised for it.

import { resolve } from "node:path";
import { remapPaths } from "./lib.mjs";

const [, , profile] = process.argv;
console.log(remapPaths(profile === undefined ? [] : [`-Cprofile-use=${resolve(profile)}`]));
