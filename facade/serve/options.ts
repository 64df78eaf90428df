// The options of a server, checked, and their form for the native side (`crates/operations-serve/src/options.rs`).

import type { PlaceLimits } from "../call/admission-queue.js";
import { isIdentity } from "../call/incoming.js";
import {
  aBoolean,
  aCount,
  aDuration,
  aFunction,
  aList,
  aName,
  anObject,
  aPatience,
  aSize,
  type Check,
  checkedOptions,
  type Fields,
  group,
  isListOf,
  isRecord,
  isString,
  isWhole,
  must,
  refusal,
  required,
} from "../interop/options.js";
import { aFileToRead } from "../interop/permission.js";
import { kindOf } from "../interop/text.js";
import type { Identity, OperationSpec } from "../types.js";
import { aPath, defined, door, PATH, someErrors } from "./door-options.js";
import { explorerFiles } from "./explorer.js";
import type { AcceptSpoke } from "./hub.js";
import type { Identify } from "./identify.js";
import { anInfo, type OpenAPIInfo } from "./info.js";
import { nativeIntrospection, type ServeIntrospection, someIntrospection } from "./introspection.js";
import { nativeJwt, oauthOfJwt, type ServeJwt, someJwt } from "./jwt.js";
import { anMcpDoor, type MCPDoorOptions, mcpDoors, nativeMcp } from "./mcp-door.js";

/**
 * The HTTP door: every operation at `POST <path>/<namespace>/<name>`, and at the addresses in `<path>/openapi.json`.
 *
 * @example
 * ```ts
 * const door: HTTPDoorOptions = { path: "/v1", info: { title: "Tasks", version: "1.0.0" } };
 * ```
 */
export interface HTTPDoorOptions {
  /** The path (default `/api`). */
  path?: string;
  /** The `info` of its OpenAPI document. */
  info?: OpenAPIInfo;
  /** As `errors` of `serve`, for this door. */
  errors?: "mask" | "expose";
}

/** @deprecated Use `HTTPDoorOptions`. */
export type HttpDoorOptions = HTTPDoorOptions;

/**
 * The hub: the call protocol over WebSocket, for `connectHub` and for pages.
 *
 * @example
 * ```ts
 * const door: HubDoorOptions = { accept: (spoke) => ({ namespace: spoke.name }) };
 * ```
 */
export interface HubDoorOptions {
  /** The path (default `/hub`). */
  path?: string;
  /**
   * Returns the namespace under which the operations of a spoke are registered here, or `false` to refuse them. Without
   * it they are not registered, and can be called through `served.hub.spokes`.
   */
  accept?: AcceptSpoke;
  /** The largest frame that is accepted (default: the value of `maxBodyBytes`). */
  maxFrameBytes?: number;
  /**
   * How often a spoke must send a sign of life, in milliseconds (default 15,000). After twice this time without one,
   * the connection is lost.
   */
  heartbeat?: number;
  /** How many calls of one connection may run or wait (default 16,384). Further calls are refused. */
  maxCalls?: number;
  /** How many operations one spoke may offer (default 10,000). A larger offer is refused. */
  maxOperations?: number;
  /** The largest number of connections (default 10,000). */
  maxConnections?: number;
  /** As `errors` of `serve`, for this door. */
  errors?: "mask" | "expose";
}

/**
 * The explorer: a page on which people search operations, fill in their inputs and call them. It calls through the HTTP
 * door, so open `http` too.
 *
 * @example
 * ```ts
 * const doors: ServeDoors = { http: true, explorer: { path: "/explorer" } };
 * ```
 */
export interface ExplorerDoorOptions {
  /** The path (default `/`). */
  path?: string;
}

/**
 * The doors of a server. A door that is not named is closed.
 *
 * @example
 * ```ts
 * const doors: ServeDoors = { http: { path: "/v1" } };
 * ```
 */
