// Values into the shape that a schema declares, as the native engine does it for the kinds of TypeBox that JSON has. What
// is no JSON (dates, functions, bigints) is checked and never changed.

import type { TSchema } from "@sinclair/typebox";
import { Errors } from "@sinclair/typebox/errors";
import { Check, Create } from "@sinclair/typebox/value";
import { pointerToken } from "../interop/text.js";
import type { Normalised, ValueError } from "../schema/compiled.js";
import { type Dictionary, kindOf, OptionalKind, type SchemaNode, setOwn } from "../schema/typebox-kinds.js";
import { converted } from "./convert.js";

export type Mode = "normalise" | "keep" | "strict";

/** Which values have the type that a kind declares, whatever else the schema requires. */
const TYPES: Record<string, (value: unknown) => boolean> = {
  Boolean: (value) => typeof value === "boolean",
  Integer: Number.isInteger,
  Null: (value) => value === null,
  Number: (value) => typeof value === "number",
  String: (value) => typeof value === "string",
  TemplateLiteral: (value) => typeof value === "string",
};

/** One value on its way into the declared shape. */
export class Normalisation {
  readonly #mode: Mode;
  readonly #keepsRoot: boolean;
  readonly #notes: ValueError[] = [];
  #references: SchemaNode[] = [];

  constructor(mode: Mode, keepsRoot: boolean) {
    this.#mode = mode;
    this.#keepsRoot = keepsRoot;
  }

  run(schema: TSchema, value: unknown): Normalised {
    return { value: this.#walk(schema as unknown as SchemaNode, value, ""), notes: this.#notes };
  }

  #walk(schema: SchemaNode, value: unknown, path: string): unknown {
    const before = this.#references;
    if (typeof schema.$id === "string") this.#references = [...before, schema];
    try {
      return this.#inside(schema, value, path);
    } finally {
      this.#references = before;
    }
  }

