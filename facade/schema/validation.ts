// Validation for users: does this value fit this schema, and if not, why?

import { type CallError, invalid } from "../errors.js";
import { type CompiledSchema, compiled, type ValueError } from "./compiled.js";
import { assertIsSchema } from "./guards.js";

/** The compiled form of what should be a TypeBox schema. */
function compiledSchema(schema: unknown, context?: string): CompiledSchema {
  assertIsSchema(schema, context);
  return compiled(schema);
}

/**
 * Lists everything that is wrong with a value. The list is empty if the value is valid. Paths are JSON Pointers.
 *
 * @example
 * ```ts
 * collectErrors(Type.Object({ n: Type.Number() }), { n: "1" }); // [{ path: "/n", message: "Expected number" }]
 * ```
 */
export function collectErrors(schema: unknown, value: unknown): ValueError[] {
  const checked = compiledSchema(schema);
  return checked.check(value) ? [] : checked.errors(value);
}

/**
 * Formats errors as text, one line for each: path and message.
 *
 * @example
 * ```ts
 * console.log(formatValueErrors(collectErrors(Type.Number(), "1"))); // "  - : Expected number"
 * ```
 */
export function formatValueErrors(errors: Iterable<ValueError>, indent = "  - "): string {
  return Array.from(errors, ({ path, message }) => `${indent}${path}: ${message}`).join("\n");
}

/**
 * Throws `VALIDATION_ERROR`, with all errors in its message and details, if a value does not match a schema.
 *
 * @example
 * ```ts
 * validateOrThrow(Type.Object({ port: Type.Integer() }), config, "the configuration");
 * ```
 */
export function validateOrThrow(schema: unknown, value: unknown, context?: string): void {
  const checked = compiledSchema(schema, context);
  if (checked.check(value)) return;
  throw validationError(checked.errors(value), context);
}

/** The error that names everything that is wrong with a value. */
export function validationError(
  errors: readonly ValueError[],
  context?: string,
  details: object = {},
): CallError {
  const where = context === undefined || context === "" ? "" : ` for ${context}`;
  // The path of the whole value is empty, which reads as a slip.
  const named = errors.map(({ path, message }) => ({ path: path || "(whole value)", message }));
  return invalid(`Validation failed${where}:\n${formatValueErrors(named)}`, { errors, ...details });
}
