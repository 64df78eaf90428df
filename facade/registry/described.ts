// What can be told of an operation to others, as JSON.

import { isWhole } from "../border/options.js";
import { lazySchemaText } from "../schema/lazy.js";
import { jsonSchemaOf, libraryOf, vendorOf } from "../schema/standard.js";
import type { OperationSpec } from "../types.js";

/** Nobody has checked these: what cannot be meant is left out. */
export function declaredErrors({ errorSchemas }: OperationSpec): { code: string; httpStatus?: number }[] {
  if (!Array.isArray(errorSchemas)) return [];
  return errorSchemas.flatMap((declared) => {
    const { code, httpStatus } = Object(declared);
    if (typeof code !== "string") return [];
    return [isWhole(httpStatus, 400) && httpStatus < 600 ? { code, httpStatus } : { code }];
  });
}

/** What is declared, as far as it is JSON. */
export function errorsOf(spec: OperationSpec): object[] {
  const { errorSchemas } = spec;
  if (!Array.isArray(errorSchemas)) return [];
  return errorSchemas.flatMap((declared) => {
    try {
      const { schema, ...rest } = Object(declared);
      return [JSON.parse(JSON.stringify({ ...rest, schema: asJsonSchema(schema) }))];
    } catch {
      return declaredErrors({ ...spec, errorSchemas: [declared] });
    }
  });
}

/** The schema of an error's details as JSON Schema, whichever library made it; nothing where it cannot be written. */
export function asJsonSchema(schema: unknown): unknown {
  if (vendorOf(schema) === undefined && libraryOf(schema) === undefined) return schema;
  try {
    return jsonSchemaOf(schema, "output");
  } catch {
    return undefined;
  }
}

/** A schema as JSON; null for one that contains itself or a bigint. */
export function schemaText(spec: OperationSpec, field: "inputSchema" | "outputSchema"): string {
  try {
    return lazySchemaText(spec, field)?.text() ?? JSON.stringify(spec[field]) ?? "null";
  } catch {
    return "null";
  }
}

/** Rust has no strings with half a surrogate pair, which JSON escapes. */
export function wellFormed(json: string): string {
  return json.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][\da-f]{2}/g, "$1\ufffd");
}
