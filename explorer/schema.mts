// What a schema says about the field that a form shows for it. The server is the one that checks values: what is left out
// here (patterns that depend on others, `not`, conditions) is found by it. No DOM: tested without a browser.

import { mergeAll } from "./schema-merge.mjs";
import { isRecord, Root, type Schema, type SchemaObject } from "./schema-root.mjs";

export interface Property {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

export interface Variant {
  readonly label: string;
  readonly schema: Schema;
}

/** What a field is. */
export type Shape =
  /** `isBase64` is a text that holds the content of a file. */
  | {
      readonly kind: "string";
      readonly format?: string;
      readonly isLong: boolean;
      readonly isBase64?: boolean;
    }
  | { readonly kind: "number"; readonly isInteger: boolean }
  | { readonly kind: "boolean" }
  | { readonly kind: "null" }
  | { readonly kind: "bytes" }
  | { readonly kind: "choice"; readonly options: readonly unknown[] }
  | { readonly kind: "constant"; readonly value: unknown }
  /** `rest` is for properties that have no name here; nothing where there can be none. */
  | {
      readonly kind: "object";
      readonly properties: readonly Property[];
      readonly rest?: Schema;
      readonly isOpen: boolean;
    }
  | { readonly kind: "record"; readonly values: Schema }
  | { readonly kind: "list"; readonly items: Schema; readonly least: number; readonly most: number }
  | { readonly kind: "tuple"; readonly items: readonly Schema[]; readonly rest?: Schema }
  | { readonly kind: "union"; readonly variants: readonly Variant[] }
  /** No value at all: the operation takes no input. */
  | { readonly kind: "nothing" }
  /** Whatever JSON can hold. */
  | { readonly kind: "any" };

/** A field, and what is said about it. */
export interface Field {
  readonly shape: Shape;
  readonly isNullable: boolean;
  readonly title?: string;
  readonly description?: string;
  readonly isDeprecated: boolean;
  /** What it is when it is left out. */
  readonly default?: unknown;
  readonly example?: unknown;
  /** Its limits, in a few words each. */
  readonly limits: readonly string[];
}

/** How often a schema may lead to another before a field is anything. */
const DEEPEST = 24;

/** The field for a schema. */
export function fieldOf(schema: Schema, root: Root): Field {
  return root.within(() => makeField(schema, root)) ?? plain({ kind: "any" });
}

function makeField(schema: Schema, root: Root): Field {
  const resolved = expanded(schema, root, 0);
  if (resolved === undefined) return plain({ kind: "any" });
  const { schema: bare, isNullable } = withoutNull(resolved, root);
  const shape = shapeOf(bare, root);
  const word = (name: string) =>
    typeof resolved[name] === "string" ? (resolved[name] as string) : undefined;
  const examples = Array.isArray(resolved.examples) ? resolved.examples : [];
  const example = examples.length > 0 ? examples[0] : resolved.example;
  return {
    shape,
    isNullable: isNullable && shape.kind !== "null" && shape.kind !== "any",
    isDeprecated: resolved.deprecated === true,
    limits: limitsOf(bare),
    ...(word("title") && { title: word("title") as string }),
    ...(word("description") && { description: word("description") as string }),
    ...("default" in resolved && { default: resolved.default }),
    ...(example !== undefined && { example }),
  };
}

function plain(shape: Shape): Field {
  return { shape, isNullable: false, isDeprecated: false, limits: [] };
}

/** A schema with its references followed and its parts (`allOf`) put together; nothing if that cannot be done. */
function expanded(schema: Schema, root: Root, depth: number): SchemaObject | undefined {
  if (depth > DEEPEST || !root.mayGoOn()) return undefined;
  if (schema === true) return {};
  if (!isRecord(schema)) return undefined;
  const parts: SchemaObject[] = [];
  const { allOf, $ref, ...own } = schema;
  if (typeof $ref === "string") {
    const target = root.find($ref);
    const found = target === undefined ? undefined : expanded(target, root, depth + 1);
    if (found === undefined) return undefined;
    parts.push(found);
  }
  for (const part of Array.isArray(allOf) ? allOf : []) {
    const found = expanded(part as Schema, root, depth + 1);
    if (found === undefined) return undefined;
    parts.push(found);
  }
  if (parts.length === 0) return schema;
  return mergeAll([...parts, own]);
}

/** A schema without its way to say `null`. */
function withoutNull(schema: SchemaObject, root: Root): { schema: SchemaObject; isNullable: boolean } {
  if (schema.nullable === true) return { schema, isNullable: true };
  if (Array.isArray(schema.type) && schema.type.includes("null") && schema.type.length > 1) {
    const types = schema.type.filter((type) => type !== "null");
    return { schema: { ...schema, type: types.length === 1 ? types[0] : types }, isNullable: true };
  }
  for (const key of ["anyOf", "oneOf"] as const) {
    const variants = schema[key];
    if (!Array.isArray(variants)) continue;
    const others = variants.filter((variant) => !isNull(variant, root));
    if (others.length === 0 || others.length === variants.length) continue;
    const { [key]: _, ...rest } = schema;
    const [only] = others;
    if (others.length > 1) return { schema: { ...schema, [key]: others }, isNullable: true };
    const inner = expanded(only as Schema, root, 0);
    const merged = inner && mergeAll([inner, rest]);
    return { schema: merged ?? { ...schema, [key]: others }, isNullable: true };
  }
  return { schema, isNullable: false };
}

function isNull(schema: unknown, root: Root): boolean {
  const found = isRecord(schema) ? expanded(schema, root, 0) : undefined;
  return found !== undefined && (found.type === "null" || ("const" in found && found.const === null));
}

function shapeOf(schema: SchemaObject, root: Root): Shape {
  if ("const" in schema) return { kind: "constant", value: schema.const };
  if (Array.isArray(schema.enum)) return choice(schema.enum);
  const union = unionOf(schema, root);
  if (union !== undefined) return union;
  if (schema.format === "binary" && (schema.type ?? "string") === "string") return { kind: "bytes" };
  const type = schema.type ?? impliedType(schema);
  if (Array.isArray(type)) {
    const variants = type.map((each) => ({
      label: typeWord(each),
      schema: { ...schema, type: each } as Schema,
    }));
    return variants.length === 1 && variants[0]
      ? shapeOf(variants[0].schema as SchemaObject, root)
      : { kind: "union", variants };
  }
  switch (type) {
    case "string":
      return stringShape(schema);
    case "number":
    case "integer":
      return { kind: "number", isInteger: type === "integer" };
    case "boolean":
      return { kind: "boolean" };
    case "null":
      return { kind: "null" };
    case "array":
      return listShape(schema);
    case "object":
      return objectShape(schema);
    case "Uint8Array":
      return { kind: "bytes" };
    case "undefined":
    case "void":
      return { kind: "nothing" };
    default:
      return { kind: "any" };
  }
}

function choice(options: readonly unknown[]): Shape {
  return options.length === 1 ? { kind: "constant", value: options[0] } : { kind: "choice", options };
}

/** What a schema without a type is about. */
function impliedType(schema: SchemaObject): string | undefined {
  const has = (...names: string[]) => names.some((name) => name in schema);
  if (has("properties", "required", "additionalProperties", "patternProperties", "propertyNames"))
    return "object";
  if (has("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains")) return "array";
  if (has("pattern", "format", "minLength", "maxLength", "contentEncoding")) return "string";
  if (has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")) return "number";
  return undefined;
}

function stringShape(schema: SchemaObject): Shape {
  const format = typeof schema.format === "string" ? schema.format : undefined;
  const most = typeof schema.maxLength === "number" ? schema.maxLength : 0;
  const isLong =
    most > 200 || typeof schema.contentMediaType === "string" || String(schema.default ?? "").includes("\n");
  const isBase64 = format === "byte" || format === "base64" || schema.contentEncoding === "base64";
  return { kind: "string", isLong, ...(format !== undefined && { format }), ...(isBase64 && { isBase64 }) };
}

function listShape(schema: SchemaObject): Shape {
  const places = Array.isArray(schema.prefixItems)
    ? schema.prefixItems
    : Array.isArray(schema.items)
      ? schema.items
      : undefined;
  if (places !== undefined) {
    const rest = Array.isArray(schema.prefixItems) ? schema.items : schema.additionalItems;
    return { kind: "tuple", items: places as Schema[], ...(isRecord(rest) && { rest }) };
  }
  const count = (name: string, otherwise: number) =>
    typeof schema[name] === "number" ? (schema[name] as number) : otherwise;
  return {
    kind: "list",
    items: isRecord(schema.items) ? schema.items : {},
    least: count("minItems", 0),
    most: count("maxItems", Number.POSITIVE_INFINITY),
  };
}

function objectShape(schema: SchemaObject): Shape {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const patterns = isRecord(schema.patternProperties) ? Object.values(schema.patternProperties) : [];
  const { additionalProperties } = schema;
  const rest =
    patterns[0] ??
    (additionalProperties === true || isRecord(additionalProperties) ? additionalProperties : undefined);
  const named = Object.keys(properties);
  // What is required need not be declared.
  const undeclared = required.filter(
    (name): name is string => typeof name === "string" && !named.includes(name),
  );
  const all = [
    ...named.map((name) => ({
      name,
      schema: properties[name] as Schema,
      isRequired: required.includes(name),
    })),
    ...undeclared.map((name) => ({ name, schema: true as Schema, isRequired: true })),
  ];
  if (all.length === 0 && rest !== undefined) return { kind: "record", values: rest as Schema };
  if (all.length === 0 && additionalProperties !== false && !("properties" in schema)) {
    return { kind: "record", values: true };
  }
  const isOpen = additionalProperties !== false && schema.unevaluatedProperties !== false;
  return { kind: "object", properties: all, isOpen, ...(rest !== undefined && { rest: rest as Schema }) };
}

function unionOf(schema: SchemaObject, root: Root): Shape | undefined {
  for (const key of ["anyOf", "oneOf"] as const) {
    const given = schema[key];
    if (!Array.isArray(given) || given.length === 0) continue;
    const { [key]: _, ...base } = schema;
    const variants = given.flatMap((variant) => {
      const found = expanded(variant as Schema, root, 0);
      return found === undefined ? [] : [{ variant: variant as Schema, found }];
    });
    // Variants that only say which properties must be there add nothing that a form could show.
    if (variants.every(({ found }) => saysNothingNew(found))) continue;
    const constants = variants.map(({ found }) => constantsOf(found));
    if (constants.every((list) => list !== undefined) && !hasShape(base)) return choice(constants.flat());
    const all = variants.map(({ variant, found }, index) => ({
      label: labelOf(variant, found, root) ?? `Variant ${index + 1}`,
      schema: hasShape(base) ? ({ allOf: [base, variant] } as Schema) : variant,
    }));
    const [only] = all;
    if (all.length === 1 && only) return fieldOf(only.schema, root).shape;
    return { kind: "union", variants: distinct(all) };
  }
  return undefined;
}

function constantsOf(schema: SchemaObject): readonly unknown[] | undefined {
  if ("const" in schema) return [schema.const];
  return Array.isArray(schema.enum) ? schema.enum : undefined;
}

const SHAPING = [
  "type",
  "properties",
  "items",
  "prefixItems",
  "const",
  "enum",
  "anyOf",
  "oneOf",
  "$ref",
  "allOf",
  "format",
  "pattern",
];
const hasShape = (schema: SchemaObject): boolean =>
  ["properties", "items", "prefixItems", "required"].some((name) => name in schema);
const saysNothingNew = (schema: SchemaObject): boolean => SHAPING.every((name) => !(name in schema));

/** What a variant is called: by its title, by the constant that marks it, by its name, or by what it is. */
function labelOf(variant: Schema, found: SchemaObject, root: Root): string | undefined {
  if (typeof found.title === "string" && found.title !== "") return found.title;
  const { shape } = fieldOf(found, root);
  if (shape.kind === "object") {
    const marks = shape.properties.flatMap(({ schema, isRequired }) => {
      const inner = isRequired ? fieldOf(schema, root).shape : undefined;
      return inner?.kind === "constant" ? [String(inner.value)] : [];
    });
    if (marks.length > 0) return marks.join(" · ");
  }
  if (isRecord(variant) && typeof variant.$ref === "string") {
    const name = variant.$ref.split("/").pop() ?? "";
    if (/^[A-Za-z]\w*$/.test(name) && !/^T\d+$/.test(name)) return name;
  }
  if (shape.kind === "object") {
    const names = shape.properties.map(({ name }) => name);
    return names.length === 0 ? "object" : `object with ${names.slice(0, 3).join(", ")}`;
  }
  return shapeWord(shape);
}

/** Labels of which no two are the same. */
function distinct(variants: readonly Variant[]): Variant[] {
  const seen = new Map<string, number>();
  return variants.map(({ label, schema }) => {
    const count = (seen.get(label) ?? 0) + 1;
    seen.set(label, count);
    return { label: count === 1 ? label : `${label} (${count})`, schema };
  });
}

const typeWord = (type: unknown): string =>
  type === "array" ? "list" : type === "string" ? "text" : String(type);

/** What a field is, in a word or two. */
export function shapeWord(shape: Shape): string {
  switch (shape.kind) {
    case "string":
      return shape.format ?? (shape.isBase64 ? "base64" : "text");
    case "number":
      return shape.isInteger ? "integer" : "number";
    case "constant":
      return JSON.stringify(shape.value) ?? "constant";
    case "choice":
      return `one of ${shape.options.length}`;
    case "object":
      return "object";
    case "bytes":
      return "binary";
    case "union":
      return `one of ${shape.variants.length} kinds`;
    case "any":
      return "any JSON";
    default:
      return shape.kind;
  }
}

/** Longer patterns say nothing to a reader who knows the format. */
const READABLE = 60;

/** What Zod adds by itself: the bounds of a safe integer, and the pattern of a format. */
function isNoise(name: string, value: unknown, { format }: SchemaObject): boolean {
  if (name === "minimum") return value === Number.MIN_SAFE_INTEGER;
  if (name === "maximum") return value === Number.MAX_SAFE_INTEGER;
  return name === "pattern" && typeof format === "string" && String(value).length > READABLE;
}

function limitsOf(schema: SchemaObject): string[] {
  const limits: string[] = [];
  const say = (name: string, text: (value: string) => string) => {
    const value = schema[name];
    if (isNoise(name, value, schema)) return;
    if (typeof value === "number" || typeof value === "string") limits.push(text(String(value)));
  };
  say("minimum", (value) => `at least ${value}`);
  say("exclusiveMinimum", (value) => `more than ${value}`);
  say("maximum", (value) => `at most ${value}`);
  say("exclusiveMaximum", (value) => `less than ${value}`);
  say("multipleOf", (value) => (value === "1" ? "whole" : `a multiple of ${value}`));
  say("minLength", (value) => (value === "1" ? "not empty" : `at least ${value} characters`));
  say("maxLength", (value) => `at most ${value} characters`);
  say("pattern", (value) => `matches ${value}`);
  say("minItems", (value) => `at least ${value} items`);
  say("maxItems", (value) => `at most ${value} items`);
  if (schema.uniqueItems === true) limits.push("no item twice");
  return limits;
}

export { isRecord, Root, type Schema, type SchemaObject };
