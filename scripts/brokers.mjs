// The brokers that the tests of the transports run against.

import { spawnSync } from "node:child_process";
import { attempt, heading } from "./lib.mjs";

const BROKERS = ["nats-server", "redis-server"];
const works = (program, ...args) => spawnSync(program, args, { stdio: "ignore" }).status === 0;
const missingBrokers = () => BROKERS.filter((program) => !works(program, "--version"));

/**
 * Installs missing brokers where that is wanted and possible without asking for a password; the tests start servers
 * of their own, on free ports, so it does not matter whether the system starts one too. Returns what is missing
 * afterwards: the tests that need it are left out, or fail where `CI` is `true`.
 */
export function ensureBrokers({ wanted }) {
  const missing = missingBrokers();
  if (missing.length === 0 || !wanted) return missing;
  heading(`install ${missing.join(" and ")}`);
  if (process.platform === "darwin" && works("brew", "--version")) installWithHomebrew(missing);
  else if (isRoot() && works("apt-get", "--version")) installWithApt(missing);
  else console.error("That takes apt-get as root, or Homebrew.");
  return missingBrokers();
}

export const isRoot = () => process.getuid?.() === 0;

/** How a user gets what is missing. */
export function howToInstall(missing) {
  if (process.platform === "darwin") return "npm test -- --install (with Homebrew)";
  return isRoot() ? "npm test -- --install" : `sudo apt-get install ${missing.join(" ")}`;
}

function installWithApt(missing) {
  const apt = (...args) => attempt("apt-get", args, { env: { DEBIAN_FRONTEND: "noninteractive" } });
  const install = () => apt("install", "--yes", "--no-install-recommends", ...missing);
  if (install() === 0) return;
  // The lists of packages may be old, or not there at all.
  apt("update");
  install();
}

function installWithHomebrew(missing) {
  const formulae = { "redis-server": "redis" };
  attempt("brew", ["install", ...missing.map((program) => formulae[program] ?? program)]);
}
