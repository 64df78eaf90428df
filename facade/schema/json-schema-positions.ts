// Where the sub-schemas of a JSON Schema are. Only these positions are followed: a property that
// happens to be called "$ref", or a default value that looks like a schema, means nothing.

/** How a keyword holds sub-schemas. */
export type Position = "schema" | "list" | "map" | "schema or list";

/** The keywords that hold sub-schemas, in every draft from 4 to 2020-12. */
export const POSITIONS: ReadonlyMap<string, Position> = new Map<string, Position>([
  ["$defs", "map"],
  ["additionalItems", "schema"],
  ["additionalProperties", "schema"],
  ["allOf", "list"],
  ["anyOf", "list"],
  ["contains", "schema"],
  ["contentSchema", "schema"],
  ["definitions", "map"],
  ["dependencies", "map"],
  ["dependentSchemas", "map"],
  ["else", "schema"],
  ["if", "schema"],
  ["items", "schema or list"],
  ["not", "schema"],
  ["oneOf", "list"],
  ["patternProperties", "map"],
  ["prefixItems", "list"],
  ["properties", "map"],
  ["propertyNames", "schema"],
  ["then", "schema"],
  ["unevaluatedItems", "schema"],
  ["unevaluatedProperties", "schema"],
]);

/**
 * Keywords whose boolean stays a boolean: TypeBox reads `additionalProperties: false` and its like
 * as they are, and never looks at the others.
 */
export const BOOLEAN_STAYS: ReadonlySet<string> = new Set([
  "additionalItems",
  "additionalProperties",
  "contentSchema",
  "else",
  "if",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

/** Keywords that describe and do not constrain: a schema made of these alone accepts everything. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  "$anchor",
  "$comment",
  "$defs",
  "$dynamicAnchor",
  "$id",
  "$recursiveAnchor",
  "$schema",
  "$vocabulary",
  "contentEncoding",
  "contentMediaType",
  "contentSchema",
  "default",
  "definitions",
  "deprecated",
  "description",
  "discriminator",
  "example",
  "examples",
  "externalDocs",
  "id",
  "nullable",
  "readOnly",
  "title",
  "writeOnly",
  "xml",
]);

/** Whether a keyword leaves the set of valid values alone. */
export function isAnnotation(keyword: string): boolean {
  return ANNOTATIONS.has(keyword) || keyword.startsWith("x-") || keyword.startsWith("~");
}