  #inside(schema: SchemaNode, value: unknown, path: string): unknown {
    switch (kindOf(schema)) {
      case "Object":
        return isObject(value) ? this.#object(schema, value, path) : this.#wrongType(schema, value, path);
      case "Record":
        return isObject(value) ? this.#record(schema, value, path) : this.#wrongType(schema, value, path);
      case "Array":
      case "Tuple":
        return Array.isArray(value) ? this.#list(schema, value, path) : this.#wrongType(schema, value, path);
      case "Union":
        return this.#union(schema, value, path);
      case "Intersect":
        return this.#intersect(schema, value, path);
      case "Import": {
        const definitions = schema.$defs as Record<string, SchemaNode>;
        const target = definitions[schema.$ref as string];
        this.#references = [...this.#references, ...Object.values(definitions)];
        return target === undefined ? value : this.#walk(target, value, path);
      }
      case "Ref":
      case "This": {
        const target = this.#references.find(({ $id }) => $id === schema.$ref);
        return target === undefined ? value : this.#walk(target, value, path);
      }
      default:
        return this.#leaf(schema, value, path);
    }
  }

  #object(schema: SchemaNode, value: Dictionary, path: string): unknown {
    const properties = (schema.properties ?? {}) as Record<string, SchemaNode>;
    const changes = new Map<string, unknown>();
    for (const name of Object.keys(properties)) {
      const property = properties[name] as SchemaNode;
      const at = `${path}/${pointerToken(name)}`;
      const given = Object.hasOwn(value, name) ? value[name] : undefined;
      if (given === undefined) this.#missing(name, property, at, changes);
      else {
        const result = this.#walk(property, given, at);
        if (result !== given) changes.set(name, result);
      }
    }
    for (const name of Object.keys(value)) {
      if (Object.hasOwn(properties, name)) continue;
      this.#undeclared(schema, name, value[name], path, changes);
    }
    return changed(value, changes);
  }

  /** A property that `properties` does not name. */
  #undeclared(
    schema: SchemaNode,
    name: string,
    given: unknown,
    path: string,
    changes: Map<string, unknown>,
  ): void {
    const patterns = (schema.patternProperties ?? {}) as Record<string, SchemaNode>;
    const rest = schema.additionalProperties;
    const pattern = Object.keys(patterns).find((source) => new RegExp(source, "u").test(name));
    const declared = pattern === undefined ? rest : patterns[pattern];
    if (typeof declared === "object" && declared !== null) {
      const result = this.#walk(declared as SchemaNode, given, `${path}/${pointerToken(name)}`);
      if (result !== given) changes.set(name, result);
    } else if (declared !== true && this.#mode !== "keep") changes.set(name, GONE);
    else if (declared === false) {
      const message = "the value was kept although: Unexpected property";
      this.#notes.push({ path: `${path}/${pointerToken(name)}`, message });
    }
  }

  #record(schema: SchemaNode, value: Dictionary, path: string): unknown {
    const changes = new Map<string, unknown>();
    const lenient = { ...schema, additionalProperties: schema.additionalProperties ?? true };
    for (const name of Object.keys(value)) this.#undeclared(lenient, name, value[name], path, changes);
    return changed(value, changes);
  }

  #missing(name: string, property: SchemaNode, path: string, changes: Map<string, unknown>): void {
    if (property[OptionalKind] === "Optional") return;
    const given = defaultOf(property);
    if (given !== undefined) {
      changes.set(name, given);
      return;
    }
    if (this.#mode === "strict") return;
    const isAnything = this.#fits(property, undefined);
    const made = isAnything ? undefined : this.#make(property);
    const isMade = isAnything || made !== undefined;
    if (isMade) changes.set(name, made);
    this.#notes.push({
      path,
      message: isMade
        ? "a required value is missing; the empty value of its type was made up for it"
        : "a required value is missing, and the schema gives no value to fill it with",
    });
  }

  #list(schema: SchemaNode, value: unknown[], path: string): unknown {
    const { items } = schema as { items?: SchemaNode | SchemaNode[] };
    let copy: unknown[] | undefined;
    for (const [index, item] of value.entries()) {
      const itemSchema = Array.isArray(items) ? items[index] : items;
      if (itemSchema === undefined) continue;
      const result = this.#walk(itemSchema, item, `${path}/${index}`);
      if (result === item) continue;
      copy ??= [...value];
      copy[index] = result;
    }
    this.#noteRules(schema, copy ?? value, path);
    return copy ?? value;
  }

  /** Those that fit compete; if none does, all of them. The score is that of TypeBox's `Value.Cast`. */
  #union(schema: SchemaNode, value: unknown, path: string): unknown {
    const variants = schema.anyOf as SchemaNode[];
    const fitting = variants.filter((variant) => this.#fits(variant, value));
    if (fitting.length === 0) {
      const scalars = variants
        .map((variant) => converted(variant, value))
        .filter((each) => each !== undefined);
      if (scalars.length > 0) return scalars.find((each) => this.#fits(schema, each)) ?? scalars[0];
      if (!isObject(value) || !variants.some((variant) => kindOf(variant) === "Object")) {
        return this.#wrongType(schema, value, path);
      }
    }
    const [best] = (fitting.length > 0 ? fitting : variants)
      .map((variant) => ({ variant, score: this.#score(variant, value) }))
      .sort((one, other) => other.score - one.score);
    return best === undefined ? value : this.#walk(best.variant, value, path);
  }

  #score(variant: SchemaNode, value: unknown): number {
    if (kindOf(variant) !== "Object" || !isObject(value)) return this.#fits(variant, value) ? 1 : 0;
    let score = 0;
    for (const [name, property] of Object.entries(variant.properties as Record<string, SchemaNode>)) {
      if (kindOf(property) === "Literal" && property.const === value[name]) score += 100;
      if (this.#fits(property, value[name])) score += 10;
      if (Object.hasOwn(value, name)) score += 1;
    }
    return score;
  }

  /** Each part says what it says about the value; what none of them declares is removed if all of them are objects. */
  #intersect(schema: SchemaNode, value: unknown, path: string): unknown {
    const parts = schema.allOf as SchemaNode[];
    let result = value;
    for (const part of parts) {
      const open = kindOf(part) === "Object" ? { ...part, additionalProperties: true } : part;
      result = this.#walk(open as SchemaNode, result, path);
    }
    const isClosed = parts.every(
      (part) => kindOf(part) === "Object" && typeof part.additionalProperties !== "object",
    );
    if (!isClosed || this.#mode === "keep" || !isObject(result)) return result;
    if (parts.some((part) => part.additionalProperties === true)) return result;
    const declared = new Set(parts.flatMap((part) => Object.keys(part.properties as object)));
    const gone = Object.keys(result).filter((name) => !declared.has(name));
    return changed(result, new Map(gone.map((name) => [name, GONE])));
  }

  #leaf(schema: SchemaNode, value: unknown, path: string): unknown {
    if (this.#fits(schema, value)) return value;
    const isOfType = TYPES[kindOf(schema) ?? ""];
    if (isOfType?.(value) === true || (schema.const !== undefined && typeof value === typeof schema.const)) {
      this.#noteRules(schema, value, path);
      return value;
    }
    const scalar = converted(schema, value);
    if (scalar === undefined) return this.#wrongType(schema, value, path);
    this.#noteRules(schema, scalar, path);
    return scalar;
  }

  #wrongType(schema: SchemaNode, value: unknown, path: string): unknown {
    if (this.#mode === "strict" || this.#fits(schema, value)) return value;
    const found = kindName(value);
    if (path === "" && this.#keepsRoot) {
      const message = `the value is of another kind (${found}) than the schema declares and was left as it is`;
      this.#notes.push({ path, message });
      return value;
    }
    const made = defaultOf(schema) ?? this.#make(schema);
    this.#notes.push({
      path,
      message:
        made === undefined
          ? `a value of the wrong type (${found}) was kept, because the schema gives no value to replace it with`
          : `a value of the wrong type (${found}) was replaced`,
    });
    return made === undefined ? value : made;
  }

  /** Notes which rules of its own a value of the right type breaks. */
  #noteRules(schema: SchemaNode, value: unknown, path: string): void {
    if (this.#mode === "strict") return;
    for (const error of Errors(schema as never, this.#references as never, value)) {
      if (error.path !== "") continue;
      this.#notes.push({ path, message: `the value was kept although: ${error.message}` });
    }
  }

  #fits(schema: SchemaNode, value: unknown): boolean {
    return Check(schema as never, this.#references as never, value);
  }

  /** The empty value of a type; `undefined` where TypeBox has none. */
  #make(schema: SchemaNode): unknown {
    try {
      return Create(schema as never, this.#references as never);
    } catch {
      return undefined;
    }
  }
}

/** A property that is to be removed. */
const GONE = Symbol("gone");

/** The object itself if nothing changes; else a copy. */
function changed(value: Dictionary, changes: ReadonlyMap<string, unknown>): Dictionary {
  if (changes.size === 0) return value;
  const copy: Dictionary = {};
  for (const name of Object.keys(value)) {
    const change = changes.has(name) ? changes.get(name) : value[name];
    if (change !== GONE) setOwn(copy, name, change);
  }
  for (const [name, change] of changes)
    if (change !== GONE && !Object.hasOwn(copy, name)) setOwn(copy, name, change);
  return copy;
}

/** A copy of the default: it is the schema's own, which must not change through a value. That of a union is that of its
 * first variant. */
function defaultOf(schema: SchemaNode): unknown {
  if (schema.default !== undefined) return structuredClone(schema.default);
  const [first] = kindOf(schema) === "Union" ? (schema.anyOf as SchemaNode[]) : [];
  return first === undefined ? undefined : defaultOf(first);
}

function isObject(value: unknown): value is Dictionary {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindName(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
