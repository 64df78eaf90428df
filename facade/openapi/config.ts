// What a user may say about an HTTP service.

import type { ImportedApproval } from "../imported-access.js";
import type { Authorities } from "../interop/tls.js";
import type { MCPTokenStore } from "../interop/token-store.js";
import type { OutputMode } from "../registry/entry.js";
import type { CallLimits, CircuitBreaker } from "../registry/limits.js";
import type { SpillOptions } from "../registry/spills.js";
import type { AccessControl, OperationContext, OperationSpec } from "../types.js";

/**
 * Options of an OpenAPI import and of its requests.
 *
 * @example
 * ```ts
 * const config: HTTPServiceConfig = {
 *   namespace: "pets",
 *   baseUrl: "https://pets.example",
 *   auth: { type: "apiKey", token: "..." },
 *   timeout: 10_000,
 * };
 * ```
 */
export interface HTTPServiceConfig {
  /** The namespace of the operations. */
  namespace: string;
  /** The address of the service. Without it, the `servers` of the document (or `host` and `schemes`) are used. */
  baseUrl?: string | undefined;
  /** Headers of each request, or a function of the call's context that returns them. */
  headers?: Record<string, string> | PerCall<Record<string, string>>;
  /** Credentials for the service. For credentials per user, a function of the call's context that returns them. */
  auth?: HTTPAuth | HTTPOAuth | PerCall<HTTPAuth>;
  /**
   * Hosts that requests and redirects may go to, in addition to the host of `baseUrl`: `"api.example.com"`,
   * `"*.example.com"`, `"127.0.0.1:8080"`. An entry without a port means the default port of the scheme, and `:*` means
   * every port. By default all hosts are allowed.
   */
  hosts?: readonly string[];
  /** Requests may go to addresses of this machine and of private networks. By default only to those that `baseUrl`, the
   * URL of the document or an entry of `hosts` names. */
  allowPrivateAddresses?: boolean;
  /**
   * Milliseconds for a call, headers and body. For a stream: until its headers arrive. 300,000 by default, 0 for no
   * limit.
   */
  timeout?: number;
  /** Called instead of the native client, and instead of a global `fetch` that was replaced. */
  fetch?: typeof globalThis.fetch;
  /**
   * What sends the requests: `"native"` for the native client in every case, `"fetch"` for the global `fetch`. By default it is
   * the native client, unless the global `fetch` was replaced or undici's `setGlobalDispatcher` was called with something other
   * than a plain `Agent`. Not together with `fetch`.
   */
  transport?: "native" | "fetch";
  /** How often failed calls are repeated, if that is safe. Off by default. */
  retry?: number | HTTPRetry;
  sse?: HTTPStreams;
  /** The largest response body, in bytes. 64 MiB by default. */
  maxResponseBytes?: number;
  /**
   * Large bodies go to files: `data` is then the beginning, and `meta.spill` names the file. With your own `fetch`,
   * only the `spill` of the registry applies.
   */
  spill?: SpillOptions;
  /** Certificates to trust besides the system's, in PEM form. */
  tls?: Authorities;
  /** @deprecated Use `tls: { ca }`. */
  ca?: string | string[];
  /**
   * Who may call these operations: rules for all of them, or a function of each. By default they are open to every
   * caller.
   */
  accessControl?: AccessControl | ((spec: OperationSpec) => AccessControl | undefined);
  /** Which operations need the approval of a person: a word for all of them, or a function of each. By default none. */
  approval?: ImportedApproval;
  /** Limits for all operations of the service together. */
  limits?: CallLimits;
  /** When to stop calling the service because it fails. */
  breaker?: CircuitBreaker;
  /** What happens to outputs that do not match their schema (default: the setting of the registry). */
  output?: OutputMode;
  /**
   * What an integer beyond 2^53 becomes if the document says `format: int64`: a string of its digits, or a `bigint`.
   * Inputs may use the same. By default it is a number, and `meta.notes` lists those that were rounded.
   */
  int64?: "string" | "bigint";

