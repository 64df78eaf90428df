// Several schemas that all hold (`allOf`), as one that a form can show.

import { isRecord, type SchemaObject } from "./schema-root.mjs";

/** One schema for all; nothing where they contradict each other, or say too much for one form. */
export function mergeAll(schemas: readonly SchemaObject[]): SchemaObject | undefined {
  let merged: Record<string, unknown> | undefined = {};
  for (const schema of schemas) {
    merged = merged && merge(merged, schema);
  }
  return merged;
}

function merge(one: Record<string, unknown>, other: SchemaObject): Record<string, unknown> | undefined {
  const merged = { ...one };
  for (const [name, value] of Object.entries(other)) {
    if (!(name in one)) {
      merged[name] = value;
      continue;
    }
    const both = combine(name, one[name], value);
    if (both === undefined) return undefined;
    merged[name] = both;
  }
  return merged;
}

function combine(name: string, one: unknown, other: unknown): unknown {
  switch (name) {
    case "type":
      return bothTypes(one, other);
    case "required":
      return Array.isArray(one) && Array.isArray(other) ? [...new Set([...one, ...other])] : other;
    case "properties":
      return bothProperties(one, other);
    case "enum": {
      if (!Array.isArray(one) || !Array.isArray(other)) return other;
      const texts = new Set(other.map((value) => JSON.stringify(value)));
      return one.filter((value) => texts.has(JSON.stringify(value)));
    }
    case "minimum":
    case "minLength":
    case "minItems":
      return Math.max(Number(one), Number(other));
    case "maximum":
    case "maxLength":
    case "maxItems":
      return Math.min(Number(one), Number(other));
    case "additionalProperties":
    case "unevaluatedProperties":
      return one === false || other === false ? false : other;
    case "anyOf":
    case "oneOf":
      return JSON.stringify(one) === JSON.stringify(other) ? one : undefined;
    case "const":
      return JSON.stringify(one) === JSON.stringify(other) ? one : undefined;
    default:
      return other;
  }
}

function bothTypes(one: unknown, other: unknown): unknown {
  const list = (type: unknown): unknown[] => (Array.isArray(type) ? type : [type]);
  const [ones, others] = [list(one), list(other)];
  const both = ones.filter(
    (type) => others.includes(type) || (type === "integer" && others.includes("number")),
  );
  if (ones.includes("number") && others.includes("integer") && !both.includes("integer"))
    both.push("integer");
  return both.length === 0 ? undefined : both.length === 1 ? both[0] : both;
}

function bothProperties(one: unknown, other: unknown): unknown {
  if (!isRecord(one) || !isRecord(other)) return other;
  // By entries: a property can be called `__proto__`.
  const merged = new Map<string, unknown>(Object.entries(one));
  for (const [name, schema] of Object.entries(other)) {
    merged.set(name, merged.has(name) ? { allOf: [merged.get(name), schema] } : schema);
  }
  return Object.fromEntries(merged);
}
