// Schemas of TypeBox 1.x. Apart from their marks, which JSON does not show, they are JSON Schemas; so they are read as
// such, except for what JSON has no word for.

import type { TSchema } from "@sinclair/typebox";
import { invalid } from "../errors.js";
import { isRecord } from "../interop/options.js";
import { FromSchema } from "./from-schema.js";
import { POSITIONS } from "./json-schema-positions.js";
import { MAX_SCHEMA_DEPTH } from "./limits.js";
import { type Dictionary, Kind, OptionalKind, type SchemaNode, setOwn } from "./typebox-kinds.js";

/** The kinds that are no JSON. TypeBox 0.34 has all of them, under the same names. */
const NO_JSON: ReadonlySet<unknown> = new Set([
  "BigInt",
  "Constructor",
  "Function",
  "Symbol",
  "Undefined",
  "Void",
]);

/** Makes a schema of TypeBox 0.34 of one of TypeBox 1.x. Refuses what would be lost. */
export function fromTypeBox1(schema: Dictionary): TSchema {
  return FromSchema(translated(schema, "", 0));
}

/** The schema, with those parts as TypeBox 0.34 has them that are no JSON Schema; itself if there are none. */
function translated(schema: unknown, path: string, depth: number): unknown {
  if (!isRecord(schema) || depth > MAX_SCHEMA_DEPTH) return schema;
  if (Object.hasOwn(schema, "~refine")) {
    throw invalid(
      `the TypeBox 1.x schema has a Type.Refine() at "${path}", which only TypeBox itself can check. Check it in the ` +
        "handler, or use a library that follows Standard Schema",
    );
  }
  if (NO_JSON.has(schema["~kind"])) return tagged(schema);
  let copy: Dictionary | undefined;
  for (const keyword of Object.keys(schema)) {
    const value = schema[keyword];
    const changed = inKeyword(keyword, value, `${path}/${keyword}`, depth);
    if (changed === value) continue;
    copy ??= { ...schema };
    setOwn(copy, keyword, changed);
  }
  return copy ?? schema;
}

function tagged(schema: Dictionary): SchemaNode {
  const node = { ...schema, [Kind]: schema["~kind"] } as SchemaNode;
  if (Object.hasOwn(schema, "~optional")) node[OptionalKind] = "Optional";
  return node;
}

function inKeyword(keyword: string, value: unknown, path: string, depth: number): unknown {
  const position = POSITIONS.get(keyword);
  if (position === undefined || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const list = value.map((item, index) => translated(item, `${path}/${index}`, depth + 1));
    return list.some((item, index) => item !== value[index]) ? list : value;
  }
  if (position !== "map") return translated(value, path, depth + 1);
  let copy: Dictionary | undefined;
  for (const [name, item] of Object.entries(value)) {
    const changed = translated(item, `${path}/${name}`, depth + 1);
    if (changed === item) continue;
    copy ??= { ...value };
    setOwn(copy, name, changed);
  }
  return copy ?? value;
}
