// A host that runs or resumes programs, and dies at a random point: node host.mjs <folder> <effects> <task as JSON in a file>

import { readFileSync } from "node:fs";
import { createCodeRunner } from "@alkdev/operations/code";
import { programs } from "./support.mjs";

const [dir, effects, file] = process.argv.slice(2);
const { list, dieAt, isGraceful } = JSON.parse(readFileSync(file, "utf8"));
/** So many programs at once. */
const AT_ONCE = 8;

let points = 0;
/** A point at which the host may die: before and after each call, each side effect and each record. */
const point = () => {
  points += 1;
  if (points !== dieAt) return;
  if (!isGraceful) process.kill(process.pid, "SIGKILL");
  // What is under way when a runner is closed stays in its store.
  void runner.close().then(() => process.exit());
};

const runner = createCodeRunner(programs({ effects, point }), {
  store: { dir },
  limits: { cpu: 60_000, time: 600_000 },
});
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

async function perform({ name, source, id }) {
  try {
    const run = source === undefined ? await runner.resume(id) : await runner.run(source, { input: name });
    if (run.error?.details?.reason !== "closed") say({ name, run });
  } catch (error) {
    if (error.details?.reason === "locked") say({ name, locked: true });
    else if (error.details?.reason !== "closed")
      say({ name, run: { status: "failed", error: String(error.stack) } });
  }
}

async function work() {
  for (let next = list.shift(); next !== undefined; next = list.shift()) await perform(next);
}
await Promise.all(Array.from({ length: AT_ONCE }, work));
await runner.close();
