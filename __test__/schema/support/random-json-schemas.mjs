// Random plain JSON Schemas of drafts 7 and 2020-12, and JSON near them.

import {
  HOSTILE_NAMES,
  KNOWN_FORMATS,
  PATTERNS,
  PLAIN_NAMES,
  PROTOTYPE_NAMES,
  TEXTS,
  UNKNOWN_FORMATS,
} from "./random-words.mjs";

export const DRAFT_7 = "http://json-schema.org/draft-07/schema#";
export const DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema";

const TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"];
const NUMBERS = [0, 1, -1, 2, 3, 5, 10, 1.5, 2.5, 0.5, 100, 1e21, -2.25];

export class JsonSchemaMaker {
  #random;
  #modern;
  #definitions;

  constructor(random) {
    this.#random = random;
  }

  make() {
    const random = this.#random;
    this.#modern = random.chance(0.6);
    this.#definitions = random.times(0, 2, (index) => `d${index}`);
    const schema = { $schema: this.#modern ? DRAFT_2020 : DRAFT_7, ...this.#object(3) };
    if (this.#definitions.length > 0) {
      schema[this.#modern ? "$defs" : "definitions"] = Object.fromEntries(
        // References lead from a definition only into parts of the value: no loops in place.
        this.#definitions.map((name) => [name, this.#guarded()]),
      );
    }
    return schema;
  }

  #reference() {
    const place = this.#modern ? "$defs" : "definitions";
    return { $ref: `#/${place}/${this.#random.pick(this.#definitions)}` };
  }

