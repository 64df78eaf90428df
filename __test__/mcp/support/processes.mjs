// Whether processes are alive, and waiting until they are not.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../support/waiting.mjs";
import { defer } from "./defer.mjs";

export { until };

/** Alive, and not merely waiting for somebody to read its exit code. */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
  return !isZombie(pid);
}

function isZombie(pid) {
  try {
    if (process.platform === "linux") {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      return stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
    }
    if (process.platform === "win32") return false;
    return execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).startsWith("Z");
  } catch {
    return false;
  }
}

/** The process group, on Unix. */
export function groupOf(pid) {
  return Number(execFileSync("ps", ["-o", "pgid=", "-p", String(pid)], { encoding: "utf8" }));
}

export async function untilDead(pids) {
  for (const pid of pids) await until(() => !isAlive(pid), `process ${pid} is gone`);
}

/** Waits until a process is gone altogether: its parent, which is our client, has taken note of its end. */
export function untilReaped(pid) {
  return until(() => {
    try {
      return !process.kill(pid, 0);
    } catch ({ code }) {
      return code === "ESRCH";
    }
  }, `process ${pid} is reaped`);
}

/** A temporary folder, removed after the test. */
export function temporaryFolder(test) {
  const folder = mkdtempSync(join(tmpdir(), "operations-mcp-"));
  defer(test, () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * The file in which servers note that they were started. Whatever a test leaves behind, by failing for
 * instance, is ended after it.
 */
export function startsFile(test) {
  const path = join(temporaryFolder(test), "starts");
  const read = () =>
    (existsSync(path) ? readFileSync(path, "utf8") : "")
      .split("\n")
      .filter(Boolean)
      .map((line) => line.split(" "))
      .map(([who, pid]) => ({ who, pid: Number(pid) }));
  const pids = (who) =>
    read()
      .filter((entry) => entry.who === who)
      .map(({ pid }) => pid);
  const all = () => [...new Set(read().map(({ pid }) => pid))];
  defer(test, () => {
    for (const pid of all()) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  });
  return {
    path,
    pids,
    all,
    /** Server, child and grandchild. */
    family: () =>
      until(
        () => pids("server").length > 0 && pids("child").length > 0 && pids("grandchild").length > 0 && all(),
        "the whole family is there",
      ),
  };
}
