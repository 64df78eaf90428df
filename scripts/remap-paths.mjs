// node scripts/remap-paths.mjs: for builds that do not go through `npm run build`, as those of .github/workflows/build.yml:
// cargo build --release --config "$(node scripts/remap-paths.mjs)"

import { remapPaths } from "./lib.mjs";

console.log(remapPaths());
