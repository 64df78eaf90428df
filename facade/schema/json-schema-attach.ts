// Giving a converted schema its kind without changing how it looks as JSON: what TypeBox needs
// beyond the source's keywords goes into properties that are not enumerable.

import { isRecord } from "../interop/options.js";
import { fullKeywords, type Part, partNode } from "./json-schema-types.js";
import {
  type Dictionary,
  hide,
  isConverted,
  JsonSchemaSource,
  Kind,
  type SchemaNode,
  sourceOf,
} from "./typebox-kinds.js";

/** The keywords that TypeBox reads when it checks a schema of that kind. */
const READS: Readonly<Record<string, readonly string[]>> = {
  Array: ["items", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"],
  Import: ["$ref", "$defs"],
  Integer: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  Intersect: ["allOf", "unevaluatedProperties"],
  Literal: ["const"],
  Not: ["not"],
  Number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  Object: ["properties", "required", "additionalProperties", "minProperties", "maxProperties"],
  Record: ["patternProperties", "additionalProperties", "minProperties", "maxProperties"],
  Ref: ["$ref"],
  String: ["minLength", "maxLength", "pattern", "format"],
  Tuple: ["items", "maxItems"],
  Union: ["anyOf"],
};

/**
 * Makes `node` a schema that means `part`. Answers whether something had to be hidden, so that a
 * copy of the enumerable properties (`{ ...schema }`, `Type.Optional(schema)`) would lose it.
 */
export function attach(node: Dictionary, part: Part): boolean {
  if (fits(node, part)) return put(node, part);
  if (part.kind === "Tuple" && standInForItems(node, part)) return put(node, part);
  const wrapped: Part = { kind: "Intersect", keywords: { allOf: [partNode(part)] } };
  if (fits(node, wrapped)) return put(node, wrapped);
  return attachElsewhere(node, partNode(part));
}

/** Whether TypeBox, reading the keywords that are there, finds what the part means. */
function fits(node: Dictionary, part: Part): boolean {
  const reads = READS[part.kind] ?? [];
  return reads.every(
    (keyword) => !Object.hasOwn(node, keyword) || Object.is(node[keyword], part.keywords[keyword]),
  );
}

function put(node: Dictionary, part: Part): boolean {
  (node as SchemaNode)[Kind] = part.kind;
  let hid = false;
  for (const [keyword, value] of Object.entries(fullKeywords(part))) {
    if (value === undefined || Object.hasOwn(node, keyword)) continue;
    hide(node, keyword, value);
    hid = true;
  }
  return hid;
}

/**
 * Beside `prefixItems`, `items` is about the elements after them, while TypeBox expects the tuple
 * there. The list takes its place and turns back into the original in JSON and for our engine.
 */
function standInForItems(node: Dictionary, part: Part): boolean {
  const rest = node.items;
  if (Array.isArray(rest) || !fits(node, { kind: "Tuple", keywords: { ...part.keywords, items: rest } }))
    return false;
  const list = [...(part.keywords.items as unknown[])];
  const original = isConverted(rest) && !isRecord(sourceOf(rest)) ? sourceOf(rest) : rest;
  hide(list, "toJSON", () => original);
  hide(list, JsonSchemaSource, original);
  node.items = list;
  return true;
}

/**
 * For a node whose own keywords stand in the way of every kind that would fit. An Import looks up
 * its `$ref` among its `$defs`, so the meaning can be kept there, under a hidden name.
 */
function attachElsewhere(node: Dictionary, meaning: SchemaNode): boolean {
  const name = Object.hasOwn(node, "$ref") ? String(node.$ref) : "#";
  const definitions = Object.hasOwn(node, "$defs") ? node.$defs : {};
  if (!isRecord(definitions) || Object.hasOwn(definitions, name))
    return put(node, { kind: "Unknown", keywords: {} });
  hide(definitions, name, meaning);
  return put(node, { kind: "Import", keywords: { $ref: name, $defs: definitions } });
}

/**
 * Adds conditions to an Intersect whose `allOf` must keep its length: they join the first element
 * that `FromSchema` made. Answers whether there was one.
 */
export function joinAllOf(elements: unknown[], parts: readonly Part[]): boolean {
  const position = elements.findIndex((element) => isConverted(element));
  const element = elements[position] as SchemaNode | undefined;
  if (element === undefined) return false;
  const copy: Dictionary = { ...element };
  for (const symbol of Object.getOwnPropertySymbols(copy)) Reflect.deleteProperty(copy, symbol);
  if (Object.hasOwn(element, "toJSON")) hide(copy, "toJSON", element.toJSON);
  const hid = attach(copy, { kind: "Intersect", keywords: { allOf: [element, ...parts.map(partNode)] } });
  mark(copy, sourceOf(element), hid);
  elements[position] = copy;
  return true;
}

/**
 * Leaves the source on the result. Where helpers are hidden the mark is enumerable (JSON does not
 * show symbols anyway), so that a copy which lost the helpers is still known for what it is. So it is
 * where there are patterns: a copy that `Type.Partial` or `Type.Optional` makes must not look like the
 * user's own, whose patterns run on V8 without a bound.
 */
export function mark(node: Dictionary, source: unknown, hidesHelpers: boolean): void {
  Object.defineProperty(node, JsonSchemaSource, {
    value: source,
    writable: true,
    enumerable: hidesHelpers || Object.hasOwn(node, "pattern") || hasForeignNames(node),
    configurable: true,
  });
}

/** The names that `Type.Record` itself writes. */
const RECORD_NAMES: ReadonlySet<string> = new Set(["^(.*)$", "^(0|[1-9][0-9]*)$"]);

function hasForeignNames(node: Dictionary): boolean {
  const patterns = Object.hasOwn(node, "patternProperties") ? node.patternProperties : undefined;
  return isRecord(patterns) && !Object.keys(patterns).every((name) => RECORD_NAMES.has(name));
}

/** The elements as an Intersect that TypeBox may apply `unevaluatedProperties` to, where it can do so correctly. */
export function intersect(elements: unknown[], unevaluated: unknown): Part {
  const counts = unevaluated === false || isRecord(unevaluated);
  const usable = !counts || elements.every(hasPlainNames);
  return {
    kind: "Intersect",
    keywords: { allOf: elements, unevaluatedProperties: usable ? unevaluated : undefined },
  };
}

/** TypeBox puts the property names into a regular expression as they are. */
function hasPlainNames(element: unknown): boolean {
  const node = element as SchemaNode;
  if (node[Kind] === "Intersect") return (node.allOf as unknown[]).every(hasPlainNames);
  if (node[Kind] !== "Object" || !isRecord(node.properties)) return false;
  return Object.getOwnPropertyNames(node.properties).every((name) => /^[\w-]+$/.test(name));
}
