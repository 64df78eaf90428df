// Where runs are kept that wait: in memory, in a folder, or where the application says.

import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { CodeStore } from "../code-types.js";
import { type CallError, failed, invalid } from "../errors.js";

export function memoryStore(): CodeStore {
  const records = new Map<string, string>();
  return {
    get: async (id) => records.get(id),
    put: async (id, record) => void records.set(id, record),
    delete: async (id) => void records.delete(id),
  };
}

/** A lock that was not renewed for so long belongs to a host that is gone. One whose process is gone is known at once. */
const STALE_MS = 60_000;

/** Ids come from callers, and are names of files and keys of stores. */
export function checkId(id: unknown): void {
  if (typeof id === "string" && /^[\w-]{1,64}$/.test(id) && !id.startsWith("__")) return;
  throw invalid("The id of a run has letters, digits, - and _ only", { reason: "no-run" });
}

export function folderStore(dir: string): CodeStore {
  const file = (id: string, ending: string) => join(dir, id + ending);
  return {
    get: (id) => readFile(file(id, ".run"), "utf8").catch(ignoreMissing),
    async put(id, record) {
      const path = file(id, ".run");
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const fresh = `${path}.${randomUUID()}.new`;
      const handle = await open(fresh, "wx", 0o600);
      try {
        await handle.writeFile(record);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(fresh, path);
    },
    delete: (id) => rm(file(id, ".run"), { force: true }),
    lock: (id) => lockFile(file(id, ".lock"), dir),
  };
}

async function lockFile(path: string, dir: string): Promise<(() => Promise<void>) | undefined> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const owner = JSON.stringify({ host: hostname(), pid: process.pid, key: randomUUID() });
  for (let attempt = 0; attempt < 2; attempt++) {
    // Written first and linked then, so that a lock always says whose it is.
    const fresh = `${path}.${randomUUID()}`;
    const handle = await open(fresh, "wx", 0o600);
    await handle.writeFile(owner);
    await handle.close();
    try {
      await link(fresh, path);
      const renewing = setInterval(
        () => void utimes(path, new Date(), new Date()).catch(() => {}),
        STALE_MS / 6,
      );
      renewing.unref();
      return async () => {
        clearInterval(renewing);
        if ((await readFile(path, "utf8").catch(ignoreMissing)) === owner) await rm(path, { force: true });
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    } finally {
      await rm(fresh, { force: true });
    }
    if (!(await removeStale(path))) return undefined;
  }
  return undefined;
}

/** Removes the lock of a host that is gone. */
async function removeStale(path: string): Promise<boolean> {
  const seen = await readFile(path, "utf8").catch(ignoreMissing);
  if (seen === undefined) return true;
  const { host, pid } = JSON.parse(seen) as { host: string; pid: number };
  const age =
    Date.now() -
    (await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => Date.now(),
    ));
  if (age < STALE_MS && (host !== hostname() || isAlive(pid))) return false;
  const aside = `${path}.${randomUUID()}`;
  await rename(path, aside).catch(ignoreMissing);
  const taken = await readFile(aside, "utf8").catch(ignoreMissing);
  // Another host was quicker: the lock is its own by now, and goes back.
  if (taken !== undefined && taken !== seen) await link(aside, path).catch(() => {});
  await rm(aside, { force: true });
  return taken === seen || taken === undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT") return undefined;
  throw error;
}

/** A record with its checksum before it. */
export function sealed(record: object): string {
  const body = JSON.stringify(record);
  return `${digestOf(body)}\n${body}`;
}

/** What a record says, if it is whole and of this engine. A refused record is left as it is. */
export function opened<T extends { engine: string }>(id: string, text: string, engine: string): T {
  const at = text.indexOf("\n");
  const body = text.slice(at + 1);
  if (at < 0 || text.slice(0, at) !== digestOf(body)) {
    throw failed(`The record of run ${id} is damaged: its checksum does not match`, { reason: "damaged" });
  }
  const record = JSON.parse(body) as T;
  if (record?.engine === engine) return record;
  throw failed(
    `Run ${id} was stored by another version of quickjs-wasi, which alone can continue it. Install that version, or forget the run`,
    { reason: "engine" },
  );
}

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");

export const noSuchRun = (id: string): CallError =>
  invalid(`There is no run ${JSON.stringify(String(id).slice(0, 64))}`, { reason: "no-run" });