  /** Only these operations. A string is an operation id, a tag, or a path pattern (`/pets/*`, `GET /admin/**`). */
  include?: OpenAPISelector | readonly OpenAPISelector[];
  /** Not these operations. */
  exclude?: OpenAPISelector | readonly OpenAPISelector[];
  /** The methods to import: `get`, `post`, `put`, `patch` and `delete` by default. */
  methods?: readonly string[];
  /** Returns another name for an operation, or `undefined` to keep its name. */
  name?: (operation: OpenAPICandidate) => string | null | undefined;
  /** Longer names are shortened and get a suffix that keeps them unique. At least 16. Many models accept 64. */
  maxNameLength?: number;
  /** Operations that offer both JSON and a stream are called for their JSON. */
  preferJson?: boolean | ((operation: OpenAPICandidate) => boolean);

  /**
   * Headers of the request for the document itself (`FromOpenAPIUrl`). `auth` and `headers` are sent with it only if
   * the document has the origin of `baseUrl`.
   */
  documentHeaders?: Record<string, string>;
  /** The largest size of a document together with the files that it refers to, in bytes. 64 MiB by default. */
  maxDocumentBytes?: number;
  /** References may lead to files outside the document's own folder (`FromOpenAPIFile`). */
  allowOutsideFolder?: boolean;
}

/**
 * A function that is called for each call, with its context. If it returns nothing, nothing is added to the request.
 *
 * @example
 * ```ts
 * const auth: PerCall<HTTPAuth> = ({ identity }) =>
 *   identity && { type: "bearer", token: `token of ${identity.id}` };
 * ```
 */
export type PerCall<T> = (context: OperationContext) => T | undefined | Promise<T | undefined>;

/**
 * Credentials for a service. Without a token (or user name), calls are made without credentials, and a log line says
 * so.
 *
 * @example
 * ```ts
 * const auth: HTTPAuth = { type: "bearer", token: process.env["PETS_TOKEN"] };
 * ```
 */
export interface HTTPAuth {
  type: "bearer" | "apiKey" | "basic";
  /** The token or key; for `basic`, user name and password already encoded. */
  token?: string | undefined;
  /** For `apiKey`: the header, `X-API-Key` by default. */
  headerName?: string;
  /** For `apiKey`: what goes before the key. */
  prefix?: string;
  /** For `basic`, instead of `token`. */
  username?: string | undefined;
  password?: string | undefined;
}

/**
 * Tokens of an authorization server (OAuth 2.0). The native client fetches a token when the first call needs one, renews it before it
 * expires, and once more when the service refuses it with 401. Not together with a `fetch`.
 *
 * @example
 * ```ts
 * const auth: HTTPOAuth = {
 *   type: "oauth2",
 *   grant: "client_credentials",
 *   tokenUrl: "https://login.example/token",
 *   clientId: "hub",
 *   clientSecret: process.env["PETS_SECRET"] ?? "",
 *   scopes: ["pets:read"],
 * };
 * ```
 */
export interface HTTPOAuth {
  type: "oauth2";
  /** Whose token it is: the program's (`client_credentials`), that of a user who has logged in (`refresh_token`,
   * `authorization_code`), or that of the caller, whose own token is traded for it (`token_exchange`, RFC 8693). */
  grant: "client_credentials" | "refresh_token" | "authorization_code" | "token_exchange";
  /** The token endpoint. `http` only on this machine. By default that of the issuer's metadata, or of the document, if its host is
   * that of `baseUrl` or of the document, or in `hosts`. */
  tokenUrl?: string;
  /** The page for `authorization_code`, where no metadata names it. */
  authorizationUrl?: string;
  /** The authorization server whose metadata names the endpoints. */
  issuer?: string;
  clientId: string;
  clientSecret?: string | undefined;
  /** Where the secret goes: a header (`"basic"`) or the body (`"post"`). By default what the metadata says, else a header. */
  clientAuth?: "basic" | "post";
  /** Instead of a secret: a private key, as PKCS #8 in PEM (`private_key_jwt`). */
  privateKey?: string | undefined;
  /** The signature algorithm of the key (default `"ES256"`). */
  algorithm?: "ES256" | "ES384" | "RS256" | "RS384" | "RS512";
  /** The `kid` of the key. */
  keyId?: string;
  scopes?: readonly string[];
  /** Which API the token is for, where the authorization server wants to know (`audience`; `resource` of RFC 8707). */
  audience?: string;
  resource?: string;
  /** What a token is asked for with while `tokenStore` is empty. */
  refreshToken?: string | undefined;
  /** Where tokens are kept between runs. `save` is awaited before a new token is used. Without one they live as long as the
   * program. */
  tokenStore?: MCPTokenStore;
  /** Where the browser is sent after a login. By default a port of this machine. */
  redirectUrl?: string;
  /** Shows the page to the user, for `authorization_code`. Resolve with the address that the browser was sent to afterwards, if the
   * program sees it; otherwise with nothing, and a port of this machine receives it. */
  onAuthorize?(page: {
    server: string;
    url: string;
    redirectUrl?: string;
    /** What the user types there, if it is a login by a code for another device. */
    userCode?: string;
    // biome-ignore lint/suspicious/noConfusingVoidType: callbacks that return nothing are what most people write
  }): string | void | Promise<string | void>;
}

