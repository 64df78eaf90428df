import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** Where programs of this user keep what must outlive them: a folder for each server. */
export function stateFolder(what: string, server: string): string {
  // A name may be anything; a folder may not.
  const name = server
    .replace(/[^\w.-]/g, "_")
    .replace(/^\.+/, "_")
    .slice(0, 64);
  return resolve(join(base(), "operations", what, name));
}

function base(): string {
  const { LOCALAPPDATA, XDG_STATE_HOME } = process.env;
  if (process.platform === "win32") return LOCALAPPDATA ?? join(homedir(), "AppData", "Local");
  if (process.platform === "darwin") return join(homedir(), "Library", "Application Support");
  return XDG_STATE_HOME || join(homedir(), ".local", "state");
}
