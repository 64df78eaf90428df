// JSON that is meant to pass a JSON Schema, as far as one can tell from looking at its keywords.

import { define } from "../../support/define.mjs";
import { jsonValue } from "./random-json-schemas.mjs";
import { KNOWN_FORMATS, PATTERNS, PLAIN_NAMES, TEXTS } from "./random-words.mjs";

const DEEPEST = 6;

export function nearJson(random, schema, root = schema, depth = 0) {
  if (typeof schema !== "object" || schema === null || depth > DEEPEST) return jsonValue(random, 2);
  const inside = (part) => nearJson(random, part, root, depth + 1);
  if (typeof schema.$ref === "string") return inside(lookUp(root, schema.$ref));
  if ("const" in schema) return schema.const;
  if (Array.isArray(schema.enum)) return random.pick(schema.enum);
  const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  const chosen = choices && inside(random.pick(choices));
  const own = ofType(random, schema, inside);
  if (!isObject(chosen) || !isObject(own))
    return chosen !== undefined && schema.type === undefined ? chosen : own;
  return merged(own, chosen);
}

function ofType(random, schema, inside) {
  const type = Array.isArray(schema.type)
    ? random.pick(schema.type)
    : (schema.type ?? impliedType(random, schema));
  switch (type) {
    case "null":
      return null;
    case "boolean":
      return random.chance(0.5);
    case "integer":
    case "number":
      return number(random, schema, type === "integer");
    case "string":
      return text(random, schema);
    case "array":
      return array(random, schema, inside);
    case "object":
      return object(random, schema, inside);
    default:
      return jsonValue(random);
  }
}

function impliedType(random, schema) {
  if (schema.properties || schema.required || schema.patternProperties) return "object";
  if (schema.items || schema.prefixItems || schema.contains) return "array";
  if (schema.pattern || schema.format || schema.maxLength !== undefined) return "string";
  if (schema.minimum !== undefined || schema.maximum !== undefined || schema.multipleOf) return "number";
  return random.pick(["any", "string", "number", "object"]);
}

function number(random, { minimum, maximum, multipleOf }, whole) {
  if (multipleOf && random.chance(0.7)) return multipleOf * random.between(-2, 8);
  const edge = random.pick([minimum, maximum, 0].filter((each) => each !== undefined));
  const value = edge + random.pick([0, 1, -1, 0.5]);
  return whole ? Math.round(value) + 0 : value;
}

function text(random, { minLength = 0, maxLength = 6, pattern, format }) {
  const known =
    PATTERNS.find((each) => each.pattern === pattern) ??
    (Object.hasOwn(KNOWN_FORMATS, format ?? "") ? KNOWN_FORMATS[format] : undefined);
  if (known !== undefined) return random.pick(random.chance(0.8) ? known.good : known.bad);
  const characters = [...random.pick(TEXTS), ..."padding"];
  return characters.slice(0, random.between(minLength, Math.max(minLength, maxLength))).join("");
}

function array(random, schema, inside) {
  const list = schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : []);
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
  const value = list.map(inside);
  const { minItems = 0, maxItems = minItems + 3 } = schema;
  const length = random.between(minItems, Math.max(minItems, maxItems));
  while (value.length < length) value.push(rest === undefined ? jsonValue(random, 2) : inside(rest));
  if (schema.contains !== undefined && random.chance(0.8)) value.push(inside(schema.contains));
  return random.chance(0.9) ? value.slice(0, Math.max(length, list.length)) : value;
}

function object(random, schema, inside) {
  const { properties = {}, required = [], additionalProperties, patternProperties = {} } = schema;
  const value = {};
  for (const name of Object.keys(properties)) {
    if (required.includes(name) || random.chance(0.6)) define(value, name, inside(properties[name]));
  }
  for (const name of required) {
    if (!Object.hasOwn(value, name)) define(value, name, jsonValue(random, 2));
  }
  for (const [pattern, part] of Object.entries(patternProperties)) {
    const names = PATTERNS.find((each) => each.pattern === pattern).good;
    if (random.chance(0.5)) define(value, random.pick(names), inside(part));
  }
  if (additionalProperties !== false && random.chance(0.4)) {
    define(value, random.pick(PLAIN_NAMES), inside(additionalProperties));
  }
  return value;
}

/** Local pointers whose names need no unescaping. */
function lookUp(root, reference) {
  return reference
    .split("/")
    .slice(1)
    .reduce((place, name) => place?.[name], root);
}

function merged(left, right) {
  const result = {};
  for (const part of [left, right]) {
    for (const name of Object.keys(part)) define(result, name, part[name]);
  }
  return result;
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
