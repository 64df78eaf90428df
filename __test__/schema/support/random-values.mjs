// Values near a TypeBox schema: made to pass, then perhaps spoilt in one place.

import { Kind } from "@sinclair/typebox";
import { define } from "../../support/define.mjs";
import { changed } from "./changed-values.mjs";
import { farValue } from "./far-values.mjs";
import {
  KNOWN_FORMATS,
  OWN_FORMAT_TEXTS,
  PATTERNS,
  PLAIN_NAMES,
  REGULAR_EXPRESSIONS,
  TEXTS,
} from "./random-words.mjs";

const FORMAT_TEXTS = { __proto__: null, ...KNOWN_FORMATS, ...OWN_FORMAT_TEXTS };
const DEEPEST = 7;

/** A value for a schema: near it, spoilt, or far from it. */
export function randomValue(random, schema) {
  if (random.chance(0.12)) return farValue(random);
  const value = nearValue(random, schema);
  return random.chance(0.4) ? value : changed(random, value);
}

/** A value that is meant to pass (and may not: some schemas accept nothing). */
export function nearValue(random, schema) {
  return new Nearby(random).make(schema, new Map(), 0);
}

class Nearby {
  #random;

  constructor(random) {
    this.#random = random;
  }

  make(schema, outer, depth) {
    const random = this.#random;
    if (typeof schema !== "object" || schema === null || depth > DEEPEST) return null;
    let scope = outer;
    if (typeof schema.$id === "string") scope = new Map(outer).set(schema.$id, schema);
    const inside = (part) => this.make(part, scope, depth + 1);
    switch (schema[Kind]) {
      case "String":
        return this.#string(schema);
      case "Number":
        return this.#number(schema, random.chance(0.5));
      case "Integer":
        return this.#number(schema, true);
      case "Boolean":
        return random.chance(0.5);
      case "Null":
        return null;
      case "Literal":
        return schema.const;
      case "BigInt":
        return this.#bigint(schema);
      case "Date":
        return new Date(
          schema.minimumTimestamp ?? schema.maximumTimestamp ?? random.pick([0, 1_000, 1.6e12]),
        );
      case "Uint8Array":
        return new Uint8Array(schema.minByteLength ?? Math.min(schema.maxByteLength ?? 2, 2));
      case "Symbol":
        return Symbol("near");
      case "Function":
        return () => 1;
      case "Constructor":
        return this.#classWith(inside(schema.returns));
      case "Promise":
        return Promise.resolve("x");
      case "Iterator":
        return ["x"][Symbol.iterator]();
      case "AsyncIterator":
        return (async function* () {})();
      case "RegExp":
        return random.pick(
          REGULAR_EXPRESSIONS.find(({ expression }) => expression.source === schema.source).good,
        );
      case "TemplateLiteral":
        return random.pick(["on1", "v1.5", "-x", "atrue", "k1"]);
      case "Any":
      case "Unknown":
        return farValue(random);
      case "Undefined":
      case "Void":
        return undefined;
      case "Object":
        return this.#object(schema, inside);
      case "Record":
        return this.#record(schema, inside);
      case "Array":
        return this.#array(schema, inside);
      case "Tuple":
        return (schema.items ?? []).map(inside);
      case "Union":
        return schema.anyOf.length === 0 ? null : this.make(random.pick(schema.anyOf), scope, depth + 1);
      case "Intersect":
        return this.#intersect(schema.allOf.map((part) => this.make(part, scope, depth + 1)));
      case "Not":
        return farValue(random);
      case "This":
      case "Ref":
        return this.make(scope.get(schema.$ref), scope, depth + 1);
      case "Import":
        return this.#import(schema, scope, depth);
      case "test:even":
        return random.pick([0, 2, -4, 1e20]);
      case "test:tagged":
        return { tag: schema.tag };
      default:
        return random.pick(TEXTS).slice(0, 3);
    }
  }

