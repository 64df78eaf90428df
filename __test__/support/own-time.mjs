// A clock that stands still while the JavaScript thread waits for others to get a core.

import { readFileSync } from "node:fs";

let uncountedTime = 0;

/** Linux tells for how long a thread was ready to run and had no core: that is taken out. */
function withACore() {
  const [, waited] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
  return performance.now() - Number(waited) / 1e6;
}

/** The time on that clock, in milliseconds. On Linux only. */
export function ownTime() {
  return withACore() - uncountedTime;
}

/** Does something that is not counted: Node stands still until a process that it starts has got a core, which takes long
 * on a busy machine. */
export function uncounted(run) {
  if (process.platform !== "linux") return run();
  const before = withACore();
  try {
    return run();
  } finally {
    uncountedTime += withACore() - before;
  }
}
