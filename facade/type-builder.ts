import type { JavaScriptTypeBuilder } from "@sinclair/typebox";
import { Kind, OptionalKind } from "./schema/typebox-kinds.js";

/**
 * The few TypeBox schema constructors that our own constants need. TypeBox itself is not loaded:
 * that takes longer than everything else in this package, and a program written in ES modules would
 * get a second copy of it beside its own. A schema is a plain object with well-known symbols, and a
 * test holds what is built here against what TypeBox builds.
 */

type Options = Record<string, unknown>;
type Schema = Record<string | symbol, unknown>;

const builder = {
  Array: (items: Schema, options?: Options) => ({ ...options, [Kind]: "Array", type: "array", items }),
  Boolean: (options?: Options) => ({ ...options, [Kind]: "Boolean", type: "boolean" }),
  Integer: (options?: Options) => ({ ...options, [Kind]: "Integer", type: "integer" }),
  Literal: (value: unknown, options?: Options) => ({
    ...options,
    [Kind]: "Literal",
    const: value,
    type: typeof value,
  }),
  Number: (options?: Options) => ({ ...options, [Kind]: "Number", type: "number" }),
  Object: (properties: Record<string, Schema>, options?: Options) => {
    const required = Object.keys(properties).filter((key) => !(OptionalKind in (properties[key] ?? {})));
    return {
      ...options,
      [Kind]: "Object",
      type: "object",
      ...(required.length > 0 && { required }),
      properties,
    };
  },
  Optional: (schema: Schema) => ({ ...schema, [OptionalKind]: "Optional" }),
  Record: (_key: Schema, value: Schema, options?: Options) => ({
    ...options,
    [Kind]: "Record",
    type: "object",
    patternProperties: { "^(.*)$": value },
  }),
  String: (options?: Options) => ({ ...options, [Kind]: "String", type: "string" }),
  Union: (anyOf: Schema[], options?: Options) => ({ ...options, [Kind]: "Union", anyOf }),
  Unknown: (options?: Options) => ({ ...options, [Kind]: "Unknown" }),
};

/** Typed as TypeBox's own builder, so that `Static<typeof SomeSchema>` works on our constants. */
export const Type = builder as unknown as Pick<JavaScriptTypeBuilder, keyof typeof builder>;
