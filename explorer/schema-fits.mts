// Whether a field can show a value: what tells the variants of a union apart. Whether a value is valid is for the server to say.

import { type Field, fieldOf, isRecord, type Root } from "./schema.mjs";

const DEEPEST = 8;

export function fits(value: unknown, field: Field, root: Root, depth = 0): boolean {
  if (value === null && field.isNullable) return true;
  if (depth > DEEPEST) return true;
  const { shape } = field;
  switch (shape.kind) {
    case "string":
      return typeof value === "string";
    case "number":
      return typeof value === "number" && (!shape.isInteger || Number.isInteger(value));
    case "boolean":
      return typeof value === "boolean";
    case "null":
      return value === null;
    case "nothing":
      return value === undefined;
    case "any":
      return value !== undefined;
    case "bytes":
      return isRecord(value) && typeof value.$bytes === "string";
    case "choice":
      return shape.options.some((option) => sameValue(option, value));
    case "constant":
      return sameValue(shape.value, value);
    case "list":
      return (
        Array.isArray(value) && value.every((each) => fits(each, fieldOf(shape.items, root), root, depth + 1))
      );
    case "tuple":
      return (
        Array.isArray(value) &&
        value.length >= shape.items.length &&
        (value.length === shape.items.length || shape.rest !== undefined) &&
        shape.items.every((schema, index) => fits(value[index], fieldOf(schema, root), root, depth + 1))
      );
    case "record":
      return (
        isRecord(value) &&
        Object.values(value).every((each) => fits(each, fieldOf(shape.values, root), root, depth + 1))
      );
    case "object":
      return isRecord(value) && fitsProperties(value, shape, root, depth);
    case "union":
      return shape.variants.some(({ schema }) => fits(value, fieldOf(schema, root), root, depth + 1));
  }
}

function fitsProperties(
  value: Record<string, unknown>,
  shape: Extract<Field["shape"], { kind: "object" }>,
  root: Root,
  depth: number,
): boolean {
  const isKnown = (name: string) => shape.properties.some((property) => property.name === name);
  if (!shape.isOpen && shape.rest === undefined && !Object.keys(value).every(isKnown)) return false;
  return shape.properties.every(({ name, schema, isRequired }) =>
    Object.hasOwn(value, name) ? fits(value[name], fieldOf(schema, root), root, depth + 1) : !isRequired,
  );
}

/** Whether two values of JSON are the same; the order of properties does not matter. */
export function sameValue(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every(
      (name) =>
        Object.hasOwn(other, name) &&
        sameValue((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name]),
    )
  );
}
