// The types of OpenAPI documents and of their imports.

import type { OperationHandler, OperationSpec, SubscriptionHandler } from "../types.js";

/**
 * An OpenAPI 3.0, 3.1 or 3.2 document, or a Swagger 2.0 document, as a JavaScript object. The type is loose on purpose:
 * the import reports what is wrong with a document.
 *
 * @example
 * ```ts
 * const spec: OpenAPISpec = {
 *   openapi: "3.1.0",
 *   info: { title: "Pets", version: "1.0.0" },
 *   paths: { "/pets": { get: { operationId: "listPets", responses: { 200: { description: "The pets" } } } } },
 * };
 * ```
 */
export interface OpenAPISpec {
  openapi?: string;
  swagger?: string;
  info?: object;
  servers?: readonly object[];
  // biome-ignore lint/suspicious/noExplicitAny: path items, with operations and with extensions
  paths?: Record<string, any>;
  components?: object;
  // biome-ignore lint/suspicious/noExplicitAny: the rest of the document
  [field: string]: any;
}

/**
 * An operation as a document has it.
 *
 * @example
 * ```ts
 * const operation: OpenAPIOperation = { operationId: "listPets", responses: { 200: { description: "The pets" } } };
 * ```
 */
export interface OpenAPIOperation {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: readonly string[];
  deprecated?: boolean;
  parameters?: readonly (OpenAPIParameter | { $ref: string })[];
  requestBody?: object;
  responses?: object;
  servers?: readonly object[];
  security?: readonly object[];
  // biome-ignore lint/suspicious/noExplicitAny: extensions
  [field: string]: any;
}

/**
 * A parameter as a document has it.
 *
 * @example
 * ```ts
 * const parameter: OpenAPIParameter = { name: "limit", in: "query", schema: { type: "integer" } };
 * ```
 */
export interface OpenAPIParameter {
  name: string;
  in: "path" | "query" | "header" | "cookie" | (string & {});
  required?: boolean;
  description?: string;
  deprecated?: boolean;
  schema?: object | boolean;
  style?: string;
  explode?: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: Swagger 2.0's `type`, extensions
  [field: string]: any;
}

/**
 * An imported operation: a spec with the handler that makes the request.
 *
 * @example
 * ```ts
 * const operations: OpenAPIImportedOperation[] = FromOpenAPI(document, { namespace: "pets" });
 * operations[0]?._meta; // { method: "GET", path: "/pets", ... }
 * ```
 */
export type OpenAPIImportedOperation<TNamespace extends string = string> = OperationSpec & {
  namespace: TNamespace;
  handler: OperationHandler | SubscriptionHandler;
};

/**
 * The result of importing one operation, or a path that could not be read.
 *
 * @example
 * ```ts
 * const { report } = inspectOpenAPI(document, { namespace: "pets" });
 * const skipped: OpenAPIReportEntry[] = report.filter(({ status }) => status === "skipped");
 * ```
 */
export interface OpenAPIReportEntry {
  /** `degraded`: it was imported, but a part of it could not be understood. `skipped`: it was not imported. */
  status: "imported" | "degraded" | "skipped";
  /** The name it got, if it got one. */
  name?: string;
  /** In upper case. */
  method?: string;
  path: string;
  /** Where the operation is, as a JSON Pointer into the document. */
  pointer: string;
  /** Why it was degraded or skipped. */
  problems: OpenAPIProblem[];
}

/**
 * One thing that went wrong, and where.
 *
 * @example
 * ```ts
 * const where = ({ reason, pointer }: OpenAPIProblem) => `${reason} at ${pointer}`;
 * ```
 */
export interface OpenAPIProblem {
  /** The kind of problem. */
  code: "filtered" | "reference" | "malformed" | "schema" | "parameter" | "body" | "unsupported" | "limit";
  /** What is wrong and what was done about it. */
  reason: string;
  /** Where, as a JSON Pointer into the document. */
  pointer: string;
}

/**
 * The result of `inspectOpenAPI`.
 *
 * @example
 * ```ts
 * const { operations, report }: OpenAPIInspection = inspectOpenAPI(document, { namespace: "pets" });
 * ```
 */
export interface OpenAPIInspection {
  operations: OpenAPIImportedOperation[];
  /** One entry for each operation of the document, including skipped ones. */
  report: OpenAPIReportEntry[];
  /** The credentials that imported operations ask for. */
  security: OpenAPISecurity[];
}

/**
 * Credentials that operations of a document ask for: one of its security schemes.
 *
 * @example
 * ```ts
 * const { security } = inspectOpenAPI(document, { namespace: "pets" });
 * const missing: OpenAPISecurity[] = security.filter(({ isAnswered }) => !isAnswered);
 * ```
 */
export interface OpenAPISecurity {
  /** The name of the scheme. */
  scheme: string;
  /** `apiKey`, `http`, `oauth2`, `openIdConnect`, `mutualTLS` or `basic` (Swagger 2.0). */
  type: string;
  /** Of an `apiKey`: where it goes, and under which name. */
  in?: string;
  name?: string;
  /** Of `http`: the scheme of the `Authorization` header. */
  httpScheme?: string;
  /** The scopes that operations ask for. */
  scopes: string[];
  /** How many operations ask for it. */
  operations: number;
  /** Whether the configuration has such credentials. Those of a function are not looked at. */
  isAnswered: boolean;
}

/**
 * A file system to read documents from, so that the import depends on no runtime.
 *
 * @example
 * ```ts
 * const fs: OpenAPIFS = { readFile: async (path) => (await import("node:fs/promises")).readFile(path, "utf8") };
 * const operations = await FromOpenAPIFile("pets.yaml", { namespace: "pets" }, fs);
 * ```
 */
export interface OpenAPIFS {
  readFile(path: string): Promise<string>;
  /** The path behind symbolic links. With it, links that lead out of the document's folder are not followed. */
  realPath?(path: string): Promise<string>;
}
