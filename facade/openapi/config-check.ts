// What an HTTP service can be configured with.

import { accessRules, importApproval } from "../imported-access.js";
import { nearestName } from "../interop/nearest-name.js";
import {
  aBoolean,
  aCount,
  aDuration,
  aFunction,
  aName,
  aSecret,
  aSize,
  aString,
  type Check,
  checkedOptions,
  type Fields,
  group,
  isFunction,
  isListOf,
  isString,
  isWhole,
  must,
  oneOf,
  type Rules,
  refusal,
  required,
  texts,
} from "../interop/options.js";
import { quoted } from "../interop/text.js";
import { AUTHORITIES, type Authorities, someCertificates } from "../interop/tls.js";
import type { MCPTokenStore } from "../interop/token-store.js";
import { logger } from "../logging.js";
import { callLimits, circuitBreaker } from "../registry/limits.js";
import { aSpill } from "../registry/spills.js";
import type { HTTPAuth, HTTPOAuth, HTTPRetry, HTTPStreams, OpenAPIImportConfig } from "./config.js";

/** A configuration whose fields are what they are declared to be; a copy, so that it stays so. */
export type CheckedConfig = Readonly<OpenAPIImportConfig>;

/** The characters of header names and methods (RFC 9110). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Header values are only checked to be strings: they may be secrets, and are checked where they are written. */
const headers = texts((name) => TOKEN.test(name), "header");
const selectors = must("a string, a function, or a list of these", (value) => {
  const isSelector = (one: unknown) => isString(one) || isFunction(one);
  return isSelector(value) || isListOf(value, isSelector);
});
const retry = group<HTTPRetry>({ retries: aCount, delay: aDuration, maxDelay: aDuration });
const authFields = group<HTTPAuth>({
  // With the fields mixed up, this is a token.
  type: required(must('"bearer", "apiKey", "basic" or "oauth2"', isAuthType, { secret: true })),
  token: aSecret,
  headerName: must("the name of a header", (name) => isString(name) && TOKEN.test(name)),
  prefix: aString,
  username: aSecret,
  password: aSecret,
});

const oauthFields = group<HTTPOAuth>({
  type: required(oneOf("oauth2")),
  grant: required(oneOf("client_credentials", "refresh_token", "authorization_code", "token_exchange")),
  tokenUrl: baseUrl,
  authorizationUrl: baseUrl,
  issuer: baseUrl,
  clientId: required(aString),
  clientSecret: aSecret,
  clientAuth: oneOf("basic", "post"),
  privateKey: aSecret,
  algorithm: oneOf("ES256", "ES384", "RS256", "RS384", "RS512"),
  keyId: aString,
  scopes: must("a list of strings", (value) => isListOf(value, isString)),
  audience: aString,
  resource: aString,
  refreshToken: aSecret,
  tokenStore: must("an object with load, save and clear", (value) => {
    const { load, save, clear } = Object(value);
    return [load, save, clear].every(isFunction);
  }),
  redirectUrl: aString,
  onAuthorize: aFunction,
});

function oauth(value: unknown, path: string): HTTPOAuth {
  const checked = oauthFields(value, path) as HTTPOAuth;
  const { grant, clientSecret, privateKey, refreshToken, tokenStore } = checked;
  if (clientSecret !== undefined && privateKey !== undefined) {
    throw refusal(path, "must have clientSecret or privateKey, not both");
  }
  if (grant === "client_credentials" && clientSecret === undefined && privateKey === undefined) {
    throw refusal(path, "must have clientSecret or privateKey");
  }
  if (grant === "refresh_token" && refreshToken === undefined && tokenStore === undefined) {
    throw refusal(path, "must have refreshToken or tokenStore");
  }
  if (grant === "token_exchange" && tokenStore !== undefined) {
    throw refusal(`${path}.tokenStore`, "is not for token_exchange: each caller has a token of its own");
  }
  const isOfUser = grant === "refresh_token" || grant === "authorization_code";
  // One for the document and its operations: a rotated refresh token is for all of them.
  return isOfUser && tokenStore === undefined ? { ...checked, tokenStore: memoryStore() } : checked;
}

function memoryStore(): MCPTokenStore {
  let kept: unknown;
  return {
    load: () => kept,
    save: (tokens) => {
      kept = tokens;
    },
    clear: () => {
      kept = undefined;
    },
  };
}

const FIELDS: Fields<OpenAPIImportConfig> = {
  namespace: aName,
  baseUrl,
  headers: orFunction(headers),
  auth: orFunction(auth),
  hosts: must('a list of hosts, such as ["api.example.com", "*.example.org:8443"]', (value) =>
    isListOf(value, isString),
  ),
  allowPrivateAddresses: aBoolean,
  timeout: must(
    "a number of milliseconds, 0 or more (0: no limit)",
    (value) => Number.isFinite(value) && Number(value) >= 0,
  ),
  fetch: aFunction,
  transport: oneOf("native", "fetch"),
  retry: (value, path) => (typeof value === "number" ? aCount : retry)(value, path),
  sse: group<HTTPStreams>({
    reconnect: (value, path) => (value === "any-method" ? value : aBoolean(value, path)),
    maxRetries: aCount,
    lastEventId: aString,
    maxEventBytes: aSize,
  }),
  maxResponseBytes: aSize,
  spill: aSpill,
  tls: group<Authorities>(AUTHORITIES),
  ca: someCertificates,
  accessControl: accessRules,
  approval: importApproval,
  limits: callLimits,
  breaker: circuitBreaker,
  output: oneOf("normalise", "normalize", "keep", "off", "strict"),
  int64: oneOf("string", "bigint"),
  include: selectors,
  exclude: selectors,
  methods,
  name: aFunction,
  maxNameLength: must("a whole number, 16 or more", (value) => isWhole(value, 16)),
  preferJson: must("a boolean or a function", (value) => typeof value === "boolean" || isFunction(value)),
  documentHeaders: headers,
  maxDocumentBytes: aSize,
  allowOutsideFolder: aBoolean,
};

