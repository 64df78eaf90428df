// JSON Schema to TypeBox. The result is the source as it was, key by key and in its order, with
// TypeBox's tags added and what TypeBox needs besides hidden from JSON. Sources come from documents
// and servers that are not trusted, so depth is bounded and nothing in them is taken on faith.

import type { TSchema } from "@sinclair/typebox";
import { type CallError, invalid } from "../errors.js";
import { isRecord } from "../interop/options.js";
import { pointerToken, shortened } from "../interop/text.js";
import { logger } from "../logging.js";
import type { ForBoth } from "../schema-types.js";
import { describe } from "./guards.js";
import { attach, intersect, joinAllOf, mark } from "./json-schema-attach.js";
import { cutLoops } from "./json-schema-loops.js";
import { combine, hasForeignType, type Meaning, meaningOf } from "./json-schema-meaning.js";
import { BOOLEAN_STAYS, isAnnotation, POSITIONS, type Position } from "./json-schema-positions.js";
import { References } from "./json-schema-references.js";
import { type Part, partNode, type Reading } from "./json-schema-types.js";
import { MAX_SCHEMA_DEPTH } from "./limits.js";
import {
  type Dictionary,
  hide,
  isConverted,
  Kind,
  kindOf,
  OptionalKind,
  type SchemaNode,
  schemaNode,
  setOwn,
  sourceOf,
} from "./typebox-kinds.js";

/** How many places a log line names. */
const MAX_NAMED_PLACES = 10;

/**
 * Converts a JSON Schema (drafts 4 to 2020-12, OpenAPI's dialect, TypeBox 1.x) to a TypeBox schema.
 *
 * `JSON.stringify` of the result is the same JSON Schema as before. References inside the document
 * work, recursive ones too. What TypeBox has no kind for becomes `Unknown` with its keywords kept.
 *
 * @example
 * ```ts
 * const Pet = FromSchema({ type: "object", properties: { name: { type: "string" } }, required: ["name"] });
 * collectErrors(Pet, {}); // [{ path: "/name", message: "Expected required property" }, ...]
 * ```
 */
export function FromSchema(jsonSchema: unknown): ForBoth<TSchema> {
  if (kindOf(jsonSchema) !== undefined && !isConverted(jsonSchema)) return jsonSchema as ForBoth<TSchema>;
  const source = isConverted(jsonSchema) ? sourceOf(jsonSchema) : jsonSchema;
  if (!isRecord(source) && typeof source !== "boolean") {
    throw refuse(`expects a JSON Schema, which is an object or a boolean, but got ${describe(source)}`);
  }
  return new Conversion(source).run() as unknown as ForBoth<TSchema>;
}

/** A reference whose target is filled in when the whole document has been read. */
interface PendingReference {
  definitions: Dictionary;
  name: string;
  target: unknown;
}

class Conversion {
  private readonly references: References;
  private readonly done = new Map<object, SchemaNode>();
  private readonly doneOptional = new Map<object, SchemaNode>();
  private readonly open = new Set<object>();
  private readonly path: string[] = [];
  private readonly pending: PendingReference[] = [];
  private readonly unknown: string[] = [];
  private readonly unresolved: string[] = [];

  constructor(private readonly document: unknown) {
    this.references = new References(document);
  }

  run(): SchemaNode {
    const root = this.schema(this.document, false);
    const targets: SchemaNode[] = [];
    // Converting a target may add references to the list.
    for (let next = this.pending[targets.length]; next !== undefined; next = this.pending[targets.length]) {
      const target = this.schema(next.target, false);
      hide(next.definitions, next.name, target);
      targets.push(target);
    }
    if (cutLoops(targets)) this.unknown.push("a reference that leads back to itself");
    this.report();
    return root;
  }

  private schema(source: unknown, optional: boolean): SchemaNode {
    if (typeof source !== "object" || source === null || Array.isArray(source))
      return this.leaf(source, optional);
    // Built with TypeBox, or converted before.
    if (kindOf(source) !== undefined) return source as SchemaNode;
    if (this.open.has(source))
      throw refuse(`was given a schema that contains itself, at ${this.place()}: use $ref`);
    if (this.path.length >= MAX_SCHEMA_DEPTH) {
      throw refuse(`was given a schema that is nested deeper than ${MAX_SCHEMA_DEPTH} levels`);
    }
    const done = optional ? this.doneOptional : this.done;
    const known = done.get(source);
    if (known !== undefined) return known;

    const node: Dictionary = {};
    done.set(source, node as SchemaNode);
    this.open.add(source);
    const reading = { raw: readOnce(source), node };
    for (const keyword of Object.keys(reading.raw)) setOwn(node, keyword, this.keyword(keyword, reading.raw));
    if (optional) (node as SchemaNode)[OptionalKind] = "Optional";
    mark(node, source, this.tag(reading, source));
    this.open.delete(source);
    return node as SchemaNode;
  }

  /** A boolean schema; or a value that is not a schema, which is kept as it is. */
  private leaf(source: unknown, optional: boolean): SchemaNode {
    const node = source === false ? schemaNode("Never", { not: {} }) : schemaNode("Unknown");
    if (typeof source !== "boolean") this.unknown.push(this.place());
    hide(node, "toJSON", () => source);
    if (optional) node[OptionalKind] = "Optional";
    mark(node, source, true);
    return node;
  }

