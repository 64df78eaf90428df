import {
  accessRules,
  type ImportedAccessControl,
  type ImportedApproval,
  importApproval,
} from "../imported-access.js";
import {
  aBoolean,
  aDuration,
  aFunction,
  aList,
  anything,
  aSecret,
  aSize,
  aString,
  checkedOptions,
  type Fields,
  group,
  isObject,
  must,
  oneOf,
  type Rules,
  refusal,
  texts,
} from "../interop/options.js";
import { assertPermitted } from "../interop/permission.js";
import { quoted } from "../interop/text.js";
import { logger } from "../logging.js";
import type { OutputMode } from "../registry/entry.js";
import { type CallLimits, type CircuitBreaker, callLimits, circuitBreaker } from "../registry/limits.js";
import { aSpill, type SpillOptions } from "../registry/spills.js";
import type { OperationContext } from "../types.js";
import { anOAuth, ignored, type MCPOAuthConfig, secretsOfOAuth } from "./oauth-config.js";
import { expandReferences } from "./references.js";
import type { MCPToolCache } from "./tool-cache.js";
import { aToolView, type MCPToolView } from "./tool-view.js";

/**
 * A question of the server to the user (MCP's `elicitation/create`).
 *
 * @example
 * ```ts
 * const onElicitation = async ({ message }: MCPElicitation) => {
 *   console.log(message);
 *   return { action: "decline" as const };
 * };
 * ```
 */
export interface MCPElicitation {
  message: string;
  /** What the answer must look like, in form mode: an object of simple values. */
  requestedSchema?: Record<string, unknown>;
  mode?: "form" | "url";
  /** The page to visit, in URL mode. */
  url?: string;
  [key: string]: unknown;
}

/**
 * The user's answer to a server's question.
 *
 * @example
 * ```ts
 * const answer: MCPElicitationAnswer = { action: "accept", content: { confirmed: true } };
 * ```
 */
export interface MCPElicitationAnswer {
  action: "accept" | "decline" | "cancel";
  /** With `accept`: what the user entered. */
  content?: Record<string, unknown>;
}

/**
 * A request of the server for an answer of a model (MCP's `sampling/createMessage`).
 *
 * @example
 * ```ts
 * const question = ({ messages }: MCPSampling) => messages.at(-1)?.content;
 * ```
 */
export interface MCPSampling {
  messages: Array<{ role: "user" | "assistant"; content: unknown }>;
  maxTokens: number;
  systemPrompt?: string;
  [key: string]: unknown;
}

/**
 * A model's answer to a server's request.
 *
 * @example
 * ```ts
 * const answer: MCPSamplingAnswer = { role: "assistant", model: "some-model", content: { type: "text", text: "Hello" } };
 * ```
 */
export interface MCPSamplingAnswer {
  role: "user" | "assistant";
  content: unknown;
  model: string;
  stopReason?: string;
}

/**
 * Connections for users with credentials of their own.
 *
 * @example
 * ```ts
 * const sessions: MCPSessions = { max: 500, maxIdle: 5 * 60_000 };
 * ```
 */
export interface MCPSessions {
  /** The largest number of connections. When all are in use, further users are refused (`reason: "overloaded"`). */
  max?: number;
  /** How long a connection may be without calls before it is closed, in milliseconds. */
  maxIdle?: number;
  /** @deprecated Use `max`. */
  most?: number;
  /** @deprecated Use `maxIdle`. */
  idle?: number;
}

/**
 * One MCP server. It has the shape of an entry in an `mcpServers` file, and more. In all texts,
 * `${env:NAME}` stands for an environment variable, `${env:NAME:-text}` for one with a default, and `${file:path}` for what a
 * file holds.
 *
 * @example
 * ```ts
 * const local: MCPClientConfig = { command: "npx", args: ["-y", "some-server"], env: { TOKEN: "..." } };
 * const remote: MCPClientConfig = { url: "https://tools.example/mcp", headers: { authorization: "Bearer ..." } };
 * ```
 */
