// From a document to operations.

import { CallError, invalid } from "../errors.js";
import { importedApproval, importedRules } from "../imported-access.js";
import { refusal } from "../interop/options.js";
import { jsonOf, kindOf } from "../interop/text.js";
import { logger } from "../logging.js";
import type { OpenApiDocument, OpenApiImport } from "../native-binding.js";
import { addTraits } from "../registry/handler-traits.js";
import { native, runtime } from "../runtime.js";
import { FromSchema } from "../schema/from-schema.js";
import { defineLazySchema } from "../schema/lazy.js";
import { Kind } from "../schema/typebox-kinds.js";
import { Type } from "../type-builder.js";
import { choicesFor } from "./choices.js";
import type { ConfigFor, OpenAPIImportConfig } from "./config.js";
import { type CheckedConfig, checkedConfig } from "./config-check.js";
import { createHandler } from "./handler.js";
import { securityOf } from "./security.js";
import { HttpService } from "./service.js";
import type {
  OpenAPIImportedOperation,
  OpenAPIInspection,
  OpenAPIReportEntry,
  OpenAPISpec,
} from "./types.js";

/** Problems that are logged one by one; the report has them all. */
const MAX_LOGGED = 50;

/** What came of a document, and what its operations are called through. */
export interface ImportedService extends OpenAPIInspection {
  readonly service: HttpService;
}

/**
 * Makes operations from an OpenAPI document, which may be an object or a text (JSON or YAML). An operation that cannot
 * be imported is skipped and logged. `inspectOpenAPI` reports on each operation.
 *
 * @example
 * ```ts
 * registry.registerAll(FromOpenAPI(document, { namespace: "pets", baseUrl: "https://pets.example" }));
 * const { data, meta } = await registry.execute("pets.getPet", { petId: 7 });
 * ```
 *
 * @typeParam TNamespace The namespace, where the compiler is to know it: `createRegistry([mine, ...FromOpenAPI<"pets">(...)])`
 */
export function FromOpenAPI<TNamespace extends string = string>(
  spec: OpenAPISpec | string,
  config: ConfigFor<TNamespace>,
): OpenAPIImportedOperation<TNamespace>[] {
  return importSpec(spec, config).operations as OpenAPIImportedOperation<TNamespace>[];
}

/**
 * The operations, as `FromOpenAPI` returns them, and a report on each operation of the document.
 *
 * @example
 * ```ts
 * const report = inspectOpenAPI(document, { namespace: "pets" });
 * console.log(report);
 * ```
 */
export function inspectOpenAPI(spec: OpenAPISpec | string, config: OpenAPIImportConfig): OpenAPIInspection {
  const { operations, report, security } = importSpec(spec, config);
  return { operations, report, security };
}

export function importSpec(spec: OpenAPISpec | string, config: OpenAPIImportConfig): ImportedService {
  const checked = checkedConfig(config);
  return importDocument(new native.OpenApiDocument(runtime, documentText(spec)), checked);
}

/** The text of a document. The core reads texts only, so that it need not trust objects. */
function documentText(spec: unknown): string {
  if (typeof spec === "string") return spec;
  const refuse = (reason: string) =>
    invalid(
      `Not an OpenAPI document: the object cannot be written as JSON (${reason}). A document whose references were replaced by what they mean contains itself: give the original, with its $ref`,
    );
  const text = jsonOf(spec, refuse);
  if (text !== undefined) return text;
  throw invalid(`Not an OpenAPI document: found ${kindOf(spec)}`);
}

/** Makes operations of a document that has been read. */
export function importDocument(
  document: OpenApiDocument,
  config: CheckedConfig,
  documentUrl?: string,
): ImportedService {
  const imported = document.importWith(choicesFor(document, config));
  const service = new HttpService(imported, config, documentUrl);
  const heads = JSON.parse(imported.heads()) as Head[];
  if (config.namespace === undefined && !imported.hasNamespaces()) {
    throw refusal("config.namespace", "must be a non-empty string, not undefined");
  }
  const operations = heads.map((head, index) => operationOf(head, index, imported, service, config));
  const report = JSON.parse(imported.report()) as OpenAPIReportEntry[];
  logProblems(report, service.name);
  return { operations, report, security: securityOf(operations, config), service };
}

