// The tool lists of servers that start with their first call.

import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isListOf, isRecord, isString } from "../interop/options.js";
import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import { VERSION } from "../version.js";
import type { ServerFacts } from "./client-types.js";
import type { MCPClientConfig } from "./config.js";
import type { ListedTools } from "./operations.js";
import { expandReferences } from "./references.js";

/**
 * Where tool lists are kept between runs. Keys are digests, and what is kept is opaque JSON.
 *
 * @example
 * ```ts
 * const lists = new Map<string, unknown>();
 * const toolCache: MCPToolCache = { get: (key) => lists.get(key), set: (key, list) => void lists.set(key, list) };
 * ```
 */
export interface MCPToolCache {
  get(key: string): unknown | Promise<unknown>;
  set(key: string, list: unknown): void | Promise<void>;
}

export interface CachedList extends ListedTools {
  readonly about: ServerFacts;
}

/** Files whose content decides what a server offers. Data that it works with does not. */
const PROGRAM = /\.([cm]?[jt]s|py|rb|jar|sh)$/i;
/** How many folders up a package.json is looked for. */
const LEVELS = 6;

/** The list of one server in a cache. A cache that fails costs time, and nothing else. */
export class CachedTools {
  readonly #config: MCPClientConfig;
  readonly #server: string;
  readonly #cache: MCPToolCache;
  #key: Promise<string> | undefined;

  constructor(server: string, config: MCPClientConfig, cache: string | MCPToolCache) {
    this.#server = server;
    this.#config = config;
    this.#cache = typeof cache === "string" ? folderCache(cache) : cache;
  }

  async read(): Promise<CachedList | undefined> {
    try {
      const found = await this.#cache.get(await this.#keyOfServer());
      const isList =
        isRecord(found) &&
        isListOf(found.tools, isString) &&
        (found.tools as string[]).length <= (this.#config.maxTools ?? Number.POSITIVE_INFINITY) &&
        isListOf(found.problems, isRecord) &&
        isRecord(found.about) &&
        isRecord(found.about.serverInfo ?? {}) &&
        isString((found.about.serverInfo as { version?: unknown } | undefined)?.version ?? "");
      return isList ? (found as unknown as CachedList) : undefined;
    } catch (error) {
      this.#warn("read", error);
      return undefined;
    }
  }

  async write(list: CachedList): Promise<void> {
    try {
      await this.#cache.set(await this.#keyOfServer(), list);
    } catch (error) {
      this.#warn("written", error);
    }
  }

  #keyOfServer(): Promise<string> {
    this.#key ??= keyOf(this.#server, this.#config);
    return this.#key;
  }

  #warn(what: string, error: unknown): void {
    const server = this.#server;
    log.warn(`The cached tools of MCP server '${server}' cannot be ${what}: ${messageOf(error)}`, { server });
  }
}

const log = logger("mcp");

/** One file for each list, complete or not there. */
function folderCache(folder: string): MCPToolCache {
  const fileOf = (key: string) => join(folder, `${key}.json`);
  return {
    async get(key) {
      const text = await readFile(fileOf(key), "utf8").catch(() => "null");
      return JSON.parse(text);
    },
    async set(key, list) {
      await mkdir(folder, { recursive: true });
      const fresh = `${fileOf(key)}.${randomUUID()}`;
      await writeFile(fresh, JSON.stringify(list), { mode: 0o600 });
      await rename(fresh, fileOf(key));
    },
  };
}

/** A digest of everything that may change the list. Credentials are among it: another account may have other tools. */
async function keyOf(server: string, config: MCPClientConfig): Promise<string> {
  const { command = "", args = [], env = {}, url, headers = {} } = config;
  const expanded = (text: string) => expandReferences(text, "", server, []);
  const pairs = (values: Record<string, string | undefined>) =>
    Object.keys(values)
      .sort()
      .map((name) => [name, expanded(values[name] ?? "")]);
  const folder = resolve(expanded(config.cwd ?? "."));
  const words = [command, ...args].map(expanded);
  const about = {
    package: VERSION,
    url: url === undefined ? undefined : expanded(url),
    headers: typeof headers === "function" ? "by caller" : pairs(headers),
    words,
    env: pairs(env),
    inherits: config.environment ?? config.inheritEnv,
    inherited: config.environment === "inherit" ? inherited() : undefined,
    folder,
    maxTools: config.maxTools,
    programs:
      url === undefined ? await Promise.all(words.map((word) => programAt(resolve(folder, word)))) : [],
  };
  return createHash("sha256").update(JSON.stringify(about)).digest("hex");
}

/** Variables that differ in every shell, and mean nothing to a server. */
const OF_SHELL = new Set(["_", "OLDPWD", "PWD", "SHLVL"]);

function inherited(): [string, string | undefined][] {
  const names = Object.keys(process.env).filter((name) => !OF_SHELL.has(name));
  return names.sort().map((name) => [name, process.env[name]]);
}

/** Size, time and package of a program. Packages from npm have the same time in all their versions. */
async function programAt(file: string): Promise<unknown> {
  const found = PROGRAM.test(file) ? await stat(file).catch(() => undefined) : undefined;
  if (found === undefined) return undefined;
  let folder = dirname(file);
  for (let level = 0; level < LEVELS; level += 1, folder = dirname(folder)) {
    const text = await readFile(join(folder, "package.json"), "utf8").catch(() => undefined);
    if (text !== undefined) return [found.size, found.mtimeMs, /"version"\s*:\s*"[^"]*"/.exec(text)?.[0]];
  }
  return [found.size, found.mtimeMs];
}
