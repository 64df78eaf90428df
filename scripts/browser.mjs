// The browser that the tests of pages run in: Chromium, or a Chrome or Edge that is there already.

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { installPrograms } from "./programs.mjs";

const NAMES = ["chromium", "google-chrome", "google-chrome-stable", "chromium-browser", "microsoft-edge"];

/** Where a browser is; nothing if there is none. `OPERATIONS_BROWSER` names one. */
export function findBrowser() {
  const named = process.env.OPERATIONS_BROWSER;
  if (named !== undefined) return existsSync(named) ? named : undefined;
  return places().find((path) => existsSync(path));
}

/**
 * Installs Chromium where that is wanted, needed and possible without asking for a password. Returns whether there is
 * a browser afterwards: without one the tests that need it are left out, or fail where `CI` is `true`.
 */
export function ensureBrowser({ wanted }) {
  if (findBrowser() === undefined && wanted) installPrograms(["chromium"], { homebrew: CASK });
  return findBrowser() !== undefined;
}

const CASK = { chromium: ["--cask", "google-chrome"] };

function places() {
  const { env, platform } = process;
  if (platform === "darwin") {
    return [
      "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
      "/Applications/Chromium.app/Contents/MacOS/Chromium",
    ];
  }
  if (platform === "win32") {
    const folders = [env.ProgramFiles, env["ProgramFiles(x86)"], env.LOCALAPPDATA].filter(Boolean);
    const programs = ["Google/Chrome/Application/chrome.exe", "Microsoft/Edge/Application/msedge.exe"];
    return programs.flatMap((program) => folders.map((folder) => join(folder, program)));
  }
  const folders = (env.PATH ?? "").split(delimiter).filter(Boolean);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
}
