import { getLogger } from "@logtape/logtape";

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
    logger(module)[methodOfLevel[level] ?? "info"](message, JSON.parse(properties));
  } catch {
    // A sink of the application failed. That is its own affair, and no reason to end the process.
  }
}