/** An operation as the native side describes it: a spec without schemas and access rules. */
type Head = Pick<
  OpenAPIImportedOperation,
  "name" | "version" | "type" | "title" | "description" | "tags" | "_meta"
> & {
  /** Where the document was written by `toOpenAPI`, and the configuration names none. */
  readonly namespace?: string;
  /** The server is one of ours. */
  readonly isServed?: true;
};

function operationOf(
  { _meta, isServed, ...head }: Head,
  index: number,
  imported: OpenApiImport,
  service: HttpService,
  config: CheckedConfig,
): OpenAPIImportedOperation {
  const operation = { namespace: service.name, ...head } as OpenAPIImportedOperation;
  const id = `${operation.namespace}.${head.name}`;
  const isBigInt = config.int64 === "bigint";
  const input = () => imported.inputSchema(index);
  const output = () => imported.outputSchema(index);
  const outline = () => imported.inputOutline(index);
  defineLazySchema(operation, "inputSchema", () => schemaFrom(input(), id, isBigInt), input, outline);
  defineLazySchema(operation, "outputSchema", () => schemaFrom(output(), id, isBigInt), output);
  operation.accessControl = { requiredScopes: [] };
  operation._meta = config.output === undefined ? _meta : { ..._meta, output: config.output };
  operation.handler = createHandler(service, imported, index, operation, isServed === true);
  // The document has chosen the namespace: it may not take the place of anything.
  if (service.config.namespace === undefined) {
    addTraits(operation.handler, { idChosenBy: { source: service, name: "The OpenAPI document" } });
  }
  const { accessControl: rules } = config;
  const given = typeof rules === "function" ? rules(operation) : rules;
  // A copy for each: the rules of an operation can be changed until `register` freezes them.
  if (given !== undefined) operation.accessControl = importedRules(given, operation);
  return Object.assign(operation, importedApproval(config.approval, operation));
}

/** A schema of one operation; errors name the operation. */
function schemaFrom(text: string, id: string, isBigInt: boolean): unknown {
  // Nothing is known: values pass as they are.
  if (text === "{}") return Type.Unknown();
  try {
    return FromSchema(isBigInt ? JSON.parse(text, reviveBigInt) : JSON.parse(text));
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    throw new CallError(error.code, `The schema of operation ${id} cannot be used: ${error.message}`, {
      operationId: id,
    });
  }
}

/** JSON has no schema for a `bigint`; `{ "type": "bigint" }` stands for it (`schema_rules.rs`). */
function reviveBigInt(_: string, value: unknown): unknown {
  const isOne =
    typeof value === "object" && value !== null && (value as { type?: unknown }).type === "bigint";
  return isOne && Object.keys(value).length === 1 ? { ...value, [Kind]: "BigInt" } : value;
}

function logProblems(report: readonly OpenAPIReportEntry[], namespace: string): void {
  const log = logger("openapi");
  let logged = 0;
  let more = 0;
  for (const { status, name, method, path, problems } of report) {
    const [first] = problems;
    // What the configuration leaves out is as the user wants it.
    if (first === undefined || first.code === "filtered") continue;
    if (logged === MAX_LOGGED) {
      more += 1;
      continue;
    }
    logged += 1;
    const what = name === undefined ? "" : ` (${namespace}.${name})`;
    const others = problems.length > 1 ? `, and ${problems.length - 1} more` : "";
    const sentence = `${method ?? "Path"} ${path}${what} was ${status}: ${first.reason} at ${first.pointer}${others}`;
    log.warn(sentence, { namespace, name, method, path, status, problems });
  }
  if (report.length > 0 && report.every(({ problems }) => problems[0]?.code === "filtered")) {
    log.warn(
      `None of the ${report.length} operations of ${namespace} was imported: include, exclude and methods leave all of them out`,
      { namespace },
    );
  }
  if (more > 0) {
    log.warn(
      `${more} more operations of ${namespace} were degraded or skipped; inspectOpenAPI() lists them`,
      {
        namespace,
        more,
      },
    );
  }
}
