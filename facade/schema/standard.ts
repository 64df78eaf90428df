// Schemas that their own library checks, by the Standard Schema convention (https://standardschema.dev): Zod, Valibot,
// ArkType and others. What such a library makes of a value is what handlers and callers get, so that every rule of a
// schema holds; its JSON Schema is for those who cannot run the library.

import { invalid } from "../errors.js";
import { loadLibrary } from "../interop/host.js";
import { messageOf, pointerToken } from "../interop/text.js";
import type { ValueError } from "./compiled.js";

/**
 * Which side of a schema is meant. Libraries with defaults and transforms have two.
 *
 * @example
 * ```ts
 * const mode: SchemaMode = "output"; // what a schema produces, not what it accepts
 * ```
 */
export type SchemaMode = "input" | "output";

/** What is wrong with a value, as the library says it. */
interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What a library made of a value, or why it could not. */
export type Validated =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

/** The library's own check. Some rules have to wait for something: then it is a promise. */
export type Validate = (value: unknown) => Validated | Promise<Validated>;

/** What a schema has under `~standard`, unchecked. */
interface Standard {
  readonly vendor?: unknown;
  readonly validate?: unknown;
  readonly jsonSchema?: unknown;
}

function standardOf(schema: unknown): Standard | undefined {
  if (!hasProperty(schema, "~standard")) return undefined;
  const standard = schema["~standard"];
  return typeof standard === "object" && standard !== null ? standard : undefined;
}

/** The name that a library gives itself. */
export function vendorOf(schema: unknown): string | undefined {
  const vendor = standardOf(schema)?.vendor;
  return typeof vendor === "string" ? vendor : undefined;
}

/** The library's check of a schema; `undefined` without one. */
export function validatorOf(schema: unknown): Validate | undefined {
  const standard = standardOf(schema);
  if (typeof standard?.validate !== "function") return undefined;
  return (value) => (standard as { validate: Validate }).validate(value);
}

/** Issues in the form of the engine's errors: with JSON Pointers. */
export function errorsOf(issues: readonly Issue[]): ValueError[] {
  // Some libraries' lists are arrays of their own kind, whose `map` makes another of them.
  return Array.from(issues, ({ message, path = [] }) => ({
    path: Array.from(path, segment).join(""),
    message,
  }));
}

function segment(step: PropertyKey | { readonly key: PropertyKey }): string {
  return `/${pointerToken(String(typeof step === "object" ? step.key : step))}`;
}

/** The schemas that were made of others, for those who register them: the rules that no JSON Schema can hold are in the
 * other one. */
const originals = new WeakMap<object, unknown>();

/** Remembers what a converted schema was made of. */
export function rememberOriginal<T extends object>(converted: T, original: unknown): T {
  const known = originals.get(converted);
  // An adapter may answer with one object for several schemas.
  const own =
    known === undefined || known === original
      ? converted
      : (Object.create(Object.getPrototypeOf(converted), Object.getOwnPropertyDescriptors(converted)) as T);
  originals.set(own, original);
  return own;
}

/** The schema itself, or the one that it was made of. */
export function originalOf(schema: unknown): unknown {
  return (typeof schema === "object" && schema !== null ? originals.get(schema) : undefined) ?? schema;
}

/** The dialect that our engine reads by default. */
const TARGET = "draft-2020-12";

/** A library's own way to write a schema as JSON Schema. With `leaveOut`, rules that JSON Schema has no word for are not
 * in it: for a registry, in which the library itself enforces them. Types that it has no word for are always refused. */
export type JsonSchemaExport = (schema: unknown, mode: SchemaMode, leaveOut: boolean) => unknown;

/** A library that has a JSON Schema export outside its schemas. */
export interface Library {
  readonly name: string;
  /** The adapter for it that is exported. */
  readonly adapter: string;
  /** Whether a schema is this library's, found out without loading the library. */
  owns(schema: unknown): boolean;
  /** What to install for its export. */
  readonly packages: string;
  /** The module with the export. */
  readonly module: "zod/v4" | "@valibot/to-json-schema";
  /** The export in that module; `undefined` without one. */
  exportOf(module: Record<string, unknown>): JsonSchemaExport | undefined;
}

