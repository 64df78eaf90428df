import { getLogger } from "@logtape/logtape";
import { emitWarning } from "./interop/host.js";

/** Follows a warning that is emitted once. */
const MORE = "Configure a LogTape sink for the category operations: without one, no further failure is shown";

/** The root of our log categories: `["operations", "<module>"]`. */
const CATEGORY = "operations";

type Properties = Record<string, unknown>;

/** What the parts of the package log through. Silent until the application configures a sink. */
interface ModuleLogger {
  debug(message: string, properties?: Properties): void;
  info(message: string, properties?: Properties): void;
  warn(message: string, properties?: Properties): void;
  error(message: string, properties?: Properties): void;
}

/** The logger of one part of the package. */
export function logger(module: string): ModuleLogger {
  const target = getLogger([CATEGORY, module]);
  return {
    debug: (message, properties = {}) => target.debug(literal(message), properties),
    info: (message, properties = {}) => target.info(literal(message), properties),
    warn: (message, properties = {}) => target.warn(literal(message), properties),
    error: (message, properties = {}) => target.error(literal(message), properties),
  };
}

/** LogTape reads `{name}` in a message as a placeholder. Ours are finished sentences, which may
 * quote a user's or a server's text, so braces are escaped. */
function literal(message: string): string {
  return message.replace(/[{}]/g, "$&$&");
}

const warned = new Set<string>();

/** Logs what an operator must not miss. Where no sink takes it, it is a warning of the process: always, or only once for
 * everything with the same `once`. */
export function logImportant(
  level: "warn" | "error",
  module: string,
  message: string,
  properties: Properties = {},
  { once, detail }: { once?: string; detail?: string } = {},
): void {
  logger(module)[level](message, properties);
  if (getLogger([CATEGORY, module]).isEnabledFor(level === "warn" ? "warning" : "error")) return;
  if (once !== undefined) {
    if (warned.has(once)) return;
    warned.add(once);
  }
  const { requestId } = properties;
  const text = typeof requestId === "string" ? `${message} (request ${requestId})` : message;
  emitWarning(once === undefined ? text : `${text}. ${MORE}`, detail);
}

const methodOfLevel: Record<string, keyof ModuleLogger> = {
  debug: "debug",
  info: "info",
  warning: "warn",
  error: "error",
};

/** Receives log lines that native code wrote, on any thread. It must not throw: it is called by the
 * event loop itself, where an exception would be an uncaught one. */
export function writeNativeLog(level: string, module: string, message: string, properties: string): void {
  try {
    const method = methodOfLevel[level] ?? "info";
    const parsed = JSON.parse(properties);
    // What a server warns of, and the failures that its callers do not see.
    if (module === "serve" && (method === "warn" || method === "error")) {
      logImportant(method, module, message, parsed, method === "error" ? { once: "failure" } : {});
    } else {
      logger(module)[method](message, parsed);
    }
  } catch {
    // A sink of the application failed. That is its own affair, and no reason to end the process.
  }
}
