// The brokers that the tests of the transports run against, installed when they are missing and can be.

import { spawnSync } from "node:child_process";
import { attempt, heading } from "./lib.mjs";

const BROKERS = ["nats-server", "redis-server"];
const isInstalled = (program) => spawnSync(program, ["--version"], { stdio: "ignore" }).error === undefined;

/** Installs missing brokers, with apt-get or Homebrew. The tests start servers of their own, on free ports, so it does
 * not matter whether the system starts one too. What is missing afterwards is skipped by the tests, loudly, or fails
 * them where `CI` is `true`. */
export function ensureBrokers() {
  const missing = BROKERS.filter((program) => !isInstalled(program));
  if (missing.length === 0) return;
  heading(`install ${missing.join(" and ")}`);
  const install = process.platform === "darwin" ? withHomebrew() : withApt();
  if (install === undefined) {
    console.error(
      `Not installed: that takes Debian or Ubuntu with root or passwordless sudo, or macOS with Homebrew. ` +
        `Without ${missing.join(" and ")}, tests are skipped, or fail where CI=true.`,
    );
    return;
  }
  install(missing);
}

function withApt() {
  const asRoot = rootCommand();
  if (asRoot === undefined) return undefined;
  const apt = (...args) =>
    attempt(asRoot[0], [...asRoot.slice(1), ...args], { env: { DEBIAN_FRONTEND: "noninteractive" } });
  return (missing) => {
    const install = () => apt("install", "--yes", "--no-install-recommends", ...missing);
    if (install() === 0) return;
    // The lists of packages may be old, or not there at all.
    apt("update");
    install();
  };
}

function withHomebrew() {
  if (spawnSync("brew", ["--version"], { stdio: "ignore" }).status !== 0) return undefined;
  const formulae = { "redis-server": "redis" };
  return (missing) => attempt("brew", ["install", ...missing.map((program) => formulae[program] ?? program)]);
}

/** `apt-get`, as root; nothing where that cannot be. */
function rootCommand() {
  if (process.platform !== "linux") return undefined;
  if (spawnSync("apt-get", ["--version"], { stdio: "ignore" }).status !== 0) return undefined;
  if (process.getuid() === 0) return ["apt-get"];
  const sudo = spawnSync("sudo", ["--non-interactive", "true"], { stdio: "ignore" });
  return sudo.status === 0
    ? ["sudo", "--non-interactive", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    : undefined;
}
