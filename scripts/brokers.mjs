// The brokers that the tests of the transports run against.

import { installPrograms, works } from "./programs.mjs";

const BROKERS = ["nats-server", "redis-server"];
const missingBrokers = () => BROKERS.filter((program) => !works(program, "--version"));

/**
 * Installs missing brokers where that is wanted and possible without asking for a password; the tests start servers
 * of their own, on free ports, so it does not matter whether the system starts one too. Returns what is missing
 * afterwards: the tests that need it are left out, or fail where `CI` is `true`.
 */
export function ensureBrokers({ wanted }) {
  const missing = missingBrokers();
  if (missing.length === 0 || !wanted) return missing;
  installPrograms(missing, { homebrew: { "redis-server": ["redis"] } });
  return missingBrokers();
}
