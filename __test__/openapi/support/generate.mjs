// Inputs that a JSON Schema accepts, as far as a simple generator gets.

import { define } from "../../support/define.mjs";
import { sampleOf } from "./pattern-sample.mjs";

/** There is no value, or none that this generator finds. */
export class NoValue extends Error {}

/** Limits that keep values of large schemas small. */
const MAX_DEPTH = 24;
const OPTIONAL_DEPTH = 3;
const MAX_NODES = 5000;

/** A value for a self-contained schema (references lead into its `$defs`). */
export function generate(schema, random, { optional = 0.5 } = {}) {
  return new Generator(schema, random, optional).value(schema, 0);
}

const FORMATS = {
  date: "2024-02-29",
  "date-time": "2024-02-29T12:34:56Z",
  time: "12:34:56Z",
  duration: "P1D",
  email: "a@example.com",
  "idn-email": "a@example.com",
  uuid: "9b2fdb1a-7f0f-4a55-9cf3-1b3f6d1d2c11",
  uri: "https://example.com/a?b=c",
  url: "https://example.com/a?b=c",
  iri: "https://example.com/a",
  "uri-reference": "/a/b",
  "iri-reference": "/a/b",
  "uri-template": "/a/{b}",
  hostname: "example.com",
  "idn-hostname": "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  "json-pointer": "/a/0",
  "relative-json-pointer": "1/a",
  regex: "^a$",
  byte: "YWJj",
};

class Generator {
  #root;
  #random;
  #optional;
  #nodes = 0;

  constructor(root, random, optional) {
    this.#root = root;
    this.#random = random;
    this.#optional = optional;
  }

