// Random values that fit a projected schema of one of the dialects, as a model under constraints would write them.

import { sampleOf } from "../../openapi/support/pattern-sample.mjs";

/** There is no value, or none that is found. */
export class NoSample extends Error {}

const FORMATS = {
  "date-time": "2026-11-16T12:00:00Z",
  time: "12:00:00Z",
  date: "2026-11-16",
  duration: "P1D",
  email: "a@example.com",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uuid: "9b2fdb1a-7f0f-4a55-9cf3-1b3f6d1d2c11",
};
const TEXTS = ["", "a", "plain text", "42", "null", "true", "[1]", '{"a":1}', "ümlaut", "ab", "abc", "Q"];

export function sampleFor(schema, random) {
  return value(schema, schema.$defs ?? {}, random, 0);
}

function value(schema, definitions, random, depth) {
  if (depth > 30) throw new NoSample("too deep");
  if (schema.$ref !== undefined) {
    return value(definitions[schema.$ref.slice("#/$defs/".length)], definitions, random, depth + 1);
  }
  if (schema.anyOf !== undefined) {
    return value(random.pick(schema.anyOf), definitions, random, depth + 1);
  }
  if (schema.nullable === true && random.chance(0.3)) return null;
  if (schema.enum !== undefined) return random.pick(schema.enum);
  const types = [schema.type].flat();
  const type = types.includes("null") && depth > 8 ? "null" : random.pick(types);
  switch (type) {
    case "null":
      return null;
    case "boolean":
      return random.chance(0.5);
    case "string":
      return text(schema, random);
    case "array":
      return list(schema, definitions, random, depth);
    case "object":
      return object(schema, definitions, random, depth);
    default:
      return number(schema, type === "integer", random);
  }
}

function object(schema, definitions, random, depth) {
  const made = {};
  const required = new Set(schema.required ?? []);
  const names = Object.keys(schema.properties ?? {});
  for (const name of names) {
    if (!required.has(name) && (depth > 6 || random.chance(0.5))) continue;
    const one = value(schema.properties[name], definitions, random, depth + 1);
    // `__proto__` is a name like any other.
    Object.defineProperty(made, name, { value: one, enumerable: true, writable: true, configurable: true });
  }
  const count = Object.keys(made).length;
  if (count < (schema.minProperties ?? 0) || count > (schema.maxProperties ?? count)) {
    throw new NoSample("not that many properties");
  }
  return made;
}

function list(schema, definitions, random, depth) {
  const least = schema.minItems ?? 0;
  const most = Math.min(schema.maxItems ?? least + 2, least + 2);
  if (most < least || least > 20) throw new NoSample("no such list");
  const length = depth > 6 ? least : random.between(least, most);
  return Array.from({ length }, () => value(schema.items, definitions, random, depth + 1));
}

function text(schema, random) {
  const { pattern, format, minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema;
  const fits = (candidate) => [...candidate].length >= minLength && [...candidate].length <= maxLength;
  for (let attempt = 0; attempt < 20; attempt++) {
    let candidate = random.pick(TEXTS);
    if (format !== undefined) candidate = FORMATS[format];
    if (pattern !== undefined) {
      candidate = sampleOf(pattern, () => random.fraction());
      if (candidate === undefined || (format !== undefined && candidate !== FORMATS[format])) break;
    }
    if (candidate !== undefined && fits(candidate)) return candidate;
  }
  throw new NoSample("no such text");
}

function number(schema, isInteger, random) {
  const {
    minimum = Number.NEGATIVE_INFINITY,
    maximum = Number.POSITIVE_INFINITY,
    exclusiveMinimum = Number.NEGATIVE_INFINITY,
    exclusiveMaximum = Number.POSITIVE_INFINITY,
    multipleOf,
  } = schema;
  const step = multipleOf ?? (isInteger ? 1 : 0.5);
  const low = Math.max(minimum, exclusiveMinimum);
  const start = Number.isFinite(low) ? low : Math.min(maximum, exclusiveMaximum, 10) - 3 * step;
  const first = Math.ceil(start / step) * step;
  for (let attempt = 0; attempt < 10; attempt++) {
    const candidate = first + random.between(0, 4) * step;
    // Beyond 2^53 not even a check is exact.
    const fits =
      Math.abs(candidate) < Number.MAX_SAFE_INTEGER &&
      candidate >= minimum &&
      candidate <= maximum &&
      candidate > exclusiveMinimum &&
      candidate < exclusiveMaximum &&
      (!isInteger || Number.isInteger(candidate)) &&
      (multipleOf === undefined || Number.isInteger(candidate / multipleOf));
    if (fits) return candidate;
  }
  throw new NoSample("no such number");
}
