// The TypeBox kinds that stand for one JSON type each, with the keywords that TypeBox reads for
// them. A keyword that TypeBox would misread (a boolean `exclusiveMinimum`, a pattern that does not
// compile, `required: true`) is left out here: then it stays on the result for everyone else, and
// TypeBox does not see it.

import { isRecord } from "../interop/options.js";
import { type Dictionary, hide, type SchemaNode, schemaNode, setOwn } from "./typebox-kinds.js";

/** A TypeBox kind and the keywords it needs. */
export interface Part {
  kind: string;
  keywords: Dictionary;
}

/** A JSON Schema while it is being converted. */
export interface Reading {
  /** The keywords as the source has them. */
  raw: Readonly<Dictionary>;
  /** The same keywords with converted sub-schemas: what becomes the result. */
  node: Dictionary;
}

/** The words of the `type` keyword. */
export type TypeWord = "string" | "number" | "integer" | "boolean" | "null" | "array" | "object";

/** The `type` that TypeBox's own builder gives a kind; TypeBox's compiler insists on it. */
const TYPE_OF_KIND: Readonly<Record<string, string>> = {
  Array: "array",
  Boolean: "boolean",
  Integer: "integer",
  Null: "null",
  Number: "number",
  Object: "object",
  Record: "object",
  String: "string",
  Tuple: "array",
};

/** All keywords that TypeBox's own builder would give the part. */
export function fullKeywords({ kind, keywords }: Part): Dictionary {
  const type = kind === "Literal" ? typeof keywords.const : TYPE_OF_KIND[kind];
  return { type, ...keywords };
}

/** A part as a schema of its own. */
export function partNode(part: Part): SchemaNode {
  return schemaNode(part.kind, fullKeywords(part));
}

/** One part that means any of several. */
export function anyOf(parts: readonly Part[]): Part {
  const [first, ...others] = parts;
  if (first === undefined) return { kind: "Never", keywords: { not: {} } };
  return others.length === 0 ? first : { kind: "Union", keywords: { anyOf: parts.map(partNode) } };
}

/** One part that means all of several; there has to be at least one. */
export function allOf(parts: readonly [Part, ...Part[]]): Part {
  return parts.length === 1 ? parts[0] : { kind: "Intersect", keywords: { allOf: parts.map(partNode) } };
}

/** The kind for a JSON type, with the keywords about that type. */
export function typePart(word: TypeWord, reading: Reading): Part {
  switch (word) {
    case "string":
      return stringPart(reading.raw);
    case "number":
      return numberPart("Number", reading.raw);
    case "integer":
      return numberPart("Integer", reading.raw);
    case "boolean":
      return { kind: "Boolean", keywords: {} };
    case "null":
      return { kind: "Null", keywords: {} };
    case "array":
      return arrayPart(reading);
    case "object":
      return objectPart(reading);
  }
}

/** The kind for a JSON type without any further condition. */
export function bareTypePart(word: TypeWord): Part {
  return typePart(word, { raw: {}, node: {} });
}

function stringPart(raw: Readonly<Dictionary>): Part {
  return {
    kind: "String",
    keywords: {
      minLength: numeric(raw.minLength),
      maxLength: numeric(raw.maxLength),
      pattern: isPattern(raw.pattern) ? raw.pattern : undefined,
      format: typeof raw.format === "string" ? raw.format : undefined,
    },
  };
}

function numberPart(kind: "Number" | "Integer", raw: Readonly<Dictionary>): Part {
  const minimum = numeric(raw.minimum);
  const maximum = numeric(raw.maximum);
  // Draft 4 and OpenAPI 3.0: a boolean that says how to read the bound beside it.
  const aboveMinimum = raw.exclusiveMinimum === true;
  const belowMaximum = raw.exclusiveMaximum === true;
  return {
    kind,
    keywords: {
      minimum: aboveMinimum ? undefined : minimum,
      maximum: belowMaximum ? undefined : maximum,
      exclusiveMinimum: aboveMinimum ? minimum : numeric(raw.exclusiveMinimum),
      exclusiveMaximum: belowMaximum ? maximum : numeric(raw.exclusiveMaximum),
      multipleOf: numeric(raw.multipleOf),
    },
  };
}

