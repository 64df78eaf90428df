// The types of the OpenAPI adapter.

import {
  FromOpenAPI,
  FromOpenAPIFile,
  FromOpenAPIUrl,
  type HTTPServiceConfig,
  inspectOpenAPI,
  type OpenAPIFS,
  type OpenAPIImportedOperation,
  type OpenAPIOperation,
  type OpenAPIParameter,
  type OpenAPIReportEntry,
  OpenAPIServiceRegistry,
  type OpenAPISpec,
  type OperationHandler,
  OperationRegistry,
  type OperationSpec,
  type SubscriptionHandler,
} from "@alkdev/operations";
import { FromOpenAPI as FromSubPath } from "@alkdev/operations/from-openapi";
import { expectTypeOf } from "expect-type";

// What a document may be: a literal with extensions, an import of a JSON file, another package's type, a text.
const literal = FromOpenAPI(
  {
    openapi: "3.1.0",
    info: { title: "t", version: "1" },
    "x-anything": true,
    paths: { "/pets": { get: { operationId: "list", responses: {} } } },
  },
  { namespace: "pets" },
);
expectTypeOf(literal).toEqualTypeOf<OpenAPIImportedOperation[]>();

interface ForeignInfo {
  title: string;
  version: string;
}
interface ForeignDocument {
  openapi: string;
  info: ForeignInfo;
  paths: { [path: string]: { get?: { summary?: string } } | undefined };
  components?: { schemas?: Record<string, unknown> };
}
declare const foreign: ForeignDocument;
FromOpenAPI(foreign, { namespace: "pets" });
declare const parsed: unknown;
FromOpenAPI(parsed as OpenAPISpec, { namespace: "pets" });
FromOpenAPI("openapi: 3.0.0\npaths: {}", { namespace: "pets" });
// @ts-expect-error a number is no document
FromOpenAPI(5, { namespace: "pets" });
// A document that toOpenAPI wrote names the namespaces of its operations itself.
FromOpenAPI(foreign, {});
// @ts-expect-error a word that is none
FromOpenAPI(foreign, { namespace: "pets", output: "normal" });
expectTypeOf(FromSubPath).toEqualTypeOf(FromOpenAPI);

// What comes of it fits where the TypeScript package's results fitted.
const former: Array<OperationSpec & { handler: OperationHandler }> = literal;
expectTypeOf(former).toBeArray();
expectTypeOf<OpenAPIImportedOperation["handler"]>().toEqualTypeOf<OperationHandler | SubscriptionHandler>();
new OperationRegistry().registerAll(literal);
for (const operation of literal) new OperationRegistry().register(operation);

// The configuration of the TypeScript package, and what is new.
const config: HTTPServiceConfig = {
  namespace: "pets",
  baseUrl: "https://example.com",
  headers: { "X-A": "b" },
  auth: { type: "apiKey", token: process.env.TOKEN, headerName: "X-Key", prefix: "Key" },
  timeout: 1000,
  fetch: globalThis.fetch,
  include: ["pets", ({ tags, method }) => tags.includes("x") && method === "GET"],
  exclude: "admin",
  methods: ["get"],
  name: ({ operationId, path }) => operationId ?? path,
  maxNameLength: 64,
  preferJson: ({ path }) => path.startsWith("/chat"),
  output: "keep",
  retry: { retries: 3 },
  sse: { reconnect: true },
};

export const bounded: HTTPServiceConfig[] = [
  { ...config, hosts: ["api.example.com", "*.example.org:8443"], allowPrivateAddresses: true, timeout: 0 },
  { ...config, sse: { reconnect: "any-method" } },
  { ...config, accessControl: { requiredScopes: ["shop"] } },
  { ...config, accessControl: ({ type }) => (type === "query" ? undefined : { requiredScopes: ["write"] }) },
  // @ts-expect-error not a way to open streams again
  { ...config, sse: { reconnect: "always" } },
  // @ts-expect-error rules have scopes
  { ...config, accessControl: { scopes: ["shop"] } },
];

const { operations, report } = inspectOpenAPI(foreign, config);
expectTypeOf(operations).toEqualTypeOf<OpenAPIImportedOperation[]>();
expectTypeOf(report).toEqualTypeOf<OpenAPIReportEntry[]>();
expectTypeOf<OpenAPIReportEntry["status"]>().toEqualTypeOf<"imported" | "degraded" | "skipped">();
for (const { problems } of report) for (const { pointer } of problems) expectTypeOf(pointer).toBeString();

const fs: OpenAPIFS = { readFile: async (path) => path };
expectTypeOf(FromOpenAPIFile("a", config, fs)).resolves.toEqualTypeOf<OpenAPIImportedOperation[]>();
expectTypeOf(FromOpenAPIUrl("a", config)).resolves.toEqualTypeOf<OpenAPIImportedOperation[]>();

const services = new OpenAPIServiceRegistry();
expectTypeOf(services.add("a", foreign, config)).toEqualTypeOf<OpenAPIImportedOperation[]>();
expectTypeOf(services.addFromUrl("a", "b", config)).resolves.toEqualTypeOf<OpenAPIImportedOperation[]>();
expectTypeOf(services.addFromFile("a", "b", config, fs)).resolves.toEqualTypeOf<OpenAPIImportedOperation[]>();
expectTypeOf(services.get("a")).toEqualTypeOf<OpenAPIImportedOperation[] | undefined>();
expectTypeOf(services.getAll()).toEqualTypeOf<OpenAPIImportedOperation[]>();
expectTypeOf(services.list()).toEqualTypeOf<string[]>();
expectTypeOf(services.size).toBeNumber();
expectTypeOf(services.remove("a")).toBeBoolean();
expectTypeOf(services.closeAll()).resolves.toBeVoid();

const parameter: OpenAPIParameter = { name: "id", in: "path", required: true, schema: { type: "string" } };
const operation: OpenAPIOperation = { operationId: "x", parameters: [parameter, { $ref: "#/x" }] };
expectTypeOf(operation.tags).toEqualTypeOf<readonly string[] | undefined>();
