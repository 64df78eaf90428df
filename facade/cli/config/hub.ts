// What a configuration file says, checked. An unknown key is refused with its path and the nearest name.

import { resolve } from "node:path";
import { isIdentity } from "../../call/incoming.js";
import { CallError } from "../../errors.js";
import {
  anObject,
  anything,
  type Check,
  checkedOptions,
  type Fields,
  isRecord,
  refusal,
} from "../../interop/options.js";
import { type StoredApprovals, storedApprovals } from "../../registry/approvals.js";
import {
  checkedServe,
  DOORS,
  identityFlaw,
  SERVE_FIELDS,
  type ServeDoors,
  type ServeOptions,
} from "../../serve/options.js";
import type { Identity } from "../../types.js";
import { CommandError, configError } from "../exit-codes.js";
import { Expander } from "./expand.js";
import type { ConfigFile } from "./read.js";
import { RulesByPattern } from "./rules.js";
import { type Source, serverSource, serviceSource } from "./source.js";

/** What `serve` takes and a file can say. */
type FileServeOptions = Omit<ServeOptions, "operations" | "identify" | "doors"> & { doors?: ServeDoors };

interface HubFile extends FileServeOptions {
  mcpServers?: Record<string, unknown>;
  openapi?: Record<string, unknown>;
  /** Rules for operations by id or pattern, in place of those of their source. */
  access?: Record<string, unknown>;
  /** Where approvals are stored, and how long they can be used. */
  approvals?: Record<string, unknown>;
}

/** A configuration that was checked. */
export interface HubConfig {
  readonly file: string;
  readonly sources: readonly Source[];
  /** The names of MCP servers that the file disables. */
  readonly disabled: readonly string[];
  /** Whom tokens stand for. */
  readonly identities: readonly Identity[];
  /** For `serve`: with tokens, whose variables have to be there. */
  serveOptions(): ServeOptions;
  /** Options of the registry. Throws if a variable is missing that they refer to. */
  approvals(): StoredApprovals;
  /** Patterns of `access` that have fitted no operation so far. */
  unusedRules(): string[];
  /** What was put in the place of references so far. */
  readonly secrets: readonly string[];
}

/** Doors that are open where the file names none. */
const USUAL_DOORS = ["mcp", "http", "explorer"].filter((door) => Object.hasOwn(DOORS, door));
const DEFAULT_PORT = 8080;
/** Options of `serve` that a file cannot say. */
const FUNCTIONS = ["operations", "identify"];

const FIELDS = {
  // Checked by `serve` itself, when references are replaced.
  ...(Object.fromEntries(
    Object.keys(SERVE_FIELDS)
      .filter((name) => !FUNCTIONS.includes(name))
      .map((name) => [name, anything]),
  ) as Record<keyof FileServeOptions, Check>),
  mcpServers: anObject,
  openapi: anObject,
  access: anObject,
  approvals: anObject,
} satisfies Fields<HubFile>;

/** `notify` shows the address of a page to the user, where a server requires a login. */
export function hubConfig(
  { name: file, folder, content }: ConfigFile,
  notify: (sentence: string) => void,
): HubConfig {
  const prefix = `${file}: `;
  const expander = new Expander(file, folder);
  return refusedAsConfig(() => {
    const given = isServers(content) ? { mcpServers: content } : content;
    const hub = checkedOptions<HubFile>(given, FIELDS, { prefix });
    const { mcpServers = {}, openapi = {}, access = {}, approvals = {}, ...options } = hub;
    const rules = new RulesByPattern(access, `${prefix}access`, expander);
    const surroundings = { file, folder, rules, expander, notify };
    const isDisabled = ([, config]: [string, unknown]) =>
      isRecord(config) && (config.disabled === true || config.enabled === false);
    const servers = Object.entries(mcpServers)
      .filter((entry) => !isDisabled(entry))
      .map(([name, config]) => serverSource(name, config, surroundings));
    const services = Object.entries(openapi).map(([name, config]) =>
      serviceSource(name, config, surroundings),
    );
    const twice = services.find(({ name }) => servers.some((one) => one.name === name));
    if (twice !== undefined) {
      throw refusal(
        `${prefix}openapi.${twice.name}`,
        "has the name of an MCP server: a namespace has one source",
      );
    }
    return {
      file,
      sources: [...servers, ...services],
      disabled: Object.entries(mcpServers)
        .filter(isDisabled)
        .map(([name]) => name),
      identities: identitiesOf(options.tokens, `${prefix}tokens`, expander),
      secrets: expander.expanded,
      approvals: () => refusedAsConfig(() => approvalsOf(approvals, `${prefix}approvals`, folder, expander)),
      unusedRules: () => rules.unused(),
      serveOptions: () => refusedAsConfig(() => serveOptionsOf(options, file, folder, expander)),
    };
  });
}

function approvalsOf(
  given: Record<string, unknown>,
  path: string,
  folder: string,
  expander: Expander,
): StoredApprovals {
  const checked = storedApprovals(expander.value(given, "approvals"), path) as StoredApprovals;
  const { store } = checked;
  const isFolder = typeof store === "object" && "folder" in store;
  return isFolder ? { ...checked, store: { folder: resolve(folder, store.folder) } } : checked;
}

/** A file of servers by name, as `MCPClientLoader.load` takes it. */
function isServers(content: Record<string, unknown>): boolean {
  const entries = Object.entries(content);
  const isServer = ([name, entry]: [string, unknown]) =>
    !Object.hasOwn(FIELDS, name) && isRecord(entry) && ("command" in entry || "url" in entry);
  return entries.length > 0 && entries.every(isServer);
}

/** Whom the tokens stand for. The tokens themselves are not read. */
function identitiesOf(tokens: unknown, path: string, expander: Expander): Identity[] {
  if (!isRecord(tokens)) return [];
  return Object.values(tokens).map((identity) => {
    const expanded = expander.value(identity, "tokens[...]");
    if (isIdentity(expanded)) return expanded;
    throw refusal(path, identityFlaw(expanded));
  });
}

function serveOptionsOf(
  options: FileServeOptions,
  file: string,
  folder: string,
  expander: Expander,
): ServeOptions {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const expanded = Object.fromEntries(
    given.map(([name, value]) => [name, expander.value(value, name, name)]),
  ) as FileServeOptions;
  const doors = expanded.doors ?? (Object.fromEntries(USUAL_DOORS.map((door) => [door, true])) as ServeDoors);
  const checked = checkedServe({ port: DEFAULT_PORT, ...expanded, doors }, file);
  const { tls } = checked;
  if (tls === undefined) return checked;
  return {
    ...checked,
    tls: { certFile: resolve(folder, tls.certFile), keyFile: resolve(folder, tls.keyFile) },
  };
}

/** Whatever is wrong with a configuration is a mistake in the file, and nothing was done. */
function refusedAsConfig<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof CallError && !(error instanceof CommandError)) {
      throw configError(error.message, error.details);
    }
    throw error;
  }
}
