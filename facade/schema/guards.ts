// Recognises schemas, by their tags and never by the package that made them.

import type { TSchema } from "@sinclair/typebox";
import { invalid } from "../errors.js";
import { isRecord } from "../interop/options.js";
import { kindOf } from "./typebox-kinds.js";

/** Whether the value is a schema of TypeBox 0.34 or of a fork that uses the same tags. */
export function isTypeBoxSchema(value: unknown): value is TSchema {
  return kindOf(value) !== undefined;
}

/**
 * Whether the value is a schema of TypeBox 1.x, which marks schemas by a property called `~kind`.
 * Apart from that mark such a schema is JSON Schema.
 */
export function isTypeBox1Schema(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  return (
    (Object.hasOwn(value, "~kind") && typeof value["~kind"] === "string") || Object.hasOwn(value, "~unsafe")
  );
}

/**
 * Throws if a value is not a TypeBox schema. The message names `context`.
 *
 * @example
 * ```ts
 * assertIsSchema(value, "inputSchema of tasks.create");
 * ```
 */
export function assertIsSchema(value: unknown, context?: string): asserts value is TSchema {
  if (isTypeBoxSchema(value)) return;
  const where = context === undefined || context === "" ? "" : ` for ${context}`;
  throw invalid(`Not a valid TypeBox schema${where}: got ${describe(value)}. ${advice(value)}`);
}

/** What kind of thing a value is, for messages; never the value itself, which may be secret. */
export function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  switch (typeof value) {
    case "undefined":
      return "undefined";
    case "object":
      return isTypeBox1Schema(value) ? "a TypeBox 1.x schema" : "an object without a TypeBox kind";
    default:
      return `a ${typeof value}`;
  }
}

function advice(value: unknown): string {
  return isRecord(value)
    ? "Use FromSchema() to convert a JSON Schema."
    : "Build one with Type.*, or convert a JSON Schema with FromSchema().";
}
