// Tokens of a source in a file that only its owner can read.

import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { newId } from "../../interop/host.js";
import { isRecord } from "../../interop/options.js";
import type { MCPTokenStore } from "../../mcp/oauth-config.js";

/** `given` is the path in a configuration. Without one, the file is in the user's folder for such things. */
export function tokenFile(source: string, file: string, folder: string, given: unknown): MCPTokenStore {
  const path = typeof given === "string" ? resolve(folder, given) : usualPath(source, resolve(folder, file));
  return {
    async load() {
      try {
        return JSON.parse(await readFile(path, "utf8"));
      } catch (error) {
        if (isRecord(error) && error.code === "ENOENT") return undefined;
        throw error;
      }
    },
    async save(tokens) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      // Renamed, so that no reader sees half a file.
      const draft = `${path}.${newId()}`;
      try {
        await writeFile(draft, JSON.stringify(tokens), { mode: 0o600, flag: "wx" });
        await rename(draft, path);
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
    },
    clear: () => rm(path, { force: true }),
  };
}

function usualPath(source: string, file: string): string {
  const { XDG_STATE_HOME, LOCALAPPDATA } = process.env;
  const state = XDG_STATE_HOME || LOCALAPPDATA || join(homedir(), ".local", "state");
  const digest = createHash("sha256").update(file).update("\0").update(source).digest("hex");
  return join(state, "alkdev-operations", `${digest.slice(0, 32)}.json`);
}