function arrayPart({ raw, node }: Reading): Part {
  const positions = [node.prefixItems, node.items].find((list) => Array.isArray(list)) as
    | unknown[]
    | undefined;
  if (positions !== undefined) {
    const length = positions.length;
    return {
      kind: "Tuple",
      keywords: { items: positions, minItems: length, maxItems: length, additionalItems: false },
    };
  }
  // TypeBox counts `minContains: 0` as one, and asks for a match even where `contains` is missing.
  const contains = isRecord(node.contains) && raw.minContains !== 0 ? node.contains : undefined;
  return {
    kind: "Array",
    keywords: {
      items: isRecord(node.items) ? node.items : schemaNode("Unknown"),
      minItems: numeric(raw.minItems),
      maxItems: numeric(raw.maxItems),
      uniqueItems: typeof raw.uniqueItems === "boolean" ? raw.uniqueItems : undefined,
      contains,
      minContains: contains && numeric(raw.minContains),
      maxContains: contains && numeric(raw.maxContains),
    },
  };
}

function objectPart({ raw, node }: Reading): Part {
  const properties = isRecord(node.properties) ? node.properties : {};
  const names = Object.keys(properties);
  const required = Array.isArray(raw.required) ? raw.required : undefined;
  declareRequired(properties, required);
  const additional = node.additionalProperties;
  const additionalProperties =
    typeof additional === "boolean" || isRecord(additional) ? additional : undefined;
  const minProperties = numeric(raw.minProperties);
  const maxProperties = numeric(raw.maxProperties);
  const size = { minProperties, maxProperties };
  const object = (additions: unknown): Part => ({
    kind: "Object",
    keywords: { properties, required, additionalProperties: additions, ...size },
  });

  const patterns = Object.entries(isRecord(node.patternProperties) ? node.patternProperties : {});
  const declares = Object.getOwnPropertyNames(properties).length > 0;
  const closed = additionalProperties !== undefined && additionalProperties !== true;
  const usable = patterns.filter(([pattern]) => isPattern(pattern));
  if (!declares && patterns.length === 1 && usable.length === 1) {
    return {
      kind: "Record",
      keywords: { patternProperties: node.patternProperties, additionalProperties, ...size },
    };
  }
  // TypeBox's Object knows no patterns. It may ignore them, unless it would refuse what they allow.
  if (patterns.length === 0 || (declares && !closed)) return object(additionalProperties);
  const records = usable.map(([pattern, schema]) => record(pattern, schema, undefined));
  const known = knownNames(names, patterns);
  if (closed && known !== undefined) records.push(record(known, schemaNode("Unknown"), additionalProperties));
  return allOf([object(undefined), ...records]);
}

function record(pattern: string, schema: unknown, additionalProperties: unknown): Part {
  return { kind: "Record", keywords: { patternProperties: { [pattern]: schema }, additionalProperties } };
}

/** TypeBox asks only for required properties that are declared too; the others get a hidden declaration. */
function declareRequired(properties: Dictionary, required: readonly unknown[] | undefined): void {
  for (const name of required ?? []) {
    if (typeof name === "string" && !Object.hasOwn(properties, name))
      hide(properties, name, schemaNode("Unknown"));
  }
}

/** One pattern for all names that are declared or match a pattern. */
function knownNames(
  names: readonly string[],
  patterns: readonly (readonly [string, unknown])[],
): string | undefined {
  const literal = names.map((name) => name.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  const combined = [...patterns.map(([pattern]) => `(?:${pattern})`), `^(?:${literal.join("|")})$`].join("|");
  return isPattern(combined) ? combined : undefined;
}

/** The kind that accepts this JSON value only. */
export function constantPart(value: unknown, depth = 0): Part {
  if (value === null) return { kind: "Null", keywords: {} };
  if (typeof value !== "object") return { kind: "Literal", keywords: { const: value } };
  // Constants as deep as this are no longer constants but attacks.
  if (depth > 64) return { kind: "Unknown", keywords: {} };
  if (Array.isArray(value)) {
    const items = value.map((item) => partNode(constantPart(item, depth + 1)));
    return { kind: "Tuple", keywords: { items, minItems: items.length, maxItems: items.length } };
  }
  const properties: Dictionary = {};
  const required = Object.keys(value);
  for (const name of required) {
    setOwn(properties, name, partNode(constantPart((value as Dictionary)[name], depth + 1)));
  }
  return { kind: "Object", keywords: { properties, required, additionalProperties: false } };
}

function numeric(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** Whether TypeBox can compile the pattern, which it does without flags. */
function isPattern(value: unknown): value is string {
  if (typeof value !== "string") return false;
  try {
    new RegExp(value);
    return true;
  } catch {
    return false;
  }
}
