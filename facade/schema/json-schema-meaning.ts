// What a JSON Schema asks of a value, as TypeBox kinds that must all hold.

import { isRecord } from "../interop/options.js";
import {
  allOf,
  anyOf,
  bareTypePart,
  constantPart,
  type Part,
  partNode,
  type Reading,
  type TypeWord,
  typePart,
} from "./json-schema-types.js";
import type { Dictionary } from "./typebox-kinds.js";

const TYPE_WORDS: readonly string[] = ["string", "number", "integer", "boolean", "null", "array", "object"];

/** Keywords that name the type of the value even where `type` is missing. */
const TYPE_NAMING: readonly (readonly [TypeWord, readonly string[]])[] = [
  ["object", ["properties", "patternProperties"]],
  ["array", ["prefixItems", "items"]],
];

/** Keywords that say something about values of one type, and nothing about the others. */
const TYPE_LIMITING: readonly (readonly [TypeWord, readonly string[]])[] = [
  ["object", ["required", "additionalProperties", "minProperties", "maxProperties"]],
  ["array", ["minItems", "maxItems", "uniqueItems", "contains"]],
  ["string", ["minLength", "maxLength", "pattern"]],
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]],
];

/** What a schema asks, apart from `$ref` and `allOf`, which need to know the document. */
export interface Meaning {
  /** Conditions that must all hold. */
  parts: Part[];
  /** OpenAPI's `nullable`, where the parts do not already allow null. */
  nullable: boolean;
}

/** Reads `type`, `const`, `enum`, `anyOf`, `oneOf`, `not` and the keywords about single types. */
export function meaningOf(reading: Reading, alone: boolean): Meaning {
  const { raw, node } = reading;
  const logic: Part[] = [];
  for (const keyword of ["anyOf", "oneOf"]) {
    if (Array.isArray(node[keyword])) logic.push({ kind: "Union", keywords: { anyOf: node[keyword] } });
  }
  if (isRecord(node.not)) logic.push({ kind: "Not", keywords: { not: node.not } });

  const nullable = raw.nullable === true;
  const own = ownAlternatives(reading);
  if (own === undefined) {
    return { parts: [...logic, ...limits(reading)], nullable };
  }
  if (own.length === 1 && own[0] !== undefined && isImplied(own[0], raw)) return { parts: logic, nullable };
  if (alone && logic.length === 0 && nullable) {
    const hasNull = own.some((part) => part.kind === "Null");
    return { parts: [anyOf(hasNull ? own : [...own, bareTypePart("null")])], nullable: false };
  }
  return { parts: [anyOf(own), ...logic], nullable };
}

/** The conditions as one, null let through where `nullable` says so; undefined when there are none. */
export function combine({ parts, nullable }: Meaning): Part | undefined {
  const [first, ...others] = parts;
  if (first === undefined) return undefined;
  const together = allOf([first, ...others]);
  return nullable ? anyOf([together, bareTypePart("null")]) : together;
}

/** The kinds of value that `const`, `enum`, `type` or a type-naming keyword leave; undefined for all. */
function ownAlternatives(reading: Reading): Part[] | undefined {
  const { raw } = reading;
  const words = typeWords(raw.type);
  const constants = constantsOf(raw);
  if (constants !== undefined) {
    const fitting = words === undefined ? constants : constants.filter((value) => isOfType(value, words));
    return fitting.map((value) => constantPart(value));
  }
  const named =
    words ??
    TYPE_NAMING.filter(([, keywords]) => keywords.some((keyword) => isSubSchema(raw[keyword]))).map(
      ([word]) => word,
    );
  if (words === undefined && named.length === 0) return undefined;
  return named.map((word) => typePart(word, reading));
}

function isSubSchema(value: unknown): boolean {
  return typeof value === "boolean" || (typeof value === "object" && value !== null);
}

function constantsOf(raw: Readonly<Dictionary>): readonly unknown[] | undefined {
  if (Object.hasOwn(raw, "const") && raw.const !== undefined) return [raw.const];
  return Array.isArray(raw.enum) ? raw.enum : undefined;
}

/** The types that are allowed; undefined when there is no usable `type`. */
function typeWords(type: unknown): readonly TypeWord[] | undefined {
  const words = Array.isArray(type) ? [...new Set<unknown>(type)] : [type];
  return words.every((word) => TYPE_WORDS.includes(word as string)) ? (words as TypeWord[]) : undefined;
}

/** Whether `type` is there and says something that is no JSON type. */
export function hasForeignType(raw: Readonly<Dictionary>): boolean {
  return raw.type !== undefined && typeWords(raw.type) === undefined;
}

function isOfType(value: unknown, words: readonly TypeWord[]): boolean {
  if (value === null) return words.includes("null");
  if (Array.isArray(value)) return words.includes("array");
  if (typeof value === "number") {
    return words.includes("number") || (words.includes("integer") && Number.isInteger(value));
  }
  return words.includes(typeof value as TypeWord);
}

/** Conditions on values of one type that let values of every other type through. */
function limits(reading: Reading): Part[] {
  const parts: Part[] = [];
  for (const [word, keywords] of TYPE_LIMITING) {
    if (!keywords.some((keyword) => isLimit(keyword, reading.raw[keyword]))) continue;
    const others: Part = { kind: "Not", keywords: { not: partNode(bareTypePart(word)) } };
    parts.push(anyOf([typePart(word, reading), others]));
  }
  return parts;
}

function isLimit(keyword: string, value: unknown): boolean {
  switch (keyword) {
    case "required":
      return Array.isArray(value) && value.length > 0;
    case "additionalProperties":
      return value === false || isRecord(value);
    case "uniqueItems":
      return value === true;
    case "contains":
      return isSubSchema(value);
    case "pattern":
      return typeof value === "string";
    default:
      return typeof value === "number";
  }
}

/** Whether a bare `type` repeats what every alternative says: then the alternatives are the meaning. */
function isImplied(own: Part, raw: Readonly<Dictionary>): boolean {
  const word = raw.type;
  if (typeof word !== "string" || constantsOf(raw) !== undefined) return false;
  const bare = bareTypePart(word as TypeWord);
  const limited = Object.keys(own.keywords).some(
    (keyword) => own.keywords[keyword] !== undefined && raw[keyword] !== undefined,
  );
  if (own.kind !== bare.kind || limited) return false;
  const says = (schema: unknown): boolean =>
    isRecord(schema) && (schema.type === word || (word === "object" && isRecord(schema.properties)));
  const lists = [raw.anyOf, raw.oneOf].filter(
    (list): list is unknown[] => Array.isArray(list) && list.length > 0,
  );
  return lists.some((list) => list.every(says)) || (Array.isArray(raw.allOf) && raw.allOf.some(says));
}
