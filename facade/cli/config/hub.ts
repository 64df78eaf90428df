// What a configuration file says, checked. A key that means nothing is refused by its place and the nearest name.

import { resolve } from "node:path";
import { nearestName } from "../../border/nearest-name.js";
import {
  aName,
  anObject,
  anything,
  type Check,
  checkedOptions,
  type Fields,
  isRecord,
  refusal,
} from "../../border/options.js";
import { kindOf } from "../../border/text.js";
import { isIdentity } from "../../call/incoming.js";
import { CallError } from "../../errors.js";
import { accessRules, type ImportedAccessControl } from "../../imported-access.js";
import { checkedConfig as checkedServer, type MCPClientConfig } from "../../mcp/config.js";
import type { HTTPServiceConfig } from "../../openapi/config.js";
import { checkedConfig as checkedService } from "../../openapi/config-check.js";
import {
  checkedServe,
  DOORS,
  SERVE_FIELDS,
  type ServeDoors,
  type ServeOptions,
} from "../../serve/options.js";
import { expressionFor } from "../../tools/selection.js";
import type { AccessControl, Identity } from "../../types.js";
import { CommandError, configError } from "../exit-codes.js";
import { Expander } from "./expand.js";
import type { ConfigFile } from "./read.js";

/** What `serve` takes and a file can say. */
type FileServeOptions = Omit<ServeOptions, "operations" | "identify" | "doors"> & { doors?: ServeDoors };

interface HubFile extends FileServeOptions {
  mcpServers?: Record<string, unknown>;
  openapi?: Record<string, unknown>;
  /** Rules for operations by id or pattern, in place of those of their source. */
  access?: Record<string, unknown>;
}

/** Where the operations of a namespace come from. */
export type Source = MCPSource | OpenAPISource;

interface MCPSource {
  readonly kind: "mcp";
  readonly name: string;
  /** Its operations may be in other namespaces than that of its name. */
  readonly mayNameOthers: boolean;
  /** Throws if a variable or a file that it refers to is missing: the other sources are unharmed by that. */
  config(): MCPClientConfig;
}

interface OpenAPISource {
  readonly kind: "openapi";
  readonly name: string;
  readonly mayNameOthers: false;
  config(): { readonly document: string; readonly settings: HTTPServiceConfig };
}

/** A configuration that was checked. */
export interface HubConfig {
  readonly file: string;
  readonly sources: readonly Source[];
  /** Whom tokens stand for. */
  readonly identities: readonly Identity[];
  /** For `serve`: with tokens, whose variables have to be there. */
  serveOptions(): ServeOptions;
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
} satisfies Fields<HubFile>;

/** Fields of other programs' files of servers. They say nothing to us, and are no mistake. */
const OF_OTHERS = new Set([
  ...["alwaysAllow", "autoApprove", "autoApproveTools", "autoStart", "description", "dev", "disabledTools"],
  ...[
    "enabled",
    "envFile",
    "gallery",
    "icon",
    "initTimeout",
    "name",
    "note",
    "startupTimeout",
    "title",
    "tools",
  ],
  ...["transport", "transportType", "trust"],
]);
/** Of a server: where `createMCPClient` replaces references itself, and knows what not to show. */
const EXPANDED_THERE = new Set(["command", "args", "env", "url", "headers", "oauth"]);

/** `tell` shows the address of a page to the user, where a server wants a login. */
export function hubConfig(
  { name: file, folder, content }: ConfigFile,
  tell: (sentence: string) => void,
): HubConfig {
  const prefix = `${file}: `;
  const expander = new Expander(file, folder);
  return refusedAsConfig(() => {
    const given = isServers(content) ? { mcpServers: content } : content;
    const {
      mcpServers = {},
      openapi = {},
      access = {},
      ...options
    } = checkedOptions<HubFile>(given, FIELDS, {
      prefix,
    });
    const rules = new RulesByPattern(access, `${prefix}access`, expander);
    const servers = Object.entries(mcpServers)
      .filter(([, config]) => !(isRecord(config) && config["disabled"] === true))
      .map(([name, config]) => server(name, config, { file, folder, rules, expander, tell }));
    const services = Object.entries(openapi).map(([name, config]) =>
      service(name, config, { file, folder, rules, expander, tell }),
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
      identities: identitiesOf(options.tokens, `${prefix}tokens`, expander),
      secrets: expander.expanded,
      serveOptions: () => refusedAsConfig(() => serveOptionsOf(options, file, expander)),
    };
  });
}

/** A file of servers by name, as `MCPClientLoader.load` takes it. */
function isServers(content: Record<string, unknown>): boolean {
  const entries = Object.entries(content);
  const isServer = ([name, entry]: [string, unknown]) =>
    !Object.hasOwn(FIELDS, name) && isRecord(entry) && ("command" in entry || "url" in entry);
  return entries.length > 0 && entries.every(isServer);
}

/** What the checks of a source need to know of the whole. */
interface Surroundings {
  readonly file: string;
  readonly folder: string;
  readonly rules: RulesByPattern;
  readonly expander: Expander;
  tell(sentence: string): void;
}

