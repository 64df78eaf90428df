// Schemas of other libraries as TypeBox schemas, through each library's own JSON Schema export. The
// libraries are optional: they are loaded by `init()`, and by a registry that is given such a schema.

import type { TSchema } from "@sinclair/typebox";
import { CallError, failed, invalid } from "../errors.js";
import { loadLibrary } from "../interop/host.js";
import { isRecord } from "../interop/options.js";
import { messageOf } from "../interop/text.js";
import type { TypeBoxSchema } from "../schema-types.js";
import { FromSchema } from "./from-schema.js";
import { describe, isTypeBox1Schema, isTypeBoxSchema } from "./guards.js";
import {
  hasProperty,
  type JsonSchemaExport,
  jsonSchemaOf,
  type Library,
  libraryOf,
  rememberOriginal,
  type SchemaMode,
  VALIBOT,
  vendorOf,
  ZOD,
} from "./standard.js";
import { fromTypeBox1 } from "./typebox1.js";

export type { SchemaMode } from "./standard.js";

/**
 * Converts the schemas of a library to TypeBox schemas.
 *
 * @example
 * ```ts
 * const adapter: SchemaAdapter = {
 *   toTypeBox: (schema) => FromSchema(schema), // everything is plain JSON Schema here
 * };
 * const registryOfMine = new OperationRegistry({ schemaAdapter: adapter });
 * ```
 */
export interface SchemaAdapter {
  /** Loads what the adapter needs. It may be called any number of times. */
  init?(): Promise<void>;
  /** Converts a schema; TypeBox schemas come back as they are. */
  toTypeBox(schema: unknown, mode?: SchemaMode): TypeBoxSchema;
}

/**
 * An adapter for a library that has to be loaded first.
 *
 * @example
 * ```ts
 * const adapter: LibraryAdapter = zodAdapter();
 * await adapter.init();
 * ```
 */
export interface LibraryAdapter extends SchemaAdapter {
  init(): Promise<void>;
  toTypeBox(schema: unknown, mode?: SchemaMode): TSchema;
}

/**
 * Accepts TypeBox schemas only: 0.34 unchanged, and 1.x as JSON Schema.
 *
 * @example
 * ```ts
 * defaultAdapter.toTypeBox(Type.String()); // the same schema
 * ```
 */
export const defaultAdapter: LibraryAdapter = {
  init: () => Promise.resolve(),
  toTypeBox(schema) {
    const own = fromTypeBox(schema);
    if (own !== undefined) return own;
    throw invalid(`expected a TypeBox schema, but got ${describeSchema(schema)}${adviceAbout(schema)}`);
  },
};

/**
 * Accepts Zod 4 schemas besides TypeBox's.
 *
 * @example
 * ```ts
 * const schemaAdapter = zodAdapter();
 * await schemaAdapter.init();
 * const registry = new OperationRegistry({ schemaAdapter });
 * ```
 */
export function zodAdapter(): LibraryAdapter {
  return libraryAdapter(ZOD);
}

/**
 * Accepts Valibot 1 schemas besides TypeBox's. It needs `@valibot/to-json-schema` too.
 *
 * @example
 * ```ts
 * const schemaAdapter = valibotAdapter();
 * await schemaAdapter.init();
 * const registry = new OperationRegistry({ schemaAdapter });
 * ```
 */
export function valibotAdapter(): LibraryAdapter {
  return libraryAdapter(VALIBOT);
}

function libraryAdapter(library: Library): LibraryAdapter {
  let write: JsonSchemaExport | undefined;
  return {
    async init() {
      if (write !== undefined) return;
      try {
        write = library.exportOf(await load(library.module));
        if (write === undefined) throw new Error("this version has no JSON Schema export");
      } catch (error) {
        throw failed(
          `${library.adapter}: cannot load its optional peer (npm install ${library.packages}): ${messageOf(error)}`,
          error,
        );
      }
    },
    toTypeBox(schema, mode = "input") {
      const own = fromTypeBox(schema);
      if (own !== undefined) return own;
      if (write === undefined) {
        throw failed(`${library.adapter} is not initialized: call and await its init() first`);
      }
      if (!library.owns(schema)) {
        throw invalid(`not a ${library.name} or TypeBox schema: got ${describeSchema(schema)}`);
      }
      return fromStandard(schema, mode, write);
    },
  };
}

/** The ES modules of a library, which are those that most programs use. Bundlers do not see this import: what they put into a
 * bundle is behind `loadLibrary`. Bun 1.4 runs the modules of Zod in a wrong order where a bundle has both kinds of `import`. */
async function load(module: Library["module"]): Promise<Record<string, unknown>> {
  try {
    return await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ module);
  } catch {
    return loadLibrary(module) as Record<string, unknown>;
  }
}

function fromTypeBox(schema: unknown): TSchema | undefined {
  if (isTypeBoxSchema(schema)) return schema;
  return isTypeBox1Schema(schema) ? fromTypeBox1(schema) : undefined;
}

/** A schema of any library as a TypeBox schema, which is its JSON Schema. An operation registered with the result gets the rules of
 * the schema itself. */
export function fromStandard(schema: unknown, mode: SchemaMode, write?: JsonSchemaExport): TSchema {
  let exported: unknown;
  try {
    exported = jsonSchemaOf(schema, mode, write);
  } catch (error) {
    if (error instanceof CallError) throw error;
    throw invalid(
      `the ${nameOf(schema)} schema cannot be expressed as JSON Schema (${mode}): ${messageOf(error)}`,
      error,
    );
  }
  return rememberOriginal(FromSchema(exported), schema);
}

function nameOf(schema: unknown): string {
  return libraryOf(schema)?.name ?? vendorOf(schema) ?? "unknown";
}

function describeSchema(schema: unknown): string {
  const library = libraryOf(schema);
  if (library !== undefined) return `a ${library.name} schema (which ${library.adapter}() converts)`;
  const vendor = vendorOf(schema);
  return vendor === undefined ? describe(schema) : `a schema of the library "${vendor}"`;
}

/** What to do with something that is not a TypeBox schema. */
function adviceAbout(schema: unknown): string {
  if (vendorOf(schema) !== undefined || hasProperty(schema, "_zod")) return "";
  return isRecord(schema) ? ". If it is a JSON Schema, convert it: FromSchema(schema)" : "";
}
