// npm start: the tour, on a package that is built here if need be.

import { join } from "node:path";
import { ensureFacade, ensureInstalled, isAddonCurrent, prepare, root, run } from "./lib.mjs";

if (isAddonCurrent()) ensureInstalled();
else {
  console.log("The first start compiles about 300 crates, which takes some three minutes on two cores. On a");
  console.log(
    "terminal, cargo shows how many are left. After that come the facade (ten seconds) and the tour.",
  );
  await prepare();
}
ensureFacade();
run(process.execPath, [join(root, "examples", "tour", "index.mjs")]);