const METHODS = ["get", "post", "put", "patch", "delete", "head", "options", "trace", "query"];
const aMethodList = must("a list of HTTP methods", (value) =>
  isListOf(value, (method) => isString(method) && TOKEN.test(method)),
);

/** A document may have methods of its own; one that differs in a letter from those of HTTP is misspelt. */
function methods(value: unknown, path: string): ReturnType<Check> {
  for (const method of aMethodList(value, path) as string[]) {
    const isKnown = METHODS.includes(method.toLowerCase());
    const nearest = isKnown ? undefined : nearestName(method.toLowerCase(), METHODS, 1);
    if (nearest !== undefined) {
      throw refusal(path, `has ${quoted(method)}, which is not an HTTP method. Did you mean ${nearest}?`, {
        nearest,
      });
    }
  }
  return value;
}

/** What a function of the configuration gave: `config.headers()` in messages. */
export const checkedHeaders = (value: unknown) =>
  headers(value, "config.headers()") as Record<string, string>;
const warnedOfMissingTokens = new WeakSet<object>();
/** `source` is whose function it was: one that never has a token is named once, not with every call. */
export function checkedAuth(value: unknown, source: object): HTTPAuth {
  const path = "config.auth()";
  const checked = authFields(value, path) as HTTPAuth;
  if (!warnedOfMissingTokens.has(source) && warnIfMissing(checked, path)) warnedOfMissingTokens.add(source);
  return checked;
}

function orFunction(check: Check): Check {
  return (value, path) => (isFunction(value) ? value : check(value, path));
}

/** Checks a configuration. `rules` are for configurations that come from a file. */
export function checkedConfig(
  config: OpenAPIImportConfig,
  rules: Rules = { prefix: "config.", others: warnOfOthers },
): CheckedConfig {
  const checked = checkedOptions(config, FIELDS, rules);
  const usesFetch = checked.fetch !== undefined || checked.transport === "fetch";
  if (usesFetch && oauthOf(checked.auth) !== undefined) {
    throw refusal(
      `${rules.prefix ?? ""}auth`,
      'of type "oauth2" needs the native client: leave out `fetch`, and `transport: "fetch"`',
    );
  }
  if (checked.fetch !== undefined && checked.transport === "native") {
    throw refusal(
      `${rules.prefix ?? ""}transport`,
      'is "native", but a fetch is given too: leave one of them out',
    );
  }
  return checked;
}

/** Applications keep their own things in such objects. */
function warnOfOthers(fields: string[]): void {
  logger("openapi").warn(`Unknown fields in the configuration: ${fields.join(", ")}`, {
    fields,
  });
}

/** Servers on the same machine rarely have a certificate. */
function withScheme(address: string): string {
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])(:|\/|$)/i.test(address);
  return `${isLoopback ? "http" : "https"}://${address}`;
}

function baseUrl(value: unknown, path: string): ReturnType<Check> {
  if (isHttpUrl(value)) return value;
  throw refusal(path, mustBeUrl(value));
}

/** Whether a text that is no URL looks like the path of a file, and not like `pets.example/openapi.json`. */
export function isPath(text: string): boolean {
  return /^(file:|~|\.{0,2}[\\/]|[a-z]:[\\/])|^[^\\/:]+\.(json|ya?ml)$/i.test(text);
}

/** What is wrong with a URL. It is quoted if it can hold neither a password nor a key. A missing scheme is the usual
 * mistake. */
export function mustBeUrl(value: unknown): string {
  const isPrintable = isString(value) && !/[@?]/.test(value);
  const found = isString(value) && !isPrintable ? "the text that was given" : quoted(value);
  const mayLackScheme = isPrintable && !value.includes("://") && !isPath(value);
  const meant = mayLackScheme ? withScheme(value) : undefined;
  const hint = isHttpUrl(meant) ? `; did you mean ${quoted(meant)}?` : "";
  return `must be an absolute http or https URL, not ${found}${hint}`;
}

/** The credentials, where native code fetches the tokens. */
export function oauthOf(auth: CheckedConfig["auth"]): HTTPOAuth | undefined {
  return typeof auth === "object" && auth.type === "oauth2" ? auth : undefined;
}

function auth(value: unknown, path: string): ReturnType<Check> {
  if (Object(value).type === "oauth2") return oauth(value, path);
  const checked = authFields(value, path) as HTTPAuth;
  warnIfMissing(checked, path);
  return checked;
}

function warnIfMissing({ type, token, username }: HTTPAuth, path: string): boolean {
  const isMissing = !token && !(type === "basic" && username);
  if (isMissing) {
    logger("openapi").warn(`${path} has no token, so calls are made without credentials`, { type });
  }
  return isMissing;
}

function isAuthType(value: unknown): boolean {
  return value === "bearer" || value === "apiKey" || value === "basic";
}

function isHttpUrl(value: unknown): boolean {
  return isString(value) && /^https?:\/\//i.test(value.trim()) && URL.canParse(value);
}
