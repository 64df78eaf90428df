// npm run bench -- <name>: one benchmark of bench/, on a release build.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { buildAddon, buildFacade, ensureInstalled, root, run } from "./lib.mjs";

const [name, ...args] = process.argv.slice(2);
const available = readdirSync(join(root, "bench"))
  .filter((file) => file.endsWith(".bench.mjs"))
  .map((file) => file.replace(".bench.mjs", ""));
const wanted = name === undefined ? available : [name];
if (wanted.some((each) => !existsSync(join(root, "bench", `${each}.bench.mjs`)))) {
  console.error(`No benchmark called ${name}. There are: ${available.join(", ")}`);
  process.exit(1);
}

ensureInstalled();
buildAddon({ profile: "release" });
buildFacade();
for (const each of wanted) {
  run(process.execPath, ["--expose-gc", join(root, "bench", `${each}.bench.mjs`), ...args]);
}