/**
 * Like `HTTPServiceConfig`, with an optional `namespace`. Without it, operations of a document that `toOpenAPI` wrote
 * keep the namespaces that they have at their server.
 *
 * @example
 * ```ts
 * const config: OpenAPIImportConfig = { baseUrl: "https://hub.example/api" };
 * registry.registerAll(await FromOpenAPIUrl("https://hub.example/api/openapi.json", config));
 * ```
 */
export interface OpenAPIImportConfig extends Omit<HTTPServiceConfig, "namespace"> {
  namespace?: string;
}

/** The same with a namespace that the compiler is to know. It is never inferred from the configuration: lists of operations from
 * different documents are of one type, unless a type argument says otherwise. */
export type ConfigFor<TNamespace extends string> = OpenAPIImportConfig & {
  namespace?: [TNamespace][TNamespace extends unknown ? 0 : never];
};

/**
 * When a failed request is sent again.
 *
 * @example
 * ```ts
 * const config: HTTPServiceConfig = { namespace: "pets", retry: { retries: 2, delay: 200 } };
 * ```
 */
export interface HTTPRetry {
  /** The number of further attempts. */
  retries: number;
  /** Milliseconds before the first further attempt. The pause doubles each time. */
  delay?: number;
  /** The longest pause. If a server asks for a longer one, the request is not repeated. */
  maxDelay?: number;
}

/**
 * How event streams are read.
 *
 * @example
 * ```ts
 * const config: HTTPServiceConfig = { namespace: "pets", sse: { reconnect: true } };
 * ```
 */
export interface HTTPStreams {
  /** Connect again when the connection is lost, with `Last-Event-ID`, for GET; with `"any-method"` for others too, which
   * repeats whatever the request does. Off by default. */
  reconnect?: boolean | "any-method";
  /** How many attempts in a row may fail. An attempt succeeds if it brings an event and lasts 5 seconds. */
  maxRetries?: number;
  /** Where the first connection continues. */
  lastEventId?: string;
  /** A larger event ends the stream. 16 MiB by default. */
  maxEventBytes?: number;
}

/**
 * An operation of a document before it is imported.
 *
 * @example
 * ```ts
 * const isAdmin = ({ path, tags }: OpenAPICandidate) => path.startsWith("/admin") || tags.includes("admin");
 * const operations = FromOpenAPI(document, { namespace: "pets", exclude: isAdmin });
 * ```
 */
export interface OpenAPICandidate {
  /** The name that it would get. */
  readonly name: string;
  readonly operationId?: string;
  /** In upper case. */
  readonly method: string;
  /** As the document writes it. */
  readonly path: string;
  readonly tags: readonly string[];
  readonly summary?: string;
  readonly deprecated: boolean;
}

/**
 * Selects operations.
 *
 * @example
 * ```ts
 * const include: OpenAPISelector[] = ["listPets", "GET /pets/**", ({ deprecated }) => !deprecated];
 * ```
 */
export type OpenAPISelector = string | ((operation: OpenAPICandidate) => boolean);
