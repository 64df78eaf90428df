import { isIdentity } from "../call/incoming.js";
import type { OpenAPISpec } from "../from-openapi.js";
import {
  aFunction,
  anObject,
  checkedOptions,
  type Fields,
  isListOf,
  isString,
  must,
  oneOf,
  refusal,
} from "../interop/options.js";
import { assertRegistry } from "../registry/assert-registry.js";
import type { OperationRegistry } from "../registry/registry.js";
import { native, runtime } from "../runtime.js";
import type { Identity, OperationSpec } from "../types.js";
import { describeHttp } from "./describe-http.js";
import { anInfo, type OpenAPIInfo } from "./info.js";

/**
 * Options of `toOpenAPI`.
 *
 * @example
 * ```ts
 * const options: ToOpenAPIOptions = { version: "3.2", servers: [{ url: "https://tasks.example.com/api" }] };
 * ```
 */
export interface ToOpenAPIOptions {
  /** The version of OpenAPI (default `3.1`). */
  version?: "3.1" | "3.2";
  /** Where the operations are served (default `/api`, on the server that the document came from). */
  servers?: readonly { url: string; description?: string }[];
  /** Leaves out operations that this identity may not call. */
  identity?: Identity;
  /** Which operations are in it: all that are not internal, by default. */
  operations?: (spec: OperationSpec) => boolean;
}

const aServerList = must('a list of servers, such as [{ url: "/api" }]', (value) =>
  isListOf(value, (server) => isString(Object(server).url)),
);

const FIELDS: Fields<ToOpenAPIOptions> = {
  version: oneOf("3.1", "3.2"),
  servers: aServerList,
  identity: anObject,
  operations: aFunction,
};

/**
 * The OpenAPI document of a registry, as `serve` answers requests. A server has the same document, for each caller, at
 * `GET /api/openapi.json`.
 *
 * @example
 * ```ts
 * const document = toOpenAPI(registry, { title: "Tasks", version: "1.0.0" });
 * console.log(JSON.stringify(document, null, 2));
 * ```
 */
export function toOpenAPI(
  registry: OperationRegistry,
  info: OpenAPIInfo,
  options: ToOpenAPIOptions = {},
): OpenAPISpec {
  const checked = checkedOptions<ToOpenAPIOptions>(options, FIELDS, { prefix: "toOpenAPI: " });
  anInfo(info, "toOpenAPI: info");
  assertRegistry(registry, "toOpenAPI");
  const { version, servers = [{ url: "/api" }], identity, operations: isShown = () => true } = checked;
  if (identity !== undefined && !isIdentity(identity)) {
    throw refusal("toOpenAPI: identity", "must be an identity: { id, scopes, resources? }");
  }
  const shown = registry.getAllSpecs().filter((spec) => isShown(spec) === true);
  const text = native.openApiOf(
    runtime,
    `[${describeHttp(registry)
      .map(({ describe }) => describe())
      .join(",")}]`,
    JSON.stringify({ info, servers, version }),
    shown.map(({ namespace, name }) => `${namespace}.${name}`),
    identity === undefined ? null : JSON.stringify(identity),
  );
  return JSON.parse(text) as OpenAPISpec;
}
