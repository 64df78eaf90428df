// What can be told of an operation to others, as JSON.

import { isWhole } from "../border/options.js";
import { lazySchemaText } from "../schema/lazy.js";
import type { AccessControl, OperationSpec } from "../types.js";
import { copyOfRules } from "./native-rules.js";

/** The rules of an operation; nothing where nobody can tell what they mean. */
export function rulesOf(spec: OperationSpec): AccessControl | undefined {
  try {
    return copyOfRules(spec.accessControl);
  } catch {
    return undefined;
  }
}

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
      return [JSON.parse(JSON.stringify(declared))];
    } catch {
      return declaredErrors({ ...spec, errorSchemas: [declared] });
    }
  });
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
