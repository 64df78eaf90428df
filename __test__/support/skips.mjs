// For the `skip` option of a test: false, or the reason. With CI=true nothing is left out but what the platform
// cannot do, since a test that nobody runs proves nothing; `npm test` holds all reasons against `BY_PLATFORM`.

import { spawnSync } from "node:child_process";

const byPlatform = (because) => `not on ${process.platform}${because}`;

/** What a reason looks like that is good enough in CI. */
export const BY_PLATFORM = new RegExp(`^not on ${process.platform}\\b`);

/** Left out on these platforms. */
export const notOn = (...platforms) => platforms.includes(process.platform) && byPlatform("");

/** Left out on all platforms but these. */
export const onlyOn = (...platforms) => !platforms.includes(process.platform) && byPlatform("");

/** Left out because what it needs can be had from no package registry. Good enough in CI. */
export function notReachable(what) {
  console.error(`SKIPPED: ${what} cannot be reached`);
  return byPlatform(` without ${what}`);
}

/** Left out because something is missing that can be had, which is said loudly; in CI that is a failure. */
export function missing(reason) {
  if (process.env.CI === "true") throw new Error(reason);
  console.error(`SKIPPED: ${reason}`);
  return reason;
}

const isInstalled = (program, ...args) => spawnSync(program, args, { stdio: "ignore" }).error === undefined;

/** Left out where a program of the system is missing that no package registry has. */
export const withoutProgram = (program) =>
  onlyOn("linux", "darwin") || (!isInstalled(program, "--version") && notReachable(program));

/** Left out where there is no `openssl` to make certificates with. */
export const missingOpenssl = () => !isInstalled("openssl", "version") && missing("openssl is not installed");

/** Left out where a broker is not installed. On Windows that is a matter of the platform: there is no Redis for it. */
export function missingBroker(program) {
  if (isInstalled(program, "--version")) return false;
  const reason = `${program} is not installed`;
  return process.platform === "win32"
    ? byPlatform(`: ${reason}`)
    : missing(`${reason} (npm test -- --install)`);
}