function server(
  name: string,
  given: unknown,
  { file, folder, rules, expander, tell }: Surroundings,
): MCPSource {
  const place = `mcpServers.${name}`;
  const path = `${file}: ${place}`;
  const config = later(
    () => {
      if (!isRecord(given)) return given;
      const entries = Object.entries(given).map(([key, value]) => [
        key,
        EXPANDED_THERE.has(key) ? expander.located(value) : expander.value(value, `${place}.${key}`, key),
      ]);
      return withLogin(Object.fromEntries(entries), tell);
    },
    (expanded) => {
      const others = (names: string[]) => refuseOthers(names, path);
      const checked = checkedServer(name, expanded, { prefix: `${path}.`, others });
      const { command, url, cwd, accessControl } = checked;
      if (command === undefined && url === undefined) {
        throw refusal(path, "must have `command`, the program to start, or `url`, the address of a server");
      }
      return {
        ...checked,
        // A program starts where its configuration is.
        cwd: url === undefined ? resolve(folder, cwd ?? ".") : cwd,
        accessControl: rules.over(accessControl),
      };
    },
  );
  return { kind: "mcp", name, mayNameOthers: isRecord(given) && given["keepIds"] === true, config };
}

/** A file cannot have the function that shows a page to the user. */
function withLogin(
  server: Record<string, unknown>,
  tell: (sentence: string) => void,
): Record<string, unknown> {
  const { oauth } = server;
  if (!isRecord(oauth) || oauth["clientCredentials"] !== undefined) return server;
  const onAuthorize = ({ server: name, url }: { server: string; url: string }) =>
    tell(`${name} wants you to log in. Open this page in a browser: ${url}`);
  return { ...server, oauth: { ...oauth, onAuthorize } };
}

function refuseOthers(names: readonly string[], path: string): void {
  const unknown = names.find((name) => !OF_OTHERS.has(name));
  if (unknown !== undefined)
    throw refusal(`${path}.${unknown.slice(0, 64)}`, "is not an option of an MCP server");
}

function service(
  name: string,
  given: unknown,
  { file, folder, rules, expander }: Surroundings,
): OpenAPISource {
  const place = `openapi.${name}`;
  const path = `${file}: ${place}`;
  if (!isRecord(given)) throw refusal(path, `must be an object with \`document\`, not ${kindOf(given)}`);
  if (Object.hasOwn(given, "namespace")) {
    throw refusal(`${path}.namespace`, `is not an option: the namespace is the key, ${JSON.stringify(name)}`);
  }
  const config = later(
    () => expander.value(given, place),
    ({ document, ...settings }) => {
      if (document === undefined) refuseMissingDocument(Object.keys(settings), path);
      const checked = checkedService(settings, { prefix: `${path}.` });
      const at = aName(document, `${path}.document`) as string;
      return {
        document: /^https?:\/\//i.test(at) ? at : resolve(folder, at),
        settings: { ...checked, namespace: name, accessControl: rules.over(checked.accessControl as never) },
      };
    },
  );
  return { kind: "openapi", name, mayNameOthers: false, config };
}

/** A misspelt name explains why it is missing. */
function refuseMissingDocument(names: readonly string[], path: string): void {
  const meant = names.find((name) => nearestName(name, ["document"], 1) !== undefined);
  if (meant !== undefined) throw refusal(`${path}.${meant}`, "is not an option. Did you mean document?");
  throw refusal(path, "must have `document`, the file or the URL of an OpenAPI document");
}

/** Checks at once what can be checked at once. A reference that leads nowhere is told when the source is loaded. */
function later<T, U>(expand: () => T, check: (expanded: T) => U): () => U {
  let problem: unknown;
  let checked: U | undefined;
  try {
    checked = check(expand());
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    problem = error;
  }
  return () => {
    if (problem !== undefined) throw problem;
    return checked as U;
  };
}

/** Rules by id or pattern. Of several that fit an operation, the last one counts. */
class RulesByPattern {
  readonly #rules: { readonly pattern: RegExp; readonly rules: AccessControl }[];

  constructor(given: Record<string, unknown>, path: string, expander: Expander) {
    this.#rules = Object.entries(given).map(([pattern, rules]) => ({
      pattern: expressionFor(pattern),
      rules: withScopes(
        accessRules(expander.value(rules, `access.${pattern}`), `${path}[${JSON.stringify(pattern)}]`),
      ),
    }));
    this.#rules.reverse();
  }

  /** The rules of a source, with these over them. */
  over(given: ImportedAccessControl | undefined): ImportedAccessControl | undefined {
    if (this.#rules.length === 0) return given;
    return (spec) => {
      const id = `${spec.namespace}.${spec.name}`;
      const found = this.#rules.find(({ pattern }) => pattern.test(id));
      if (found !== undefined) return structuredClone(found.rules);
      return typeof given === "function" ? given(spec) : (given ?? spec.accessControl);
    };
  }
}

const withScopes = (rules: unknown) => rules as AccessControl;

/** Whom the tokens stand for. The tokens themselves are not looked at. */
function identitiesOf(tokens: unknown, path: string, expander: Expander): Identity[] {
  if (!isRecord(tokens)) return [];
  return Object.values(tokens).map((identity) => {
    const expanded = expander.value(identity, "tokens[...]");
    if (isIdentity(expanded)) return expanded;
    throw refusal(path, "must have an identity, { id, scopes, resources? }, for each token");
  });
}

function serveOptionsOf(options: FileServeOptions, file: string, expander: Expander): ServeOptions {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const expanded = Object.fromEntries(
    given.map(([name, value]) => [name, expander.value(value, name, name)]),
  ) as FileServeOptions;
  const doors = expanded.doors ?? (Object.fromEntries(USUAL_DOORS.map((door) => [door, true])) as ServeDoors);
  return checkedServe({ port: DEFAULT_PORT, ...expanded, doors }, file);
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
