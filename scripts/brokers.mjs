// The brokers that the tests of the transports run against, installed when they are missing and can be.

import { spawnSync } from "node:child_process";
import { attempt, heading } from "./lib.mjs";

const BROKERS = ["nats-server", "redis-server"];
const isInstalled = (program) => spawnSync(program, ["--version"], { stdio: "ignore" }).error === undefined;

/** Installs missing brokers with apt-get. The tests start servers of their own, on free ports, so it does not
 * matter whether the system starts one too. What is missing afterwards is skipped by the tests, loudly, or fails
 * them where `CI` is `true`. */
export function ensureBrokers() {
  const missing = BROKERS.filter((program) => !isInstalled(program));
  if (missing.length === 0) return;
  heading(`install ${missing.join(" and ")}`);
  const asRoot = rootCommand();
  if (asRoot === undefined) {
    console.error(
      `Not installed: this is no Debian or Ubuntu, or neither root nor passwordless sudo. ` +
        `The tests that need ${missing.join(" and ")} ${process.env.CI === "true" ? "will fail" : "are skipped"}.`,
    );
    return;
  }
  const apt = (...args) =>
    attempt(asRoot[0], [...asRoot.slice(1), ...args], { env: { DEBIAN_FRONTEND: "noninteractive" } });
  const install = () => apt("install", "--yes", "--no-install-recommends", ...missing);
  // The lists of packages may be old, or not there at all.
  if (install() !== 0) {
    apt("update");
    install();
  }
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