export interface MCPClientConfig {
  /** stdio: the program to start. */
  command?: string;
  args?: string[];
  /** Added to the safe part of the host's environment (HOME, PATH and the like). */
  env?: Record<string, string>;
  /** What else the child gets of the host's environment: the safe part (`"minimal"`, the default) or all of it. */
  environment?: "minimal" | "inherit";
  /** The same as `environment: "inherit"`. */
  inheritEnv?: boolean;
  cwd?: string;
  /** Streamable HTTP: the endpoint. A server that does not answer it is tried with HTTP+SSE of 2024-11-05. */
  url?: string;
  /** Allows one of the two only. */
  transport?: "http" | "sse";
  /**
   * Headers for every request. For credentials per user, a function of the call's context that returns them. Each user
   * then has connections of their own. The function is called once with an empty context, to read the list of tools.
   */
  headers?:
    | Record<string, string>
    | ((context: OperationContext) => Record<string, string> | Promise<Record<string, string>>);
  /**
   * If `headers` is a function: the largest number of connections (default 100), and after how many milliseconds
   * without a call a connection is closed (default 60,000).
   */
  sessions?: MCPSessions;
  oauth?: MCPOAuthConfig;
  /** The version of the operations (default: the server's version). */
  version?: string;
  /** For each call, in ms (default 60,000). `context.metadata.timeout` sets it for one call. */
  timeout?: number;
  /**
   * For a call that the server runs as a task, in ms (default: one hour). An earlier deadline of the call takes
   * precedence.
   */
  taskTimeout?: number;
  /** From the start to the complete list of tools, in ms (default 30,000). */
  connectTimeout?: number;
  /** Whether a progress notification restarts the timeout of a call. */
  resetTimeoutOnProgress?: boolean;
  /** The largest message that is read, in bytes (default 64 MiB). */
  maxResultBytes?: number;
  /**
   * When the server is started: by `load` (`"eager"`, the default), or by the first call (`"lazy"`). The tools of a lazy server
   * come from `toolCache`; if they are not there, it is started once, to list them.
   */
  start?: "eager" | "lazy";
  /** Where tool lists are kept: a folder, or functions. */
  toolCache?: string | MCPToolCache;
  /** After how many milliseconds without a call the server is stopped (default: never). The next call starts it again. */
  maxIdle?: number;
  /** @deprecated Use `maxIdle`. */
  idle?: number;
  /** Which tools become operations, under which name, with which description and for whom. */
  tools?: MCPToolView | readonly string[];
  /** What the server may work on: paths, URLs, or a function that returns them. `client.rootsChanged()` announces a change. */
  roots?: readonly string[] | (() => readonly string[] | Promise<readonly string[]>);
  /** Whether the next call starts a lost server again (default `true`). */
  reconnect?: boolean;
  /** The largest number of tools (default 2,000). Further tools are left out and reported. */
  maxTools?: number;
  /**
   * Whether operations of a registry that is served with this package keep the ids, types, rules and errors that they
   * have there. Only for servers that you trust, because they then choose ids and types. Default: `false`.
   */
  keepIds?: boolean;
  /**
   * Who may call the tools: rules for all of them, or a function of each operation. By default they are open to every
   * caller.
   */
  accessControl?: ImportedAccessControl;
  /** Which tools need the approval of a person: a word for all of them, or a function of each operation. By default none. */
  approval?: ImportedApproval;
  /** Limits for all tools of the server together. */
  limits?: CallLimits;
  /** When to stop calling the server because it fails. */
  breaker?: CircuitBreaker;
  /** What happens to outputs that do not match their schema (default: the setting of the registry). */
  output?: OutputMode;
  /** Large results go to files: `data` is then the beginning, and `meta.spill` names the file. */
  spill?: SpillOptions;
  /** If a result is exactly one text with a JSON object or array, `data` is the parsed value. */
  parseJSONText?: boolean;
  /** What a result with `isError: true` becomes: an envelope (default), or a `CallError` that holds it. */
  onToolError?: "envelope" | "throw";
  /** Answers questions to the user. Without it they are declined. */
  onElicitation?(
    request: MCPElicitation,
    info: { server: string },
  ): MCPElicitationAnswer | Promise<MCPElicitationAnswer>;
  /** Runs a model for the server. Without it, such requests are refused. */
  onSampling?(request: MCPSampling, info: { server: string }): MCPSamplingAnswer | Promise<MCPSamplingAnswer>;
  /** `MCPClientLoader` leaves it out. */
  disabled?: boolean;
  /** The same the other way round, as some clients write it. */
  enabled?: boolean;
  /**
   * Ignored: `command` or `url` decides. Other programs write it (`"stdio"`, `"http"`). Unknown fields of a file are
   * ignored too.
   */
  type?: string;
}

