import { kindOf, type SchemaNode } from "../schema/typebox-kinds.js";

/** A text, a number or a boolean as the type that a schema declares, if nothing is lost: the way back gives the very same
 * value. */
export function converted(schema: SchemaNode, value: unknown): unknown {
  const wanted = wantedType(schema);
  return wanted === undefined ? undefined : scalarAs(wanted, value);
}

function wantedType(schema: SchemaNode): string | undefined {
  switch (kindOf(schema)) {
    case "String":
      return "string";
    case "Number":
      return "number";
    case "Integer":
      return "integer";
    case "Boolean":
      return "boolean";
    case "Literal":
      return typeof schema.const;
    default:
      return undefined;
  }
}

function scalarAs(wanted: string, value: unknown): unknown {
  if (typeof value === "string") {
    if (wanted === "number" || wanted === "integer") {
      const number = Number(value);
      const isFitting = wanted === "integer" ? Number.isInteger(number) : Number.isFinite(number);
      return isFitting && String(number) === value ? number : undefined;
    }
    if (wanted === "boolean" && (value === "true" || value === "false")) return value === "true";
    return undefined;
  }
  const isScalar = (typeof value === "number" && Number.isFinite(value)) || typeof value === "boolean";
  return wanted === "string" && isScalar && !Object.is(value, -0) ? String(value) : undefined;
}
