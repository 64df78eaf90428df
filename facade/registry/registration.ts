// From an operation to its registered form, and back.

import { invalid } from "../errors.js";
import { messageOf } from "../interop/text.js";
import { defaultAdapter, fromStandard, type SchemaAdapter } from "../schema/adapters.js";
import { isTypeBoxSchema } from "../schema/guards.js";
import { copyOf, isLazySchema, SCHEMA_FIELDS } from "../schema/lazy.js";
import { rememberOriginal, type SchemaMode, validatorOf } from "../schema/standard.js";
import { schemaNode } from "../schema/typebox-kinds.js";
import type { AnySchema } from "../schema-types.js";
import type { OperationHandler, OperationSpec, SubscriptionHandler } from "../types.js";
import type { AnyHandler, Entry } from "./entry.js";

/**
 * An operation as `get` and `list` return it.
 *
 * @example
 * ```ts
 * const operation: RegisteredOperation | undefined = registry.get("demo.greet");
 * if (operation?.handler === undefined) console.log("no handler yet");
 * ```
 */
export type RegisteredOperation = OperationSpec & { handler?: OperationHandler | SubscriptionHandler };

/** Two pairs of namespace and name that make one id would overwrite each other unseen. */
export function refuseCollision(id: string, spec: OperationSpec, present: OperationSpec | undefined): void {
  if (present === undefined || present.namespace === spec.namespace) return;
  const words = ({ namespace, name }: OperationSpec) =>
    `${JSON.stringify(name)} in namespace ${JSON.stringify(namespace)}`;
  throw invalid(
    `Cannot register operation ${words(spec)}: its id is ${id}, and so is that of operation ${words(present)}, ` +
      "which is registered already. Rename one of them",
    { operationId: id },
  );
}

/** Copies of the spec, whose schemas are not made by it, and of the handler. */
export function splitOperation(operation: RegisteredOperation): {
  handler: AnyHandler | undefined;
  spec: OperationSpec;
} {
  const copy = copyOf(Object(operation) as RegisteredOperation);
  const { handler } = copy;
  if (Object.hasOwn(copy, "handler")) delete copy.handler;
  // Once more, because an object that lost a property is a slow one.
  return { handler, spec: copyOf(copy) };
}

export function toRegistered({ spec, handler }: Entry): RegisteredOperation {
  const operation: RegisteredOperation = copyOf(spec);
  if (handler !== undefined) operation.handler = handler;
  return operation;
}

/** The spec with its schemas as TypeBox schemas. Those that are not made yet will be. */
export function adapted(id: string, spec: OperationSpec, adapter: SchemaAdapter | undefined): OperationSpec {
  const fields = SCHEMA_FIELDS.filter((field) => !isLazySchema(spec, field));
  if (fields.some((field) => spec[field] === undefined)) return spec;
  for (const field of fields) spec[field] = adaptedSchema(spec, id, field, adapter);
  return spec;
}

function adaptedSchema(
  spec: OperationSpec,
  id: string,
  field: "inputSchema" | "outputSchema",
  adapter: SchemaAdapter | undefined,
): AnySchema {
  try {
    return toTypeBox(spec[field], field === "inputSchema" ? "input" : "output", spec.visibility, adapter);
  } catch (error) {
    const reason = messageOf(error);
    throw invalid(`Cannot register operation ${id}: ${field}: ${reason}`, {
      operationId: id,
      field,
      reason,
    });
  }
}

/** The schema as a TypeBox schema; one that its own library checks keeps that check. */
function toTypeBox(
  schema: unknown,
  mode: SchemaMode,
  visibility: OperationSpec["visibility"],
  convert: SchemaAdapter | undefined,
): AnySchema {
  if (isTypeBoxSchema(schema) || validatorOf(schema) === undefined) {
    return (convert ?? defaultAdapter).toTypeBox(schema, mode) as AnySchema;
  }
  try {
    const converted = convert === undefined ? fromStandard(schema, mode) : convert.toTypeBox(schema, mode);
    return isTypeBoxSchema(converted) ? rememberOriginal(converted, schema) : converted;
  } catch (error) {
    // It is not shown outside, so its JSON Schema is not needed.
    if (visibility === "internal") return rememberOriginal(schemaNode("Unknown"), schema) as never;
    throw error;
  }
}
