// A host that runs or resumes programs, and is killed by its parent: node host.mjs <folder> <effects> run|resume <list as JSON>

import { createCodeRunner } from "@alkdev/operations/code";
import { programs } from "./support.mjs";

const [dir, effects, what, list] = process.argv.slice(2);
const runner = createCodeRunner(programs({ effects }), { store: { dir } });
process.stdout.write("ready\n");
await Promise.all(
  JSON.parse(list).map(async ({ name, source, id }) => {
    const run = what === "run" ? await runner.run(source, { input: name }) : await runner.resume(id);
    process.stdout.write(`${JSON.stringify({ name, run })}\n`);
  }),
);
await runner.close();
