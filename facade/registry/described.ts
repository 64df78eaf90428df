// What can be told of an operation to others, as JSON.

import { lazySchemaText } from "../schema/lazy.js";
import type { AccessControl, OperationSpec } from "../types.js";
import { copyOfRules } from "./native-rules.js";
import { declaredErrors } from "./native-twin.js";

/** The rules of an operation; nothing where nobody can tell what they mean. */
export function rulesOf(spec: OperationSpec): AccessControl | undefined {
  try {
    return copyOfRules(spec.accessControl);
  } catch {
    return undefined;
  }
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
