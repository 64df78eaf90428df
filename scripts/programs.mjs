// Programs of the system that tests run against: how they are installed.

import { spawnSync } from "node:child_process";
import { attempt, heading } from "./lib.mjs";

/** Whether a program can be started. */
export const works = (program, ...args) => spawnSync(program, args, { stdio: "ignore" }).status === 0;

export const isRoot = () => process.getuid?.() === 0;

/**
 * Installs programs where that is possible without asking for a password. They are named as Debian's packages are;
 * `homebrew` has other names for Homebrew.
 */
export function installPrograms(packages, { homebrew = {} } = {}) {
  heading(`install ${packages.join(" and ")}`);
  if (process.platform === "darwin" && works("brew", "--version")) {
    attempt("brew", ["install", ...packages.flatMap((name) => homebrew[name] ?? [name])]);
  } else if (isRoot() && works("apt-get", "--version")) installWithApt(packages);
  else console.error("That takes apt-get as root, or Homebrew.");
}

/** How a user gets what is missing. */
export function howToInstall(packages) {
  if (process.platform === "darwin") return "npm test -- --install (with Homebrew)";
  return isRoot() ? "npm test -- --install" : `sudo apt-get install ${packages.join(" ")}`;
}

function installWithApt(packages) {
  const apt = (...args) => attempt("apt-get", args, { env: { DEBIAN_FRONTEND: "noninteractive" } });
  const install = () => apt("install", "--yes", "--no-install-recommends", ...packages);
  if (install() === 0) return;
  // The lists of packages may be old, or not there at all.
  apt("update");
  install();
}
