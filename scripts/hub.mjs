// npm run hub: the agent hub of examples/agent-hub, on a package that is built here if need be. With `-- --tour` it ends by itself.

import { join } from "node:path";
import { buildTestAddon, compile, ensureFacade, ensureInstalled, isAddonCurrent, root, run } from "./lib.mjs";

ensureInstalled();
if (!isAddonCurrent()) buildTestAddon();
ensureFacade();
const example = join(root, "examples", "agent-hub");
compile(example);
run(process.execPath, [join(example, "build", "main.mjs"), ...process.argv.slice(2)]);