const strings = texts(() => true, "name");
const aToolCache = must(
  "a folder, or an object with the functions get and set",
  (value) =>
    (typeof value === "string" && value !== "") ||
    (isObject(value) && typeof value.get === "function" && typeof value.set === "function"),
);
/** What a command or a URL must look like, and how long a limit may be, is checked natively. */
const FIELDS: Fields<MCPClientConfig> = {
  command: aString,
  args: aList,
  env: strings,
  environment: oneOf("minimal", "inherit"),
  inheritEnv: aBoolean,
  cwd: aString,
  url: aSecret,
  // The other words are those of other programs' files, and say nothing that `command` or `url` does not.
  transport: oneOf("http", "sse", "stdio", "streamable-http", "streamable_http", "streamableHttp"),
  start: oneOf("eager", "lazy"),
  toolCache: aToolCache,
  maxIdle: aDuration,
  idle: aDuration,
  tools: aToolView,
  roots: (value, path) => (typeof value === "function" ? value : aList(value, path)),
  headers: (value, path) => (typeof value === "function" ? value : strings(value, path)),
  sessions: group<MCPSessions>({ max: aSize, maxIdle: aDuration, most: aSize, idle: aDuration }),
  oauth: anOAuth,
  version: aString,
  timeout: aDuration,
  taskTimeout: aDuration,
  connectTimeout: aDuration,
  resetTimeoutOnProgress: aBoolean,
  maxResultBytes: aSize,
  keepIds: aBoolean,
  maxTools: aSize,
  accessControl: accessRules,
  approval: importApproval,
  limits: callLimits,
  breaker: circuitBreaker,
  reconnect: aBoolean,
  output: oneOf("normalise", "normalize", "keep", "off", "strict"),
  spill: aSpill,
  parseJSONText: aBoolean,
  onToolError: oneOf("envelope", "throw"),
  onElicitation: aFunction,
  onSampling: aFunction,
  disabled: anything,
  enabled: anything,
  type: anything,
};

/** Refuses a configuration that cannot work, by name and field. `rules` are for a file of servers: what its
 * messages begin with, and what happens to unknown fields. */
export function checkedConfig(name: string, config: unknown, rules?: Rules): MCPClientConfig {
  if (typeof name !== "string" || name === "") {
    throw refusal(
      "MCP server: name",
      `must be a string that is not empty, because it is the namespace of the tools, not ${quoted(name)}`,
    );
  }
  const prefix = `MCP server '${name}': `;
  const checked = checkedOptions<MCPClientConfig>(config, FIELDS, rules ?? { prefix, others: ignored });
  if (checked.url !== undefined && checked.command !== undefined) {
    logger("mcp").warn(`${prefix}it has url and command. url is used, and command is ignored`, { name });
  }
  if (checked.start === "lazy" && checked.toolCache === undefined) {
    throw refusal(`${prefix}start`, '"lazy" needs toolCache, a folder for the list of tools');
  }
  if (typeof checked.headers === "function") {
    if (checked.url === undefined) throw refusal(`${prefix}headers`, "can be a function only with url");
    // What a user allowed would be kept for all.
    if (checked.oauth !== undefined) throw refusal(`${prefix}headers`, "cannot be a function with oauth");
  } else if (checked.sessions !== undefined) {
    throw refusal(`${prefix}sessions`, "needs headers that are a function of the call's context");
  }
  return checked;
}

