// Schemas in the dialect of a target. The rules are in crates/operations-tools; what was projected is cached as long as
// the schema lives.

import { CallError, invalid } from "../errors.js";
import type { ToolProjection } from "../native-binding.js";
import { native, runtime } from "../runtime.js";
import { lazySchemaText } from "../schema/lazy.js";
import type { OperationSpec } from "../types.js";
import type { ToolTarget } from "./targets.js";

/**
 * A schema as JSON.
 *
 * @example
 * ```ts
 * const schema: JSONSchema = { type: "object", properties: { city: { type: "string" } } };
 * const forStrict = projectSchema(schema, "openai-strict");
 * ```
 */
export type JSONSchema = { [keyword: string]: unknown };

/**
 * A rule that a target cannot express.
 *
 * @example
 * ```ts
 * const losses: SchemaLoss[] = projectSchema(Type.String({ format: "date" }), "openai-strict").losses;
 * for (const { path, message } of losses) console.log(`${path}: ${message}`);
 * ```
 */
export interface SchemaLoss {
  /** The kind of loss: `recursion`, `format`, `one-of`, ... */
  kind: string;
  /** A JSON Pointer into the original schema; references are followed. */
  path: string;
  message: string;
}

/**
 * A schema for a target.
 *
 * @example
 * ```ts
 * const projected: ProjectedSchema = projectSchema(Type.Object({ due: Type.Optional(Type.String()) }), "openai-strict");
 * projected.restore({ due: null }); // {}
 * ```
 */
export interface ProjectedSchema {
  schema: JSONSchema;
  losses: SchemaLoss[];
  /** Converts a value that matches `schema` to a value for the original schema. */
  restore(value: unknown): unknown;
}

/**
 * Rewrites a schema (TypeBox or JSON Schema) for a target. Throws `VALIDATION_ERROR` if no value that the target can
 * express matches the schema.
 *
 * @example
 * ```ts
 * const { schema, losses } = projectSchema(Type.Object({ due: Type.String({ format: "date" }) }), "openai");
 * ```
 */
export function projectSchema(schema: unknown, target: ToolTarget): ProjectedSchema {
  const text = jsonOf(schema);
  if (text === undefined) {
    throw invalid("projectSchema needs a schema that can be written as JSON");
  }
  const projection = new CachedProjection(text, target);
  return {
    schema: projection.schema,
    losses: projection.losses,
    restore: (value) => projection.restore(value),
  };
}

/** A projection, parsed on first use. */
export class CachedProjection {
  readonly #native: ToolProjection;
  readonly #restores: boolean;
  #schema: JSONSchema | undefined;
  #losses: SchemaLoss[] | undefined;

  constructor(text: string, target: ToolTarget) {
    this.#native = new native.ToolProjection(runtime, text, target);
    this.#restores = this.#native.restores();
  }

  get schema(): JSONSchema {
    this.#schema ??= JSON.parse(this.#native.schema()) as JSONSchema;
    return this.#schema;
  }

  get losses(): SchemaLoss[] {
    this.#losses ??= JSON.parse(this.#native.losses()) as SchemaLoss[];
    return this.#losses;
  }

  /** A value in the shape of the projection, in that of the original; the same one where they are the same. */
  restore(value: unknown): unknown {
    if (!this.#restores) return value;
    const text = JSON.stringify(value);
    return text === undefined ? value : this.#read(this.#native.restore(text));
  }

  /** The same, from what a model wrote. Throws a `CallError` with a message for the model. */
  readArguments(text: string): unknown {
    return this.#read(this.#native.readArguments(text));
  }

  #read(text: string): unknown {
    return this.#native.takesNothing() ? undefined : JSON.parse(text);
  }
}

/** What was projected, by schema and target. */
const cache = new WeakMap<object, Map<ToolTarget, CachedProjection | CallError>>();

/** The projection of one of an operation's schemas, or why it failed. */
export function projectionOf(
  spec: OperationSpec,
  field: "inputSchema" | "outputSchema",
  target: ToolTarget,
): CachedProjection | CallError {
  const lazy = lazySchemaText(spec, field);
  const key = lazy?.key ?? (spec[field] as object);
  const byTarget = cache.get(key) ?? new Map<ToolTarget, CachedProjection | CallError>();
  cache.set(key, byTarget);
  let projection = byTarget.get(target);
  if (projection === undefined) {
    projection = projected(lazy?.text ?? (() => jsonOf(spec[field])), target);
    byTarget.set(target, projection);
  }
  return projection;
}

function projected(text: () => string | undefined, target: ToolTarget): CachedProjection | CallError {
  try {
    const json = text();
    if (json !== undefined) return new CachedProjection(json, target);
    return invalid("it cannot be written as JSON");
  } catch (error) {
    if (error instanceof CallError) return error;
    throw error;
  }
}

/** One of an operation's schemas as JSON text; `{}` for a missing one, and for one that cannot be written. */
export function schemaTextOf(spec: OperationSpec, field: "inputSchema" | "outputSchema"): string {
  try {
    return lazySchemaText(spec, field)?.text() ?? jsonOf(spec[field]) ?? "{}";
  } catch (error) {
    if (error instanceof CallError) return "{}";
    throw error;
  }
}

/** A schema as JSON text; nothing for one that contains itself or a bigint. */
function jsonOf(schema: unknown): string | undefined {
  try {
    return typeof schema === "object" || typeof schema === "boolean" ? JSON.stringify(schema) : undefined;
  } catch {
    return undefined;
  }
}
