// Which spilled files belong to a process that has ended. A process removes its files in time, unless it was killed; then the next
// one does. Names of files begin with who made them, because several processes may share a folder.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { systemTime } from "../interop/host.js";

/** A host, a process of it, and when that process started; then what makes the name unique. */
const NAME = /^([0-9a-f]{8})-([0-9]+)-([0-9]+)-[0-9A-Za-z]+$/;
/** Files of other hosts may belong to a process that cannot be seen from here. */
const FOREIGN_GRACE = 24 * 3_600_000;

const host = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);

/** When a process started, in the units of the system; 0 where the system does not say. */
function startOf(pid: number | "self"): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program may have spaces and parentheses. The start is the 22nd field, the 20th after the name.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "0";
  } catch {
    return "0";
  }
}

const ownStart = startOf("self");

/** What the names of this process's files begin with. */
export const spillOwner = `${host}-${process.pid}-${ownStart}`;

function isRunning(pid: number, start: string): boolean {
  if (pid === process.pid) return start === ownStart;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // A process of another user is running too.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const now = startOf(pid);
  return start === "0" || now === "0" || start === now;
}

/** Removes what ended processes have left in a folder. `prefix` is what stands before the owner in a name. */
export function removeLeftovers(folder: string, keep: number, prefix = ""): void {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    // The folder is made with the first file.
    return;
  }
  for (const name of names) {
    if (!name.startsWith(prefix)) continue;
    const [, of, pid, start] = NAME.exec(name.slice(prefix.length)) ?? [];
    if (of === undefined || start === undefined) continue;
    const path = join(folder, name);
    try {
      const isLeft =
        of === host
          ? !isRunning(Number(pid), start)
          : systemTime() - statSync(path).mtimeMs > keep + FOREIGN_GRACE;
      if (isLeft) rmSync(path, { recursive: true, force: true });
    } catch {
      // Another process was faster, or it is the folder of another user.
    }
  }
}