export interface ServeDoors {
  /** Plain HTTP with JSON. */
  http?: boolean | HTTPDoorOptions;
  /** The Model Context Protocol. */
  mcp?: boolean | MCPDoorOptions | readonly MCPDoorOptions[];
  /** The call protocol over WebSocket. Only `serve` has this door. */
  hub?: boolean | HubDoorOptions;
  /** A page to search operations and to call them, through the HTTP door. */
  explorer?: boolean | ExplorerDoorOptions;
}

/**
 * The authorization servers that issue tokens. Clients find them at `/.well-known/oauth-protected-resource`.
 *
 * @example
 * ```ts
 * const oauth: ServeOAuth = { resource: "https://api.example.com", authorizationServers: ["https://login.example.com"] };
 * ```
 */
export interface ServeOAuth {
  /** The URL of this server, as clients know it. */
  resource: string;
  authorizationServers: readonly string[];
  /** The scopes that clients may request. */
  scopes?: readonly string[];
}

/**
 * What pages of `allowedOrigins` may do.
 *
 * @example
 * ```ts
 * const cors: ServeCors = { credentials: true };
 * ```
 */
export interface ServeCors {
  /** Whether their browsers may send cookies along (default: no). */
  credentials?: boolean;
}

/**
 * The certificate of a server, and its key, as files in PEM.
 *
 * @example
 * ```ts
 * const tls: ServeTls = { certFile: "/etc/tls/cert.pem", keyFile: "/etc/tls/key.pem" };
 * ```
 */
export interface ServeTls {
  /** The certificate, followed by its chain. */
  certFile: string;
  keyFile: string;
}

/**
 * Options of `serve`.
 *
 * @example
 * ```ts
 * const options: ServeOptions = { port: 8080, doors: { http: true }, timeout: 30_000 };
 * ```
 */
export interface ServeOptions extends PlaceLimits {
  /** The port. 0, the default, chooses a free port: see `served.url`. */
  port?: number;
  /** The address to listen on (default `127.0.0.1`, which only this machine can reach). */
  host?: string;
  /** Serves HTTPS, and HTTP/2 to clients that support it. */
  tls?: ServeTls;
  doors: ServeDoors;
  /** Which operations are served: all that are not internal, by default. */
  operations?: (spec: OperationSpec) => boolean;
  /**
   * Returns the identity of a request. Without it, and without `tokens`, `jwt` and `introspection`, no caller has an identity, and only open
   * operations can be called. They can be combined: `identify` is asked last, for what the others do not know. With one of them, every request needs an identity, unless `anonymous` is set.
   */
  identify?: Identify;
  /** The identity of each token (`Authorization: Bearer <token>`). Unknown tokens are answered with 401. */
  tokens?: Readonly<Record<string, Identity>>;
  /**
   * Issuers whose tokens are accepted, verified without JavaScript. When its token expires, a connection to the hub or a stream
   * ends.
   */
  jwt?: ServeJwt | readonly ServeJwt[];
  /** A server that is asked about the tokens that `tokens` and `jwt` do not know (RFC 7662). */
  introspection?: ServeIntrospection;
  /**
   * With `tokens`, `jwt`, `introspection` or `identify`: whether callers without an identity may call open operations (default: no, they are
   * answered with 401).
   */
  anonymous?: boolean;
  /**
   * What callers read when a handler throws an error that is neither a `CallError` nor declared: with `"mask"`, the default,
   * `The operation failed` and the id of the request; with `"expose"`, the message of the error. The log always gets the
   * message, the stack and the cause.
   */
  errors?: "mask" | "expose";
  /** Writes a log line for each request, in the category `["operations", "requests"]` at level info (default: no). */
  accessLog?: boolean;
  /** Where clients without a token can get one. */
  oauth?: ServeOAuth;
  /** Names under which the server may be addressed, such as `api.example.com`, `api.example.com:8443` or `*.example.com`
   * (default: those of the machine itself). Requests for others are answered with 403. */
  allowedHosts?: readonly string[];
  /** Pages that may call, such as `https://app.example.com` (default: those of the machine itself). */
  allowedOrigins?: readonly string[];
  /** Whether pages of other origins, those in `allowedOrigins`, may read answers (default: no). */
  cors?: boolean | ServeCors;
  /** The largest body of a request (default 4 MiB). */
  maxBodyBytes?: number;
  /**
   * How long a call may take, in milliseconds (default 60,000; 0 for no limit). Subscriptions end with their clients.
   */
  timeout?: number;
  /** How long a client may take to send its headers, and again for its body or for one message to the hub, in milliseconds
   * (default 30,000). */
  requestTimeout?: number;
  /**
   * How long a client may read nothing of a response, in milliseconds (default 30,000; 0 for no limit). After that, its
   * connection is closed and its calls are aborted. Only `serve` has connections.
   */
  writeTimeout?: number;
  /**
   * How many bytes of requests and responses may be in memory (default 128 MiB): bodies and hub calls that wait or run, and
   * responses that are not yet sent. Beyond that, requests are answered with 503, and calls over the hub fail with the same
   * error. A caller is admitted if they then hold no more than is left, so one alone gets half of it. Callers are known by their
   * identity, or without one by their address. Counted apart, with the same limit: events of streams, beyond which new
   * streams are refused and a stream ends at its next event, and hub messages of which a part is missing, beyond which their
   * connections are closed.
   */
  maxBufferedBytes?: number;
  /**
   * Streams at the same time (default 1,024): subscriptions, and those on which MCP clients wait for notifications. They do
   * not count for `concurrency`. `perOperation` and `perCaller` apply to streams as they do to calls, each for itself.
   * Further streams are refused with 503.
   */
  streams?: number;
  /** Headers of a request that handlers find in `context.metadata.headers` (default `accept-language`, `user-agent` and those
   * of tracing). */
  requestHeaders?: readonly string[];
  /**
   * Headers of an upstream answer that are passed on (default `etag`, `last-modified` and similar). Cookies never are.
   */
  responseHeaders?: readonly string[];
}

