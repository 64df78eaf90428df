// npm run hub: the agent hub of examples/agent-hub, on a package that is built here if need be. With `-- --tour` it ends by itself.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { addonFile, buildAddon, buildFacade, compile, ensureInstalled, root, run } from "./lib.mjs";

ensureInstalled();
if (!existsSync(join(root, addonFile()))) buildAddon({ profile: "ci", features: ["test-hooks"] });
if (!existsSync(join(root, "dist", "index.mjs"))) buildFacade();
const example = join(root, "examples", "agent-hub");
compile(example);
run(process.execPath, [join(example, "build", "main.mjs"), ...process.argv.slice(2)]);