  private keyword(keyword: string, raw: Readonly<Dictionary>): unknown {
    const value = raw[keyword];
    const position = POSITIONS.get(keyword);
    if (position === undefined || typeof value !== "object" || value === null) {
      const isSchema = typeof value === "boolean" && position?.startsWith("schema") === true;
      return isSchema && !BOOLEAN_STAYS.has(keyword) ? this.leaf(value, false) : value;
    }
    this.path.push(keyword);
    const converted = this.subSchemas(keyword, position, value, raw);
    this.path.pop();
    return converted;
  }

  private subSchemas(keyword: string, position: Position, value: object, raw: Readonly<Dictionary>): unknown {
    if (Array.isArray(value)) {
      if (position !== "list" && position !== "schema or list") return value;
      return value.map((item: unknown, index) => this.at(String(index), item, false));
    }
    if (position === "list") return value;
    if (position !== "map") return this.schema(value, false);
    const required = new Set<unknown>(Array.isArray(raw.required) ? raw.required : []);
    const map: Dictionary = {};
    for (const name of Object.keys(value)) {
      const item = (value as Dictionary)[name];
      // `dependencies` also holds lists of names.
      const isNames = keyword === "dependencies" && Array.isArray(item);
      const optional = keyword === "properties" && !required.has(name);
      setOwn(map, name, isNames ? item : this.at(name, item, optional));
    }
    return map;
  }

  private at(token: string, source: unknown, optional: boolean): SchemaNode {
    this.path.push(token);
    const node = this.schema(source, optional);
    this.path.pop();
    return node;
  }

  /** Gives the node its kind; answers whether that took hidden helpers. */
  private tag(reading: Reading, source: object): boolean {
    const { raw, node } = reading;
    const references = referencesOf(raw);
    if (references.length > 0 && this.references.hidesSiblings) {
      const nullable = raw.nullable === true;
      return this.attachMeaning(reading, { parts: [], nullable }, references, source);
    }
    const all = Array.isArray(node.allOf) && node.allOf.length > 0 ? node.allOf : undefined;
    const meaning = meaningOf(reading, references.length === 0 && all === undefined);
    if (all === undefined) return this.attachMeaning(reading, meaning, references, source);

    const others = [...references.map((name) => this.reference(name, {}, source)), ...meaning.parts];
    if (!meaning.nullable && (others.length === 0 || joinAllOf(all, others))) {
      return attach(node, intersect(all, node.unevaluatedProperties));
    }
    const together: Part = { kind: "Intersect", keywords: { allOf: [...all, ...others.map(partNode)] } };
    return this.attachMeaning(reading, { parts: [together], nullable: meaning.nullable }, [], source);
  }

  private attachMeaning(
    reading: Reading,
    meaning: Meaning,
    references: readonly string[],
    source: object,
  ): boolean {
    const { raw, node } = reading;
    const [only, ...more] = references;
    if (only !== undefined && more.length === 0 && meaning.parts.length === 0 && !meaning.nullable) {
      const definitions = isRecord(node.$defs) && !Object.hasOwn(node.$defs, only) ? node.$defs : {};
      return attach(node, this.reference(only, definitions, source));
    }
    const parts = [...references.map((name) => this.reference(name, {}, source)), ...meaning.parts];
    const part = combine({ parts, nullable: meaning.nullable });
    if (part !== undefined) return attach(node, part);
    (node as SchemaNode)[Kind] = "Unknown";
    if (hasForeignType(raw) || !Object.keys(raw).every(isAnnotation)) this.unknown.push(this.place());
    return false;
  }

  private reference(name: string, definitions: Dictionary, source: object): Part {
    const target = this.references.resolve(name, source);
    if (target === undefined) {
      this.unresolved.push(name);
      return { kind: "Ref", keywords: { $ref: name } };
    }
    this.pending.push({ definitions, name, target });
    hide(definitions, name, undefined);
    return { kind: "Import", keywords: { $ref: name, $defs: definitions } };
  }

  private place(): string {
    return `#${this.path.map((token) => `/${pointerToken(token)}`).join("")}`;
  }

  private report(): void {
    if (this.unknown.length === 0 && this.unresolved.length === 0) return;
    const reasons: string[] = [];
    if (this.unknown.length > 0) reasons.push(`kept as Unknown: ${shorten(this.unknown)}`);
    if (this.unresolved.length > 0) {
      reasons.push(`references to outside the document: ${shorten([...new Set(this.unresolved)])}`);
    }
    logger("from-schema").warn(`TypeBox cannot represent all of a JSON Schema: ${reasons.join("; ")}`, {
      unknown: this.unknown.length,
      unresolved: this.unresolved.length,
    });
  }
}

/** The keywords, each read once, without a prototype that could add to them. */
function readOnce(source: object): Dictionary {
  const raw = Object.create(null) as Dictionary;
  for (const keyword of Object.keys(source)) raw[keyword] = (source as Dictionary)[keyword];
  return raw;
}

function referencesOf(raw: Readonly<Dictionary>): string[] {
  return ["$ref", "$dynamicRef", "$recursiveRef"]
    .map((keyword) => raw[keyword])
    .filter((value): value is string => typeof value === "string");
}

/** A list for a log line, which must not grow with what a document contains. */
function shorten(places: readonly string[]): string {
  const named = places.slice(0, MAX_NAMED_PLACES).map(shortened);
  const rest = places.length - named.length;
  return named.join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

function refuse(why: string): CallError {
  return invalid(`FromSchema ${why}`);
}