const MAX_BODY_BYTES = 4 * 1024 * 1024;
const TIMEOUT = 60_000;
const REQUEST_TIMEOUT = 30_000;
const WRITE_TIMEOUT = 30_000;
const MAX_BUFFERED_BYTES = 128 * 1024 * 1024;
const STREAMS = 1024;
const HUB = { heartbeat: 15_000, maxCalls: 16_384, maxOperations: 10_000, maxConnections: 10_000 };
const REQUEST_HEADERS = ["accept-language", "user-agent", "traceparent", "tracestate", "baggage"];
const RESPONSE_HEADERS = [
  "cache-control",
  "content-language",
  "etag",
  "expires",
  "last-modified",
  "link",
  "retry-after",
  "vary",
];

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const NEVER = ["set-cookie", "set-cookie2"];

const aHeaderList: Check = (value, path) => {
  const names = aList(value, path) as string[];
  for (const name of names) {
    if (!HEADER_NAME.test(name)) throw refusal(path, `has ${JSON.stringify(name)}, which cannot be a header`);
    if (NEVER.includes(name.toLowerCase())) throw refusal(path, `has ${name}, which is never handed on`);
  }
  return names.map((name) => name.toLowerCase());
};

const aPathOrRoot = must(
  "a path such as / or /explorer, without a slash at its end",
  (value) => value === "/" || (isString(value) && PATH.test(value)),
);

const someTokens: Check = (value, path) => {
  const tokens = anObject(value, path) as Record<string, unknown>;
  for (const [token, identity] of Object.entries(tokens)) {
    // Tokens are secrets: no message quotes one.
    if (token === "") throw refusal(path, "has an empty token");
    if (!/^[\x21-\x7e]+$/.test(token)) throw refusal(path, "has a token that cannot be sent in a header");
    if (!isIdentity(identity)) {
      throw refusal(path, identityFlaw(identity));
    }
  }
  return value;
};

/** What is wrong with an identity of `tokens`. */
export function identityFlaw(identity: unknown): string {
  return `must have an identity, { id, scopes, resources? }, for each token: ${flawOf(identity)}`;
}