/** What a user's function gave for a call. The values are secrets, and are taken as they are. */
export async function headersFor(
  name: string,
  { headers }: MCPClientConfig,
  context: OperationContext,
): Promise<Record<string, string>> {
  const given = typeof headers === "function" ? await headers(context) : headers;
  return { ...(strings(given, `MCP server '${name}': headers()`) as Record<string, string>) };
}

/** Names of variables whose values are better not shown. */
export const SECRET_NAME = /token|key|secret|pass|auth|credential|session|cookie/i;

/** What a URL may hold beside an address: a password, keys in the query. */
function secretsOfURL(text: string | undefined): string[] {
  if (text === undefined || !URL.canParse(text)) return [];
  const { password, searchParams } = new URL(text);
  return [password, ...searchParams.values()];
}

/** The configuration for the native side. */
export function describeConfig(
  name: string,
  config: MCPClientConfig,
  own: Record<string, string> | undefined,
): string {
  const expanded: string[] = [];
  const expand = <T>(value: T, path: string): T => expandReferences(value, path, name, expanded);
  const { command, args, env, cwd, url, oauth } = config;
  if (url !== undefined) assertPermitted("net", `MCP server '${name}': connecting to its URL`);
  else if (command !== undefined) assertPermitted("child", `MCP server '${name}': starting its command`);
  const headers = typeof config.headers === "function" ? undefined : config.headers;
  const described = {
    command: expand(command, "command"),
    args: expand(args, "args"),
    env: expand(env, "env"),
    cwd: expand(cwd, "cwd"),
    url: expand(url, "url"),
    // References are for the author of the configuration: what a user sends must not reach the environment.
    headers: own ?? expand(headers, "headers"),
    inheritEnv: config.environment === undefined ? config.inheritEnv : config.environment === "inherit",
    transport: config.transport === "http" || config.transport === "sse" ? config.transport : undefined,
    idle: config.maxIdle ?? config.idle,
    timeout: config.timeout,
    taskTimeout: config.taskTimeout,
    connectTimeout: config.connectTimeout,
    resetTimeoutOnProgress: config.resetTimeoutOnProgress,
    maxResultBytes: config.maxResultBytes,
    maxTools: config.maxTools,
    reconnect: config.reconnect,
    answersElicitation: config.onElicitation !== undefined,
    answersSampling: config.onSampling !== undefined,
    answersRoots: config.roots !== undefined,
    parsesJsonText: config.parseJSONText,
    throwsToolErrors: config.onToolError === "throw",
    oauth: oauth && {
      clientId: expand(oauth.clientId, "oauth.clientId"),
      clientSecret: expand(oauth.clientSecret, "oauth.clientSecret"),
      scopes: oauth.scopes,
      redirectUrl: oauth.redirectUrl,
      clientName: oauth.clientName,
      clientMetadataUrl: oauth.clientMetadataUrl,
      clientCredentials: expand(oauth.clientCredentials, "oauth.clientCredentials"),
      workload: expand(oauth.workload, "oauth.workload"),
      enterprise: expand(oauth.enterprise, "oauth.enterprise"),
      dpop: oauth.dpop,
    },
  };
  const secrets = [
    ...expanded,
    ...secretsOfURL(described.url),
    ...Object.entries(described.env ?? {}).flatMap(([key, value]) => (SECRET_NAME.test(key) ? [value] : [])),
    // `Bearer token` is a secret, and so is the token alone.
    ...Object.values(described.headers ?? {}).flatMap((value) => [value, ...value.split(" ").slice(1)]),
    ...secretsOfOAuth(described.oauth),
  ];
  return JSON.stringify({
    ...described,
    secrets,
    // What a child inherits of it is decided on the native side.
    hostEnv: described.url === undefined ? process.env : undefined,
  });
}

/** Whether a server is not to be started. */
export function isDisabled(config: { disabled?: unknown; enabled?: unknown } | undefined): boolean {
  return config?.disabled === true || config?.enabled === false;
}
