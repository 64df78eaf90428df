// What a user may say about an HTTP service.

import type { OutputMode } from "../registry/entry.js";
import type { CallLimits, CircuitBreaker } from "../registry/limits.js";
import type { SpillOptions } from "../registry/spills.js";
import type { AccessControl, OperationContext, OperationSpec } from "../types.js";

/**
 * How requests, and the import of a document, are to be done.
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
  /** Where the service is. Without it the document's `servers` (or `host` and `schemes`) say so. */
  baseUrl?: string | undefined;
  /** Headers of each request, or a function of the call that gives them. */
  headers?: Record<string, string> | PerCall<Record<string, string>>;
  /** The credentials of the service; or, for credentials per user, a function of the call's context that gives them. */
  auth?: HTTPAuth | PerCall<HTTPAuth>;
  /** Hosts that requests and redirects may go to, beside that of `baseUrl`: `"api.example.com"`, `"*.example.com"`,
   * `"127.0.0.1:8080"`; without a port that of the scheme, with `:*` every port. Without it: all. */
  hosts?: readonly string[];
  /** Requests may go to addresses of this machine and of private networks. By default only to those that `baseUrl`, the
   * URL of the document or an entry of `hosts` names. */
  allowPrivateAddresses?: boolean;
  /** Milliseconds for a call, headers and body; for a stream, until its headers are there. 300,000 by default, 0 for
   * no limit. */
  timeout?: number;
  /** Called in the place of the native client, and of a global `fetch` that someone replaced. */
  fetch?: typeof globalThis.fetch;
  /** Calls that failed are tried again this often, where that is safe. Off by default. */
  retry?: number | HTTPRetry;
  sse?: HTTPStreams;
  /** A response body that is larger is an error. 64 MiB by default. */
  maxResponseBytes?: number;
  /** Large bodies go to files: `data` is the beginning of the body then, and `meta.spill` names the file. With a `fetch`
   * of your own, only those of a registry that has `spill` too. */
  spill?: SpillOptions;
  /** Certificates to trust besides the system's, as PEM. */
  ca?: string | string[];
  /** Who may call these operations: one rule for all, or a function of each. Without it, everybody. */
  accessControl?: AccessControl | ((spec: OperationSpec) => AccessControl | undefined);
  /** How many calls of all operations of the service run, wait and begin. */
  limits?: CallLimits;
  /** When the service is left alone because it fails. */
  breaker?: CircuitBreaker;
  /** What happens to the outputs of these operations; the registry's own setting by default. */
  output?: OutputMode;
  /** What an integer beyond 2^53 becomes where the document says `format: int64`: a string of its digits, or a `bigint`.
   * Inputs may then hold the same. By default it is a number, and `meta.notes` says where one was rounded. */
  int64?: "string" | "bigint";

  /** Only these operations. A string is an operation id, a tag, or a path pattern (`/pets/*`, `GET /admin/**`). */
  include?: OpenAPISelector | readonly OpenAPISelector[];
  /** Not these operations. */
  exclude?: OpenAPISelector | readonly OpenAPISelector[];
  /** The methods to import: `get`, `post`, `put`, `patch` and `delete` by default. */
  methods?: readonly string[];
  /** Another name for an operation; nothing leaves it its own. */
  name?: (operation: OpenAPICandidate) => string | null | undefined;
  /** Longer names are cut and get a mark that tells them apart. 16 at least; many models take 64. */
  maxNameLength?: number;
  /** Operations that offer both JSON and a stream are called for their JSON. */
  preferJson?: boolean | ((operation: OpenAPICandidate) => boolean);

  /** Headers of the request for the document itself (`FromOpenAPIUrl`). `auth` and `headers` go with it only if
   * the document has the origin of `baseUrl`. */
  documentHeaders?: Record<string, string>;
  /** A document, with the files that it refers to, may have so many bytes. 64 MiB by default. */
  maxDocumentBytes?: number;
  /** References may lead to files outside the document's own folder (`FromOpenAPIFile`). */
  allowOutsideFolder?: boolean;
}

/**
 * Asked for each call, with its context. Without an answer there is nothing to send along.
 *
 * @example
 * ```ts
 * const auth: PerCall<HTTPAuth> = ({ identity }) =>
 *   identity && { type: "bearer", token: `token of ${identity.id}` };
 * ```
 */
export type PerCall<T> = (context: OperationContext) => T | undefined | Promise<T | undefined>;

/**
 * The credentials of a service. Without a token (or user name) there are none, and a log line says so.
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
  /** For `basic`, in the place of `token`. */
  username?: string | undefined;
  password?: string | undefined;
}

/**
 * The same for a document that may have been written by `toOpenAPI`: without a `namespace`, its operations keep those that they
 * have where they are served.
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
 * different documents are of one type, unless somebody says otherwise. */
export type ConfigFor<TNamespace extends string> = OpenAPIImportConfig & {
  namespace?: [TNamespace][TNamespace extends unknown ? 0 : never];
};

/**
 * When a request is sent once more.
 *
 * @example
 * ```ts
 * const config: HTTPServiceConfig = { namespace: "pets", retry: { retries: 2, delay: 200 } };
 * ```
 */
export interface HTTPRetry {
  /** Tries after the first one. */
  retries: number;
  /** Milliseconds before the first of them; the pause doubles each time. */
  delay?: number;
  /** No pause is longer. A server that asks for more gets no further try. */
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
  /** How often in a row, without a connection that brought an event and held for 5 seconds. */
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
 * A way to point at operations.
 *
 * @example
 * ```ts
 * const include: OpenAPISelector[] = ["listPets", "GET /pets/**", ({ deprecated }) => !deprecated];
 * ```
 */
export type OpenAPISelector = string | ((operation: OpenAPICandidate) => boolean);