/** What an identity lacks. */
function flawOf(identity: unknown): string {
  if (!isRecord(identity)) return `one is ${kindOf(identity)}`;
  if (identity.id === undefined) return "the id of one is missing";
  if (!isString(identity.id)) return `the id of one is ${kindOf(identity.id)}, not a string`;
  const whose = `of ${JSON.stringify(identity.id.slice(0, 64))}`;
  if (identity.scopes === undefined) return `scopes ${whose} is missing`;
  if (!isListOf(identity.scopes, isString)) return `scopes ${whose} is not a list of strings`;
  return `resources ${whose} is not an object with a list of actions for each resource`;
}

const aUrl = must(
  "a URL with https:// or http://",
  (value) => isString(value) && /^https?:\/\/[^\s"\\]+$/.test(value),
);
const urls = must("a list of URLs", (value) =>
  isListOf(value, (url) => isString(url) && /^https?:\/\/[^\s"\\]+$/.test(url)),
);

/** How each door is checked. */
export const DOORS: Fields<ServeDoors> = {
  http: door(group<HTTPDoorOptions>({ path: aPath, info: anInfo, errors: someErrors })),
  mcp: anMcpDoor,
  hub: door(
    group<HubDoorOptions>({
      path: aPath,
      accept: aFunction,
      maxFrameBytes: aSize,
      heartbeat: aDuration,
      maxCalls: aSize,
      maxOperations: aSize,
      maxConnections: aSize,
      errors: someErrors,
    }),
  ),
  explorer: door(group<ExplorerDoorOptions>({ path: aPathOrRoot })),
};

/** How each option is checked. */
export const SERVE_FIELDS: Fields<ServeOptions> = {
  port: must("a whole number from 0 to 65535", (value) => isWhole(value, 0) && value <= 65_535),
  host: aName,
  tls: group<ServeTls>({ certFile: required(aFileToRead), keyFile: required(aFileToRead) }),
  doors: required(group<ServeDoors>(DOORS)),
  operations: aFunction,
  identify: aFunction,
  tokens: someTokens,
  jwt: someJwt,
  introspection: someIntrospection,
  anonymous: aBoolean,
  errors: someErrors,
  accessLog: aBoolean,
  oauth: group<ServeOAuth>({ resource: required(aUrl), authorizationServers: required(urls), scopes: aList }),
  cors: door(group<ServeCors>({ credentials: aBoolean })),
  allowedHosts: aList,
  allowedOrigins: aList,
  maxBodyBytes: aSize,
  timeout: aPatience,
  requestTimeout: aDuration,
  writeTimeout: aPatience,
  maxBufferedBytes: aSize,
  streams: aSize,
  requestHeaders: aHeaderList,
  responseHeaders: aHeaderList,
  concurrency: aSize,
  perOperation: aSize,
  perCaller: aSize,
  queue: aCount,
  overrun: aCount,
};

const isOpen = (value: unknown): boolean => value !== undefined && value !== false;

/** The options, checked. `who` begins the refusals. */
export function checkedServe(options: ServeOptions, who = "serve"): ServeOptions {
  const checked = checkedOptions<ServeOptions>(options, SERVE_FIELDS, { prefix: `${who}: ` });
  if (!Object.values(checked.doors).some(isOpen)) {
    throw refusal(`${who}: doors`, "must open at least one door, for instance { http: true }");
  }
  if (who !== "serve" && checked.doors.hub !== undefined && checked.doors.hub !== false) {
    throw refusal(`${who}: doors.hub`, "needs a listener that can switch to WebSocket: use serve()");
  }
  if (isOpen(checked.doors.explorer) && !isOpen(checked.doors.http)) {
    throw refusal(
      `${who}: doors.explorer`,
      "needs the HTTP door, through which it calls operations: { http: true, explorer: true }",
    );
  }
  refuseSamePaths(checked.doors, `${who}: `);
  const { cors } = checked;
  if (typeof cors === "object" && cors.credentials === true && checked.allowedOrigins?.includes("*")) {
    throw refusal(
      `${who}: cors.credentials`,
      'cannot be given to every page: name the pages in allowedOrigins instead of "*"',
    );
  }
  if (
    checked.anonymous === false &&
    checked.identify === undefined &&
    checked.tokens === undefined &&
    checked.jwt === undefined &&
    checked.introspection === undefined
  ) {
    throw refusal(
      `${who}: anonymous`,
      "can be false only with tokens, jwt, introspection or identify, which say who callers are",
    );
  }
  return checked;
}

/** Where each door is by default. */
export const DOOR_PATHS = { http: "/api", mcp: "/mcp", hub: "/hub", explorer: "/" } as const;

/** Two doors cannot have one path: requests would reach the first of them only. */
function refuseSamePaths(doors: ServeDoors, prefix: string): void {
  const taken = new Map<string, string>();
  for (const [name, usual] of Object.entries(DOOR_PATHS)) {
    const given = doors[name as keyof ServeDoors];
    if (!isOpen(given)) continue;
    for (const each of [given].flat()) {
      const path = (Object(each) as { path?: string }).path ?? usual;
      const other = taken.get(path);
      if (other !== undefined) {
        const message = `is ${path}, which is also the path of the door ${other}. Give one of them another path`;
        throw refusal(`${prefix}doors.${name}.path`, message);
      }
      taken.set(path, name);
    }
  }
}

/** The options for the native side. */
export function nativeOptions(options: ServeOptions, ownHeaders: readonly string[]): string {
  const { http, hub, explorer } = options.doors;
  const [mcp, ...views] = mcpDoors(options.doors.mcp);
  const { tokens, cors } = options;
  const exposesErrors = (door: unknown) =>
    ((Object(door) as { errors?: unknown }).errors ?? options.errors) === "expose";
  const main = mcp && { ...nativeMcp(defined(mcp)), exposeErrors: exposesErrors(mcp) };
  return JSON.stringify({
    doors: {
      http:
        http === undefined || http === false
          ? undefined
          : { path: "/api", ...(http === true ? {} : defined(http)), exposeErrors: exposesErrors(http) },
      mcp: main,
      mcpViews: views.map(({ path = "/mcp", name, version, instructions }, index) => ({
        ...main,
        ...defined({ path, name, version }),
        instructions,
        view: index + 1,
      })),
      hub:
        hub === undefined || hub === false
          ? undefined
          : {
              path: "/hub",
              maxFrameBytes: options.maxBodyBytes ?? MAX_BODY_BYTES,
              ...HUB,
              ...(hub === true ? {} : defined(hub)),
              exposeErrors: exposesErrors(hub),
              hasAccept: hub !== true && hub.accept !== undefined,
            },
      explorer: isOpen(explorer)
        ? { path: Object(explorer).path?.replace(/^\/$/, "") ?? "", files: explorerFiles() }
        : undefined,
    },
    identity: {
      tokens: tokens && Object.entries(tokens),
      jwt: nativeJwt(options.jwt),
      introspection: nativeIntrospection(options.introspection),
      identify: options.identify !== undefined,
      anonymous: options.anonymous,
    },
    accessLog: options.accessLog,
    tls: options.tls,
    oauth: options.oauth ?? oauthOfJwt(options.jwt),
    cors: cors === true ? {} : cors === false ? undefined : cors,
    allowedHosts: options.allowedHosts,
    allowedOrigins: options.allowedOrigins,
    maxBodyBytes: options.maxBodyBytes ?? MAX_BODY_BYTES,
    timeout: options.timeout ?? TIMEOUT,
    requestTimeout: options.requestTimeout ?? REQUEST_TIMEOUT,
    writeTimeout: options.writeTimeout ?? WRITE_TIMEOUT,
    maxBufferedBytes: options.maxBufferedBytes ?? MAX_BUFFERED_BYTES,
    streams: options.streams ?? STREAMS,
    requestHeaders: [...(options.requestHeaders ?? REQUEST_HEADERS), ...ownHeaders],
    responseHeaders: options.responseHeaders ?? RESPONSE_HEADERS,
    concurrency: options.concurrency,
    perOperation: options.perOperation,
    perCaller: options.perCaller,
    queue: options.queue,
  });
}