  #import(schema, outer, depth) {
    const scope = new Map(outer);
    for (const definition of Object.values(schema.$defs)) scope.set(definition.$id, definition);
    return this.make(schema.$defs[schema.$ref], scope, depth + 1);
  }

  #classWith(prototype) {
    const result = class {};
    if (typeof prototype !== "object" || prototype === null) return result;
    for (const key of Object.keys(prototype)) define(result.prototype, key, prototype[key]);
    return result;
  }

  #string({ minLength = 0, maxLength = 8, pattern, format }) {
    const random = this.#random;
    const known = PATTERNS.find((each) => each.pattern === pattern) ?? FORMAT_TEXTS[format];
    if (known !== undefined) return random.pick(random.chance(0.85) ? known.good : known.bad);
    const length = random.weighted([
      [3, random.between(minLength, Math.max(minLength, maxLength))],
      [1, minLength],
      [1, maxLength],
      [0.5, minLength - 1],
      [0.5, maxLength + 1],
    ]);
    const text = random.pick(TEXTS);
    if (minLength === 0 && maxLength === 8) return text;
    return `${text}padding text`.slice(0, Math.max(0, length));
  }

  #number(schema, whole) {
    const random = this.#random;
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
    const edges = [minimum, maximum, exclusiveMinimum, exclusiveMaximum].filter((each) => each !== undefined);
    if (edges.length > 0 && random.chance(0.5)) {
      const edge = random.pick(edges);
      const moved = edge + random.pick([0, 0, 1, -1, 0.5, -Number.EPSILON]);
      return whole ? Math.round(moved) : moved;
    }
    if (multipleOf !== undefined && random.chance(0.7)) return multipleOf * random.between(-3, 7);
    const low = Math.max(minimum ?? -5, (exclusiveMinimum ?? -6) + 1);
    const number = low + random.between(0, 6);
    return whole ? Math.round(number) : number + random.pick([0, 0.5, 0.1, 0.25]);
  }

  #bigint({ minimum = -2n, maximum = minimum + 5n }) {
    return this.#random.pick([minimum, maximum, minimum - 1n, maximum + 1n, (minimum + maximum) / 2n]);
  }

  #object(schema, inside) {
    const random = this.#random;
    const value = {};
    const required = new Set(schema.required ?? []);
    for (const key of Object.getOwnPropertyNames(schema.properties)) {
      if (required.has(key) || random.chance(0.6)) define(value, key, inside(schema.properties[key]));
    }
    if (typeof schema.additionalProperties === "object" && random.chance(0.6)) {
      for (const key of random.some(PLAIN_NAMES, 0.2)) {
        if (!Object.hasOwn(schema.properties, key)) define(value, key, inside(schema.additionalProperties));
      }
    }
    return value;
  }

  #record(schema, inside) {
    const random = this.#random;
    const [[pattern, part]] = Object.entries(schema.patternProperties);
    const known = PATTERNS.find((each) => each.pattern === pattern)?.good;
    const keys = known ?? ["0", "1", "-2", "a", "b", "k1", "k2.5", "long name", "__proto__"];
    const value = {};
    for (const key of random.some(keys, 0.3)) {
      if (new RegExp(pattern).test(key) || random.chance(0.1)) define(value, key, inside(part));
    }
    return value;
  }

  #array({ items, minItems = 0, maxItems = minItems + 3, uniqueItems, contains }, inside) {
    const random = this.#random;
    const length = random.pick([minItems, maxItems, random.between(minItems, Math.max(minItems, maxItems))]);
    const value = Array.from({ length }, () => inside(items));
    if (contains !== undefined && length > 0 && random.chance(0.7))
      value[random.below(length)] = inside(contains);
    if (uniqueItems && random.chance(0.5)) return [...new Set(value)];
    return value;
  }

  #intersect(parts) {
    if (parts.length === 0) return {};
    if (!parts.every(isPlainObject)) return this.#random.pick(parts);
    const value = {};
    for (const part of parts) {
      for (const key of Object.keys(part)) define(value, key, part[key]);
    }
    return value;
  }
}

function isPlainObject(value) {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
