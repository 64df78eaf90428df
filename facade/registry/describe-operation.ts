// Operations as JSON, for other processes and for native code. Each reader has a view of its own, made of `describeOperation`.

import { isString, isWhole } from "../interop/options.js";
import { lazySchemaText } from "../schema/lazy.js";
import { jsonSchemaOf, libraryOf, vendorOf } from "../schema/standard.js";
import type { ErrorDefinition, OperationSpec } from "../types.js";
import type { AnyHandler, Entry } from "./entry.js";
import type { OperationRegistry } from "./registry.js";
import { isWellFormed } from "./rules.js";

/** The operations that can be called from outside. */
export function callableEntries(registry: OperationRegistry): (Entry & { readonly handler: AnyHandler })[] {
  // Internal ones do not exist there. Rules that Rust cannot read are met by no caller.
  return Array.from(registry.entries()).filter(
    (entry): entry is Entry & { readonly handler: AnyHandler } =>
      entry.handler !== undefined && !entry.isInternal && isWellFormed(entry.rules),
  );
}

/** An operation: what every view has of its spec, what this one has besides, and members whose values are JSON already. */
export function describeOperation(
  spec: OperationSpec,
  more: object,
  json: Readonly<Record<string, string>> = {},
): string {
  const { namespace, name, version, type, title, description, tags } = spec;
  const members = JSON.stringify({
    namespace,
    name,
    version: String(version),
    type,
    title: isString(title) ? title : undefined,
    description: String(description),
    tags: Array.isArray(tags) ? tags.filter(isString) : undefined,
    ...more,
  }).slice(0, -1);
  const rest = Object.entries(json).map(([key, text]) => `,"${key}":${text}`);
  return wellFormed(`${members}${rest.join("")}}`);
}

/** A schema as JSON; null for one that contains itself or a bigint. */
export function schemaText(spec: OperationSpec, field: "inputSchema" | "outputSchema"): string {
  try {
    return lazySchemaText(spec, field)?.text() ?? JSON.stringify(spec[field]) ?? "null";
  } catch {
    return "null";
  }
}

/** Declared errors were not checked at registration: what cannot be meant is left out. */
function errorsIn({ errorSchemas }: OperationSpec): ErrorDefinition[] {
  return Array.isArray(errorSchemas) ? errorSchemas.filter((error) => isString(Object(error).code)) : [];
}

export function declaredErrors(spec: OperationSpec): { code: string; httpStatus?: number }[] {
  return errorsIn(spec).map(({ code, httpStatus }) =>
    isWhole(httpStatus, 400) && httpStatus < 600 ? { code, httpStatus } : { code },
  );
}

/** The same with descriptions and schemas, as far as these are JSON. */
export function describedErrors(spec: OperationSpec): ErrorDefinition[] {
  const errors = errorsIn(spec);
  return declaredErrors(spec).map((declared, index) => {
    const { description, schema } = errors[index] as ErrorDefinition;
    return { ...declared, ...(isString(description) && { description }), schema: asJsonSchema(schema) };
  });
}

/** The schema of an error's details as JSON Schema, whichever library made it; `undefined` if it cannot be written. */
function asJsonSchema(schema: unknown): unknown {
  try {
    const isForeign = vendorOf(schema) !== undefined || libraryOf(schema) !== undefined;
    return JSON.parse(JSON.stringify(isForeign ? jsonSchemaOf(schema, "output") : schema));
  } catch {
    return undefined;
  }
}

/** Rust has no strings with a lone surrogate, which JSON escapes. */
export function wellFormed(json: string): string {
  return json.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][\da-f]{2}/g, "$1\ufffd");
}