  #guarded() {
    return this.#random.chance(0.5)
      ? { type: "object", properties: { next: this.#reference(), ...this.#properties(1) } }
      : this.#random.chance(0.5)
        ? { type: ["array", "null"], items: this.#random.chance(0.5) ? this.#reference() : this.#any(1) }
        : this.#leaf();
  }

  #any(depth) {
    const random = this.#random;
    if (random.chance(0.05)) return random.chance(0.7);
    if (random.chance(0.1) && this.#definitions.length > 0) return this.#reference();
    return depth > 0 && random.chance(0.7) ? this.#object(depth) : this.#leaf();
  }

  /** Any keywords together. */
  #object(depth) {
    const random = this.#random;
    const schema = {};
    const groups = random.weighted([
      [4, ["arrays"]],
      [8, ["objects"]],
      [3, ["logic"]],
      [2, ["objects", "logic"]],
      [1, ["arrays", "objects", "strings", "numbers"]],
    ]);
    for (const group of groups) Object.assign(schema, this.#group(group, depth));
    if (random.chance(0.7)) schema.type = this.#type(groups);
    return schema;
  }

  #leaf() {
    const random = this.#random;
    return random.weighted([
      [4, () => ({ type: "string", ...this.#group("strings") })],
      [4, () => ({ type: random.pick(["number", "integer"]), ...this.#group("numbers") })],
      [2, () => ({ type: this.#type([]) })],
      [1, () => ({ type: random.some(TYPES, 0.3).concat("null").filter(unique) })],
      [2, () => ({ enum: random.times(1, 4, () => jsonValue(random)).filter(uniqueJson) })],
      [2, () => ({ const: jsonValue(random) })],
      [1, () => this.#group("strings")],
      [1, () => this.#group("numbers")],
      [1, () => ({})],
    ])();
  }

  #type(groups) {
    if (groups.includes("objects")) return "object";
    if (groups.includes("arrays")) return "array";
    return this.#random.pick(TYPES);
  }

  #group(name, depth = 0) {
    switch (name) {
      case "strings":
        return this.#strings();
      case "numbers":
        return this.#numbers();
      case "arrays":
        return this.#arrays(depth);
      case "objects":
        return this.#objects(depth);
      default:
        return this.#logic(depth);
    }
  }

  #strings() {
    const random = this.#random;
    const schema = {};
    if (random.chance(0.3)) schema.minLength = random.between(0, 3);
    if (random.chance(0.3)) schema.maxLength = random.between(0, 5);
    if (random.chance(0.2)) schema.pattern = random.pick(PATTERNS).pattern;
    if (random.chance(0.2)) {
      schema.format = random.chance(0.8)
        ? random.pick(Object.keys(KNOWN_FORMATS))
        : random.pick(UNKNOWN_FORMATS);
    }
    return schema;
  }

  #numbers() {
    const random = this.#random;
    const schema = {};
    if (random.chance(0.3)) schema.minimum = random.pick(NUMBERS);
    if (random.chance(0.3)) schema.maximum = random.pick(NUMBERS);
    if (random.chance(0.1)) schema.exclusiveMinimum = random.pick(NUMBERS);
    if (random.chance(0.1)) schema.exclusiveMaximum = random.pick(NUMBERS);
    if (random.chance(0.15)) schema.multipleOf = random.pick([1, 2, 3, 0.5, 0.25]);
    return schema;
  }

  #arrays(depth) {
    const random = this.#random;
    const schema = {};
    if (random.chance(0.3)) {
      const list = random.times(1, 3, () => this.#any(depth - 1));
      if (this.#modern) schema.prefixItems = list;
      else schema.items = list;
      if (random.chance(0.4)) schema[this.#modern ? "items" : "additionalItems"] = this.#any(depth - 1);
    } else if (random.chance(0.8)) schema.items = this.#any(depth - 1);
    if (random.chance(0.2)) schema.minItems = random.between(0, 2);
    if (random.chance(0.2)) schema.maxItems = random.between(0, 4);
    if (random.chance(0.2)) schema.uniqueItems = random.chance(0.9);
    if (random.chance(0.2)) {
      schema.contains = this.#any(depth - 1);
      if (this.#modern && random.chance(0.4)) schema.minContains = random.between(0, 2);
      if (this.#modern && random.chance(0.3)) schema.maxContains = random.between(0, 2);
    }
    if (this.#modern && random.chance(0.1)) schema.unevaluatedItems = this.#any(depth - 1);
    return schema;
  }

  #properties(depth) {
    const properties = {};
    for (let left = this.#random.between(0, 4); left > 0; left--) {
      Object.defineProperty(properties, this.#name(), {
        value: this.#any(depth - 1),
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
    return properties;
  }

  #name() {
    return this.#random.pick(
      this.#random.weighted([
        [10, PLAIN_NAMES],
        [2, HOSTILE_NAMES],
        [1, PROTOTYPE_NAMES],
      ]),
    );
  }

  #objects(depth) {
    const random = this.#random;
    const schema = {};
    if (random.chance(0.9)) schema.properties = this.#properties(depth);
    if (random.chance(0.4)) {
      const known = Object.keys(schema.properties ?? {});
      schema.required = [...random.some(known), ...(random.chance(0.1) ? [this.#name()] : [])].filter(unique);
    }
    if (random.chance(0.3)) schema.additionalProperties = random.chance(0.5) ? false : this.#any(depth - 1);
    if (random.chance(0.15))
      schema.patternProperties = { [random.pick(PATTERNS).pattern]: this.#any(depth - 1) };
    if (random.chance(0.1)) schema.propertyNames = this.#strings();
    if (random.chance(0.1)) schema.minProperties = random.between(0, 3);
    if (random.chance(0.1)) schema.maxProperties = random.between(0, 4);
    if (random.chance(0.1)) {
      const names = [random.pick(PLAIN_NAMES)];
      if (this.#modern) schema.dependentRequired = { [random.pick(PLAIN_NAMES)]: names };
      else schema.dependencies = { [random.pick(PLAIN_NAMES)]: names };
    }
    if (this.#modern && random.chance(0.05)) {
      schema.dependentSchemas = { [random.pick(PLAIN_NAMES)]: this.#any(depth - 1) };
    }
    if (this.#modern && random.chance(0.1)) schema.unevaluatedProperties = this.#any(depth - 1);
    return schema;
  }

  #logic(depth) {
    const random = this.#random;
    const list = () => random.times(1, 3, () => this.#any(depth - 1));
    return random.weighted([
      [3, () => ({ allOf: list() })],
      [4, () => ({ anyOf: list() })],
      [4, () => ({ oneOf: list() })],
      [1, () => ({ not: this.#any(depth - 1) })],
      [2, () => Object.fromEntries(["if", "then", "else"].map((word) => [word, this.#any(depth - 1)]))],
    ])();
  }
}

/** Any JSON. */
export function jsonValue(random, depth = 0) {
  return random.weighted([
    [3, () => random.pick(TEXTS)],
    [3, () => random.pick(NUMBERS)],
    [2, () => random.pick([true, false, null])],
    [depth > 2 ? 0 : 1, () => random.times(0, 3, () => jsonValue(random, depth + 1))],
    [
      depth > 2 ? 0 : 2,
      () => Object.fromEntries(random.times(0, 4, () => [jsonName(random), jsonValue(random, depth + 1)])),
    ],
  ])();
}

function jsonName(random) {
  return random.pick(
    random.weighted([
      [8, PLAIN_NAMES],
      [1, HOSTILE_NAMES],
      [1, PROTOTYPE_NAMES],
    ]),
  );
}

function unique(each, index, list) {
  return list.indexOf(each) === index;
}

function uniqueJson(each, index, list) {
  return list.findIndex((other) => JSON.stringify(other) === JSON.stringify(each)) === index;
}