export const ZOD: Library = {
  name: "Zod",
  adapter: "zodAdapter",
  packages: "zod@4",
  // Zod 3.25 has it too, and Zod 4 is this very module.
  module: "zod/v4",
  owns: (schema) => vendorOf(schema) === "zod" || hasProperty(schema, "_zod"),
  exportOf: ({ toJSONSchema }) =>
    typeof toJSONSchema === "function"
      ? (schema, mode) => toJSONSchema(schema, { target: TARGET, io: mode })
      : undefined,
};

export const VALIBOT: Library = {
  name: "Valibot",
  adapter: "valibotAdapter",
  packages: "valibot@1 @valibot/to-json-schema@1",
  module: "@valibot/to-json-schema",
  owns: (schema) => vendorOf(schema) === "valibot",
  exportOf: ({ toJsonSchema }) =>
    typeof toJsonSchema === "function"
      ? (schema, mode, leaveOut) =>
          toJsonSchema(schema, {
            target: TARGET,
            typeMode: mode,
            ...(leaveOut && { overrideAction: leftOut }),
          })
      : undefined,
};

/** A rule (an action, in Valibot's words) that could not be written: the schema without it. */
function leftOut({ jsonSchema, errors }: { jsonSchema: unknown; errors: unknown }): unknown {
  return errors === undefined ? undefined : jsonSchema;
}

const LIBRARIES: readonly Library[] = [ZOD, VALIBOT];

export function libraryOf(schema: unknown): Library | undefined {
  return LIBRARIES.find(({ owns }) => owns(schema));
}

/** The JSON Schema of a schema: what it says about itself, or what its library's own export says about it. */
export function jsonSchemaOf(schema: unknown, mode: SchemaMode, write?: JsonSchemaExport): unknown {
  const standard = standardOf(schema)?.jsonSchema;
  if (hasProperty(standard, mode) && typeof standard[mode] === "function") {
    return standard[mode]({ target: TARGET });
  }
  const library = libraryOf(schema);
  if (library === ZOD && !hasProperty(schema, "_zod")) {
    throw invalid(
      "this is a Zod 3 schema, which has no JSON Schema export: use Zod 4, or zod/v4 of zod@3.25",
    );
  }
  if (write !== undefined) return write(schema, mode, false);
  if (library !== undefined) return load(library)(schema, mode, true);
  if (hasProperty(schema, "toJsonSchema") && typeof schema.toJsonSchema === "function") {
    return schema.toJsonSchema();
  }
  throw invalid(
    `the library "${vendorOf(schema)}" has no JSON Schema export, which catalogues and servers need. Give the registry a ` +
      'schemaAdapter whose toTypeBox() converts its schemas, or mark the operation visibility: "internal"',
  );
}

const loaded = new Map<Library, JsonSchemaExport>();

/** Loads a library's export here and now: registration does not wait. */
function load(library: Library): JsonSchemaExport {
  const known = loaded.get(library);
  if (known !== undefined) return known;
  let write: JsonSchemaExport | undefined;
  let reason = "this version has none";
  try {
    write = library.exportOf(loadLibrary(library.module) as Record<string, unknown>);
  } catch (error) {
    reason = messageOf(error).split("\n", 1)[0] as string;
  }
  if (write === undefined) {
    throw invalid(
      `the JSON Schema export of ${library.name} cannot be loaded (npm install ${library.packages}): ${reason}`,
    );
  }
  loaded.set(library, write);
  return write;
}

/** Some libraries' schemas are functions (ArkType), and most have their properties on a prototype. */
export function hasProperty<K extends string>(value: unknown, key: K): value is Record<K, unknown> {
  return ((typeof value === "object" && value !== null) || typeof value === "function") && key in value;
}
