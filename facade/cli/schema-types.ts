// JSON Schema as TypeScript. What a type cannot say (patterns, bounds) is left out, and what is not understood is `unknown`.

import { isListOf, isRecord, isString } from "../interop/options.js";

type Schema = Record<string, unknown>;

/** Deeper schemas are `unknown` from there on. */
const MAX_DEPTH = 24;
const SIMPLE: Record<string, string> = {
  string: "string",
  number: "number",
  integer: "number",
  boolean: "boolean",
  null: "null",
};

/** Declarations of the types that schemas name, and the types of schemas. */
export class SchemaTypes {
  readonly #declared = new Map<string, string>();
  /** The names of the schema that is being written, by reference. */
  #references = new Map<string, string>();
  #root: unknown;

  /** The type of a schema. Types that it refers to are named after `name`. */
  typeOf(schema: unknown, name: string): string {
    this.#root = schema;
    this.#references = new Map();
    return this.#type(schema, name, 0);
  }

  /** The declarations of named types. */
  get declarations(): string[] {
    return Array.from(this.#declared, ([name, type]) => `export type ${name} = ${type};`);
  }

  #type(schema: unknown, name: string, depth: number): string {
    if (schema === false) return "never";
    if (!isRecord(schema) || depth > MAX_DEPTH) return "unknown";
    const { $ref, enum: values, allOf, type, nullable } = schema;
    if (isString($ref)) return this.#referred($ref, name, depth);
    const inner = (each: unknown) => this.#type(each, name, depth + 1);
    const either = [schema.anyOf, schema.oneOf].find(Array.isArray);
    let text: string;
    if ("const" in schema) text = literal(schema.const);
    else if (Array.isArray(values)) text = union(values.map(literal));
    else if (either !== undefined) text = this.#and(union(either.map(inner)), schema, name, depth);
    else if (Array.isArray(allOf)) text = this.#and(intersection(allOf.map(inner)), schema, name, depth);
    else if (isListOf(type, isString)) {
      text = union((type as string[]).map((each) => inner({ ...schema, type: each })));
    } else text = this.#simple(schema, name, depth);
    return nullable === true ? union([text, "null"]) : text;
  }

  /** What stands beside `anyOf`, `oneOf` or `allOf`. */
  #and(text: string, schema: Schema, name: string, depth: number): string {
    if (!isRecord(schema.properties)) return text;
    return intersection([this.#object(schema, name, depth), text]);
  }

  #simple(schema: Schema, name: string, depth: number): string {
    const { type, items, prefixItems } = schema;
    if (isString(type) && Object.hasOwn(SIMPLE, type)) return SIMPLE[type] as string;
    if (type === "array" || (type === undefined && items !== undefined)) {
      const inner = (each: unknown) => this.#type(each, name, depth + 1);
      const first = Array.isArray(prefixItems) ? prefixItems : items;
      if (!Array.isArray(first)) return `Array<${inner(items)}>`;
      const rest = Array.isArray(prefixItems) ? items : schema.additionalItems;
      const more = rest === false ? [] : [`...Array<${inner(rest)}>`];
      return `[${[...first.map(inner), ...more].join(", ")}]`;
    }
    if (type === "object" || isRecord(schema.properties)) return this.#object(schema, name, depth);
    return "unknown";
  }

  #object(schema: Schema, name: string, depth: number): string {
    const { properties, required, additionalProperties: more, patternProperties } = schema;
    const needed = Array.isArray(required) ? required : [];
    const fields = Object.entries(isRecord(properties) ? properties : {}).map(
      ([key, each]) =>
        `${commentOf(each)}${keyOf(key)}${needed.includes(key) ? "" : "?"}: ${this.#type(each, name, depth + 1)}`,
    );
    if (fields.length > 0) {
      // Properties that are not declared would have to fit those that are, so they are `unknown`.
      const isOpen = more === true || isRecord(more) || isRecord(patternProperties);
      return `{ ${[...fields, ...(isOpen ? ["[key: string]: unknown"] : [])].join("; ")} }`;
    }
    if (more === false && !isRecord(patternProperties)) return "Record<string, never>";
    return `Record<string, ${isRecord(more) ? this.#type(more, name, depth + 1) : "unknown"}>`;
  }

  /** A type by its name: schemas may refer to themselves. */
  #referred(reference: string, name: string, depth: number): string {
    const known = this.#references.get(reference);
    if (known !== undefined) return known;
    const target = pointedAt(this.#root, reference);
    if (target === undefined) return "unknown";
    const own = `${name}${pascal(reference.slice(reference.lastIndexOf("/") + 1))}`;
    let free = own;
    for (let n = 2; this.#declared.has(free); n += 1) free = `${own}${n}`;
    this.#references.set(reference, free);
    this.#declared.set(free, "unknown");
    this.#declared.set(free, this.#type(target, name, depth + 1));
    return free;
  }
}

/** A text as the name of a type. */
export function pascal(text: string): string {
  const words = text.split(/[^\p{ID_Continue}]+/u).filter(Boolean);
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  return /^\p{ID_Start}/u.test(name) ? name : `T${name}`;
}

/** A text as the name of a property. */
export function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** A description as a comment. It cannot end the comment. */
export function commentOf(schema: unknown): string {
  const { description } = Object(schema) as { description?: unknown };
  const text = isString(description) ? description.replace(/\s+/g, " ").trim() : "";
  return text === "" ? "" : `/** ${text.replaceAll("*/", "*\\/")} */ `;
}

function pointedAt(root: unknown, reference: string): unknown {
  if (!reference.startsWith("#")) return undefined;
  let at: unknown = root;
  for (const token of decodeURIComponent(reference).slice(1).split("/").slice(1)) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = Reflect.get(at, key);
  }
  return at;
}

function literal(value: unknown): string {
  return typeof value === "object" && value !== null ? "unknown" : JSON.stringify(value);
}

const union = (types: string[]) => joined(types, " | ", "never");
const intersection = (types: string[]) =>
  joined(
    types.filter((type) => type !== "unknown"),
    " & ",
    "unknown",
  );

function joined(types: string[], word: string, none: string): string {
  const all = [...new Set(types)];
  if (all.length < 2) return all[0] ?? none;
  return all.includes("unknown") ? "unknown" : `(${all.join(word)})`;
}