  value(schema, depth) {
    this.#nodes += 1;
    if (depth > MAX_DEPTH || this.#nodes > MAX_NODES) throw new NoValue("too deep");
    if (schema === true) return "any";
    if (schema === false || typeof schema !== "object" || schema === null) throw new NoValue("nothing fits");
    const whole = this.#flat(schema, 0);
    if ("const" in whole) return whole.const;
    if (Array.isArray(whole.enum))
      return this.#pick(whole.enum.filter((one) => one !== null || whole.enum.length === 1));
    switch (typeOf(whole)) {
      case "object":
        return this.#object(whole, depth);
      case "array":
        return this.#array(whole, depth);
      case "integer":
      case "number":
        return number(whole, typeOf(whole) === "integer", this.#random);
      case "boolean":
        return this.#random() < 0.5;
      case "null":
        return null;
      case "bytes":
        return new Uint8Array([0, 255, 13, 10, 1]);
      case "any":
        return "any";
      default:
        return this.#string(whole);
    }
  }

  #pick(list) {
    if (list.length === 0) throw new NoValue("an empty list");
    return list[Math.floor(this.#random() * list.length)];
  }

  #resolve(reference) {
    const match = /^#\/\$defs\/(.+)$/.exec(reference);
    const target = match && this.#root.$defs?.[match[1].replaceAll("~1", "/").replaceAll("~0", "~")];
    if (target === undefined || target === null) throw new NoValue(`no ${reference}`);
    return target;
  }

  /** The schema with references and combinations replaced by what they come to. */
  #flat(schema, steps) {
    if (steps > 50) throw new NoValue("references without an end");
    if (schema === true) return {};
    if (schema === false) throw new NoValue("nothing fits");
    const { $ref, allOf, anyOf, oneOf, ...own } = schema;
    const parts = [own];
    if (typeof $ref === "string") parts.push(this.#flat(this.#resolve($ref), steps + 1));
    for (const branch of allOf ?? []) parts.push(this.#flat(branch, steps + 1));
    for (const list of [anyOf, oneOf]) {
      if (!Array.isArray(list)) continue;
      const chosen = this.#pick(list.filter((variant) => variant?.type !== "null" || list.length === 1));
      parts.push(this.#flat(chosen, steps + 1));
    }
    return parts.length === 1 ? own : parts.reduce(merge);
  }

  #object(schema, depth) {
    const result = {};
    const properties = schema.properties ?? {};
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    for (const name of new Set([...Object.keys(properties), ...required])) {
      const property = Object.hasOwn(properties, name)
        ? properties[name]
        : (schema.additionalProperties ?? true);
      if (required.has(name)) {
        define(result, name, this.value(property, depth + 1));
      } else if (depth < OPTIONAL_DEPTH && this.#random() < this.#optional && property?.readOnly !== true) {
        // What cannot be made need not be there.
        try {
          define(result, name, this.value(property, depth + 1));
        } catch (error) {
          if (!(error instanceof NoValue)) throw error;
        }
      }
    }
    const free = schema.additionalProperties ?? true;
    for (let index = 0; Object.keys(result).length < (schema.minProperties ?? 0) && index < 50; index++) {
      const missing = Object.keys(properties).find((name) => !Object.hasOwn(result, name));
      if (missing !== undefined) define(result, missing, this.value(properties[missing], depth + 1));
      else if (free !== false) define(result, `key${index}`, this.value(free, depth + 1));
      else break;
    }
    return result;
  }

  #array(schema, depth) {
    const tuple = Array.isArray(schema.prefixItems)
      ? schema.prefixItems
      : Array.isArray(schema.items)
        ? schema.items
        : [];
    const items = Array.isArray(schema.items) ? (schema.additionalItems ?? true) : (schema.items ?? true);
    const least = Math.max(schema.minItems ?? 0, tuple.length);
    const wanted = Math.min(Math.max(least, depth < 4 ? 2 : 0), schema.maxItems ?? Number.POSITIVE_INFINITY);
    if (wanted > 1000) throw new NoValue("a long list");
    const result = [];
    for (let index = 0; index < wanted; index++) {
      let item;
      try {
        item = this.value(index < tuple.length ? tuple[index] : items, depth + 1);
      } catch (error) {
        if (error instanceof NoValue && result.length >= least) break;
        throw error;
      }
      if (schema.uniqueItems === true && result.some((known) => same(known, item))) {
        if (result.length >= least) break;
        if (typeof item === "string") item = `${item}${index}`;
        else if (typeof item === "number") item += index;
      }
      result.push(item);
    }
    return result;
  }

  #string(schema) {
    const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format } = schema;
    if (minLength > 100_000) throw new NoValue("a long text");
    if (typeof pattern === "string") {
      for (let attempt = 0; attempt < 20; attempt++) {
        const text = sampleOf(pattern, this.#random);
        if (text === undefined) break;
        if (text.length >= minLength && text.length <= maxLength) return text;
      }
      for (const text of [
        schema.default,
        schema.example,
        ...(Array.isArray(schema.examples) ? schema.examples : []),
      ]) {
        if (typeof text === "string") return text;
      }
      throw new NoValue(`no text for ${pattern}`);
    }
    if (Object.hasOwn(FORMATS, format)) return FORMATS[format];
    const words = ["plain", "two words", "a/b?c=d&e", "ümlaut", "100%", "x,y|z;w", "quote\"s'"];
    const text = this.#pick(words);
    return text.padEnd(minLength, "-").slice(0, Math.min(maxLength, Math.max(text.length, minLength)));
  }
}

const same = (left, right) => JSON.stringify(left) === JSON.stringify(right);

function typeOf(schema) {
  const types = Array.isArray(schema.type) ? schema.type.filter((type) => type !== "null") : [schema.type];
  const [type] = types.length > 0 ? types : ["null"];
  if (type !== undefined) return type;
  if (schema.properties || schema.required || schema.additionalProperties || schema.minProperties)
    return "object";
  if (schema.items || schema.prefixItems || schema.minItems) return "array";
  if (schema.format === "binary") return "bytes";
  if (schema.pattern || schema.format || schema.minLength) return "string";
  if (schema.minimum !== undefined || schema.maximum !== undefined || schema.multipleOf) return "number";
  return "any";
}

/** Two schemas that both must hold, roughly: what cannot be merged is found out when the value is checked. */
function merge(left, right) {
  const result = { ...left };
  for (const [keyword, value] of Object.entries(right)) {
    const known = result[keyword];
    if (known === undefined) result[keyword] = value;
    else if (keyword === "required") result.required = [...new Set([...known, ...value])];
    else if (keyword === "properties") {
      result.properties = { ...known };
      for (const [name, property] of Object.entries(value)) {
        define(
          result.properties,
          name,
          Object.hasOwn(known, name) ? { allOf: [known[name], property] } : property,
        );
      }
    } else if (keyword === "enum")
      result.enum = known.filter((one) => value.some((other) => same(one, other)));
    else if (keyword === "minimum" || keyword === "minLength" || keyword === "minItems")
      result[keyword] = Math.max(known, value);
    else if (keyword === "maximum" || keyword === "maxLength" || keyword === "maxItems")
      result[keyword] = Math.min(known, value);
    else if (keyword === "additionalProperties" && (known === false || value === false))
      result[keyword] = false;
    else if (keyword === "type" && known === "number") result.type = value;
  }
  return result;
}

function number(schema, isInteger, random) {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const step = multipleOf ?? (isInteger ? 1 : 0.5);
  let least = minimum ?? Number.NEGATIVE_INFINITY;
  let most = maximum ?? Number.POSITIVE_INFINITY;
  if (exclusiveMinimum === true) least += step;
  else if (typeof exclusiveMinimum === "number") least = Math.max(least, exclusiveMinimum + step);
  if (exclusiveMaximum === true) most -= step;
  else if (typeof exclusiveMaximum === "number") most = Math.min(most, exclusiveMaximum - step);
  const near = Number.isFinite(least)
    ? least
    : Number.isFinite(most)
      ? most - 3 * step
      : Math.floor(random() * 10);
  const value = Math.ceil(near / step) * step;
  return Math.min(value, most);
}
