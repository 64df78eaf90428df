// How long the main thread worked. `process.cpuUsage()` counts all threads, and the event loop's own figures count
// the time in which the thread was ready but not running; the scheduler knows.

import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";

/** Where the figure comes from, for the report. */
export const clock = schedstat() === undefined ? (process.threadCpuUsage ? "thread" : "loop") : "scheduler";

/** Milliseconds since some moment in the past. */
export function mainThreadTime() {
  if (clock === "scheduler") return schedstat();
  if (clock === "thread") {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  }
  return performance.eventLoopUtilization().active;
}

function schedstat() {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
    return Number(nanoseconds) / 1e6;
  } catch {
    return undefined;
  }
}
