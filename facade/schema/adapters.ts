// Schemas of other libraries as TypeBox schemas, through each library's own JSON Schema export. The
// libraries are optional: they are loaded by `init()` and by nothing else.

import type { TSchema } from "@sinclair/typebox";
import { messageOf } from "../border/text.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import type { TypeBoxSchema } from "../schema-types.js";
import { FromSchema } from "./from-schema.js";
import { describe, isTypeBox1Schema, isTypeBoxSchema } from "./guards.js";

/** Which side of a schema is meant: libraries with defaults and transforms have two. */
export type SchemaMode = "input" | "output";

/** Turns the schemas of a library into TypeBox schemas. */
export interface SchemaAdapter {
  /** Loads what the adapter needs. It may be called any number of times. */
  init?(): Promise<void>;
  /** Converts a schema; TypeBox schemas come back as they are. */
  toTypeBox(schema: unknown, mode?: SchemaMode): TypeBoxSchema;
}

/** The adapter of a library that has to be loaded first. */
export interface LibraryAdapter extends SchemaAdapter {
  init(): Promise<void>;
  toTypeBox(schema: unknown, mode?: SchemaMode): TSchema;
}

/** Accepts TypeBox schemas only: those of 0.34 as they are, those of 1.x as the JSON Schema they are. */
export const defaultAdapter: LibraryAdapter = {
  init: () => Promise.resolve(),
  toTypeBox(schema) {
    const own = fromTypeBox(schema);
    if (own !== undefined) return own;
    const library = LIBRARIES.find(({ owns }) => owns(schema));
    const hint = library === undefined ? "" : `; give the registry a schemaAdapter: ${library.adapter}()`;
    throw invalid(`expected a TypeBox schema, but got ${describeSchema(schema)}${hint}`);
  },
};

/** Accepts Zod 4 schemas besides TypeBox's. */
export function zodAdapter(): LibraryAdapter {
  return libraryAdapter(ZOD);
}

/** Accepts Valibot 1 schemas besides TypeBox's. It needs `@valibot/to-json-schema` too. */
export function valibotAdapter(): LibraryAdapter {
  return libraryAdapter(VALIBOT);
}

/** A library's own way to write a schema as JSON Schema. */
type Export = (schema: unknown, mode: SchemaMode) => unknown;

interface Library {
  name: string;
  adapter: string;
  /** Whether a schema is this library's, told without loading the library. */
  owns(schema: unknown): boolean;
  load(): Promise<Export>;
  /** What to install. */
  packages: string;
}

/** The dialect that our engine reads by default. */
const TARGET = "draft-2020-12";

const ZOD: Library = {
  name: "Zod",
  adapter: "zodAdapter",
  packages: "zod@4",
  owns: (schema) => vendorOf(schema) === "zod" || hasProperty(schema, "_zod"),
  async load() {
    const { toJSONSchema } = await import("zod");
    if (typeof toJSONSchema !== "function") throw new Error("this version of zod has no toJSONSchema");
    return (schema, mode) => toJSONSchema(schema as never, { target: TARGET, io: mode });
  },
};

const VALIBOT: Library = {
  name: "Valibot",
  adapter: "valibotAdapter",
  packages: "valibot@1 @valibot/to-json-schema@1",
  owns: (schema) => vendorOf(schema) === "valibot",
  async load() {
    const { toJsonSchema } = await import("@valibot/to-json-schema");
    return (schema, mode) => toJsonSchema(schema as never, { target: TARGET, typeMode: mode });
  },
};

const LIBRARIES: readonly Library[] = [ZOD, VALIBOT];

function libraryAdapter(library: Library): LibraryAdapter {
  let loading: Promise<Export> | undefined;
  let write: Export | undefined;
  return {
    async init() {
      loading ??= library.load();
      try {
        write = await loading;
      } catch (error) {
        // So that the next attempt, perhaps after an installation, starts afresh.
        loading = undefined;
        throw new CallError(
          InfrastructureErrorCode.EXECUTION_ERROR,
          `${library.adapter}: cannot load its optional peer (npm install ${library.packages}): ${messageOf(error)}`,
          error,
        );
      }
    },
    toTypeBox(schema, mode = "input") {
      const own = fromTypeBox(schema);
      if (own !== undefined) return own;
      if (write === undefined) {
        throw new CallError(
          InfrastructureErrorCode.EXECUTION_ERROR,
          `${library.adapter} is not initialized: call and await its init() first`,
        );
      }
      if (!library.owns(schema)) {
        throw invalid(`not a ${library.name} or TypeBox schema: got ${describeSchema(schema)}`);
      }
      return FromSchema(exported(schema, mode, library, write));
    },
  };
}

function fromTypeBox(schema: unknown): TSchema | undefined {
  if (isTypeBoxSchema(schema)) return schema;
  return isTypeBox1Schema(schema) ? FromSchema(schema) : undefined;
}

/** Standard JSON Schema where the schema offers it, the library's own function elsewhere. */
function exported(schema: unknown, mode: SchemaMode, library: Library, write: Export): unknown {
  try {
    const standard = standardOf(schema)?.jsonSchema;
    if (hasProperty(standard, mode) && typeof standard[mode] === "function") {
      return standard[mode]({ target: TARGET });
    }
    return write(schema, mode);
  } catch (error) {
    throw invalid(
      `the ${library.name} schema cannot be expressed as JSON Schema (${mode}): ${messageOf(error)}`,
      error,
    );
  }
}

function describeSchema(schema: unknown): string {
  const vendor = vendorOf(schema);
  const library = LIBRARIES.find(({ owns }) => owns(schema));
  if (library !== undefined) return `a ${library.name} schema (which ${library.adapter}() converts)`;
  return vendor === undefined ? describe(schema) : `a schema of the library "${vendor}"`;
}

/** The name that a library gives itself by the Standard Schema convention. */
function vendorOf(schema: unknown): string | undefined {
  const vendor = standardOf(schema)?.vendor;
  return typeof vendor === "string" ? vendor : undefined;
}

function standardOf(schema: unknown): Record<string, unknown> | undefined {
  if (!hasProperty(schema, "~standard")) return undefined;
  const standard = schema["~standard"];
  return typeof standard === "object" && standard !== null
    ? (standard as Record<string, unknown>)
    : undefined;
}

/** Some libraries' schemas are functions (ArkType), and most have their properties on a prototype. */
function hasProperty<K extends string>(value: unknown, key: K): value is Record<K, unknown> {
  return ((typeof value === "object" && value !== null) || typeof value === "function") && key in value;
}

function invalid(message: string, details?: unknown): CallError {
  return new CallError(InfrastructureErrorCode.VALIDATION_ERROR, message, details);
}
