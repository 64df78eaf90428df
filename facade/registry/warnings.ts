// Warnings about outputs. A server that sends the same invalid value a thousand times a second is reported
// once a minute, by operation and path.

import { logger } from "../logging.js";
import type { NormaliseNote } from "../schema/compiled.js";

const INTERVAL = 60_000;
/** How many (operation, path) pairs are remembered; beyond it the oldest are forgotten. */
const REMEMBERED = 10_000;

const log = logger("registry");
const lastWarned = new Map<string, number>();

/** What is said of an output that had to be changed, and of one that nothing was done to. */
export const MISMATCH = "does not match its outputSchema";
export const LEFT = "does not match its outputSchema and was left as it is";

/** Logs what is to be said about an output (`what`), unless the same was said within the last minute. */
export function warnAboutOutput(operationId: string, notes: readonly NormaliseNote[], what: string): void {
  const fresh = notes.filter(({ path }) => isDue(`${operationId}\n${path}`));
  if (fresh.length === 0) return;
  const lines = fresh.map(({ path, message }) => `  - ${path}: ${message}`).join("\n");
  log.warn(`The output of operation ${operationId} ${what}:\n${lines}`, { operationId, notes: fresh });
}

function isDue(key: string): boolean {
  const now = Date.now();
  const last = lastWarned.get(key);
  // A clock that was set back must not silence the path until it has caught up.
  if (last !== undefined && now >= last && now - last < INTERVAL) return false;
  lastWarned.delete(key);
  lastWarned.set(key, now);
  if (lastWarned.size > REMEMBERED) {
    for (const oldest of lastWarned.keys()) {
      lastWarned.delete(oldest);
      break;
    }
  }
  return true;
}
