// References in a configuration: `${env:NAME}`, `${env:NAME:-default}` and `${file:path}`.

import { expandedText, isReference, withAbsoluteFiles } from "../../interop/references.js";
import { configError } from "../exit-codes.js";

/** Options that are numbers or switches. A variable holds a text; for these, the text is what it says. */
const NOT_TEXTS = new Set([
  ...[
    "port",
    "timeout",
    "connectTimeout",
    "requestTimeout",
    "writeTimeout",
    "maxBufferedBytes",
    "streams",
    "maxResultBytes",
    "maxTools",
    "maxBodyBytes",
  ],
  ...["maxResponseBytes", "maxDocumentBytes", "maxNameLength", "concurrency", "perOperation", "perCaller"],
  ...["queue", "overrun", "retry", "retries", "delay", "maxDelay", "over", "keep", "quota", "maxRetries"],
  ...[
    "maxEventBytes",
    "disabled",
    "enabled",
    "reconnect",
    "inheritEnv",
    "keepIds",
    "parseJSONText",
    "cors",
    "credentials",
  ],
  ...["resetTimeoutOnProgress", "allowPrivateAddresses", "allowOutsideFolder", "preferJson", "mcp", "http"],
  ...[
    "anonymous",
    "clockTolerance",
    "cache",
    "hub",
    "explorer",
    "expires",
    "calls",
    "per",
    "failures",
    "window",
    "cooldown",
  ],
]);

/** Replaces the references in all texts of a part of a configuration, names included. */
export class Expander {
  readonly #file: string;
  readonly #folder: string;
  /** The values of references, which may be secrets. */
  readonly expanded: string[] = [];

  constructor(file: string, folder: string) {
    this.#file = file;
    this.#folder = folder;
  }

  /** A copy. `path` is where the value stands in the file. */
  value<T>(value: T, path: string, key = ""): T {
    if (typeof value === "string") return this.#text(value, path, key) as T;
    if (Array.isArray(value)) {
      return value.map((item, index) => this.value(item, `${path}[${index}]`)) as T;
    }
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [
        this.text(name, `a key of ${path}`),
        // A name may be a secret itself, and is part of no message then.
        this.value(inner, isReference(name) ? `${path}[...]` : `${path}.${name}`, name),
      ]),
    ) as T;
  }

  #text(text: string, path: string, key: string): string | number | boolean {
    const found = this.text(text, path);
    if (!isReference(text) || !NOT_TEXTS.has(key)) return found;
    if (found === "true" || found === "false") return found === "true";
    return /^-?\d+(\.\d+)?$/.test(found) ? Number(found) : found;
  }

  text(text: string, path: string): string {
    return expandedText(text, {
      folder: this.#folder,
      expanded: (found) => this.expanded.push(found),
      refuse: (problem, hint, variable) =>
        configError(
          `${this.#file}: ${path} refers to ${problem}${variable === undefined ? "" : ", which is not set"}. ${hint}`,
        ),
    });
  }

  /** For values whose references are replaced elsewhere: files are found from the folder of the configuration. */
  located<T>(value: T): T {
    if (typeof value === "string") return withAbsoluteFiles(value, this.#folder) as T;
    if (Array.isArray(value)) return value.map((item) => this.located(item)) as T;
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, this.located(inner)])) as T;
  }
}
