// Every call is published to the diagnostics channel, and to the log at level debug. Programs subscribe to both at any time,
// without a registry at hand; so asking whether there are subscribers has to be cheap.

import { getLogger, type Logger } from "@logtape/logtape";
import { channel } from "../interop/host.js";
import { logger } from "../logging.js";
import type { CallReport } from "./observer-types.js";

const calls = channel("operations:call");
const log = logger("call");
const target = getLogger(["operations", "call"]);

/** The sinks of the logger and of those above it. Every copy of LogTape that is loaded has the same loggers, and a logger has
 * the same list for as long as it lives. Nothing, where a future version has other loggers than these. */
const sinks = sinksFrom(target);
const own: readonly unknown[] = sinks?.[0] ?? [];
const ours: readonly unknown[] = sinks?.[1] ?? [];
const root: readonly unknown[] = sinks?.[2] ?? [];

function sinksFrom(logger: Logger): (readonly unknown[])[] | undefined {
  const lists: (readonly unknown[])[] = [];
  for (let each: Logger | null = logger; each !== null; each = each.parent) {
    const { sinks: list } = each as { sinks?: unknown };
    if (!Array.isArray(list)) return undefined;
    lists.push(list);
  }
  return lists.length === 3 ? lists : undefined;
}

/** Whether the diagnostics channel or the log has subscribers. */
export function hasSubscribers(): boolean {
  return calls.hasSubscribers || isLogged();
}

/** Checking the logger takes as long as half a call. So it is checked only if there is a sink that it may write to, and no logger
 * on the way there is above that level. */
function isLogged(): boolean {
  if (own.length + ours.length + root.length === 0 && sinks !== undefined) return false;
  for (let logger: Logger | null = target; logger !== null; logger = logger.parent) {
    const { lowestLevel } = logger as { lowestLevel?: unknown };
    if (typeof lowestLevel === "string" && ABOVE_DEBUG.has(lowestLevel)) return false;
  }
  return target.isEnabledFor("debug");
}

const ABOVE_DEBUG: ReadonlySet<string> = new Set(["info", "warning", "error", "fatal"]);

/** Publishes the end of a call. Node reports subscribers that throw. */
export function publishCall(report: CallReport): void {
  if (calls.hasSubscribers) calls.publish(report);
  if (!isLogged()) return;
  const { operationId, kind, outcome, code, source, duration, requestId, isServed, isNative } = report;
  const from = source === undefined ? "" : ` (${source})`;
  log.debug(`${operationId}${from}: ${code ?? outcome} after ${duration.toFixed(1)} ms`, {
    operationId,
    kind,
    outcome,
    code,
    source,
    duration,
    requestId,
    isServed,
    isNative,
  });
}
