// A schema as text for the native engine. JSON alone would lose symbols, `undefined`, bigints and
// live objects, so every container starts with a letter that says what it is; the table is in
// docs/design/schema-engine.md. Built by string concatenation: V8 keeps that cheap.

import { types } from "node:util";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import {
  BUILT_IN_KINDS,
  type Dictionary,
  isConverted,
  kindOf,
  OptionalKind,
  ReadonlyKind,
  sourceOf,
  TransformKind,
  tagOf,
} from "./typebox-kinds.js";

/** A schema in the engine's encoding. */
export interface EncodedSchema {
  /** The encoded text. */
  text: string;
  /** Live values that the text refers to by position. */
  slots: unknown[];
}

/** How many containers may be nested; the engine has the same limit. */
export const MAX_SCHEMA_DEPTH = 512;
/** How many values a schema may consist of: shared objects count every time they are reached. */
const MAX_VALUES = 2_000_000;
/** How long the text may get. */
const MAX_TEXT = 256 * 1024 * 1024;

const FLAG_OPTIONAL = 1;
const FLAG_JSON_SCHEMA = 2;
const FLAG_READONLY = 4;
const FLAG_TRANSFORM = 8;
const FLAG_LIVE = 16;

const LONE_SURROGATE = /[\ud800-\udfff]/u;

/** Encodes a schema; what JSON cannot say stays in `slots`. */
export function encodeSchema(schema: unknown): EncodedSchema {
  const encoder = new Encoder();
  const text = encoder.value(schema);
  return { text, slots: encoder.slots };
}

class Encoder {
  readonly slots: unknown[] = [];
  private readonly open = new Set<object>();
  private values = 0;
  private length = 0;

  value(value: unknown): string {
    switch (typeof value) {
      case "string":
        return this.string(value);
      case "number":
        return number(value);
      case "boolean":
        return value ? "true" : "false";
      case "undefined":
        return '["u"]';
      case "bigint":
        return `["n","${value}"]`;
      case "object":
        return value === null ? "null" : this.object(value);
      default:
        return this.slot(value);
    }
  }

  private object(value: object): string {
    if (isConverted(value)) {
      const source = sourceOf(value);
      // A boolean schema, or a keyword value that stands in for another one.
      if (Array.isArray(value) || typeof source !== "object" || source === null) {
        return this.value(source);
      }
    }
    if (Array.isArray(value)) {
      this.enter(value);
      const text = this.array(value);
      this.open.delete(value);
      return text;
    }
    const kind = kindOf(value);
    if (kind === undefined) {
      if (types.isDate(value)) {
        const time = Date.prototype.getTime.call(value);
        return `["d",${Number.isNaN(time) ? "null" : time}]`;
      }
      if (!isPlain(value)) return this.slot(value);
    }
    this.enter(value);
    const text = this.dictionary(value as Dictionary, kind);
    this.open.delete(value);
    return text;
  }

  private enter(value: object): void {
    if (this.open.has(value)) throw refuse("contains itself; use a reference ($ref, Type.Recursive) instead");
    if (this.open.size >= MAX_SCHEMA_DEPTH) throw refuse(`is nested deeper than ${MAX_SCHEMA_DEPTH} levels`);
    this.open.add(value);
  }

  private array(items: readonly unknown[]): string {
    this.count(items.length);
    let text = '["a"';
    for (let index = 0; index < items.length; index += 1) {
      text += `,${this.value(items[index])}`;
    }
    return `${text}]`;
  }

  private dictionary(value: Dictionary, kind: string | undefined): string {
    const converted = isConverted(value);
    const flags = flagsOf(value, kind, converted);
    const keys = Object.keys(value);
    this.count(keys.length);
    let text = `["o",${kind === undefined ? "null" : this.name(kind)},${flags}`;
    if ((flags & FLAG_LIVE) !== 0) text += `,${this.slotNumber(value)}`;
    for (const key of keys) {
      const name = this.name(key);
      text += `,${name},${this.value(value[key])}`;
    }
    return `${text}]`;
  }

  private count(more: number): void {
    this.values += more;
    if (this.values > MAX_VALUES) throw refuse(`consists of more than ${MAX_VALUES} values`);
  }

  private string(value: string): string {
    const known = QUOTED_WORDS.get(value);
    if (known !== undefined) return known;
    const text = this.quote(value);
    // The engine's strings are UTF-8, which has no lone surrogates; the live string has.
    return text.includes("\\ud") && LONE_SURROGATE.test(value) ? this.slot(value) : text;
  }

  private name(value: string): string {
    const known = QUOTED_WORDS.get(value);
    if (known !== undefined) return known;
    const text = this.quote(value);
    if (text.includes("\\ud") && LONE_SURROGATE.test(value)) {
      throw refuse(`has a name that is not valid Unicode: ${text}`);
    }
    return text;
  }

  private quote(value: string): string {
    const text = JSON.stringify(value);
    this.length += text.length;
    if (this.length > MAX_TEXT) throw refuse(`is longer than ${MAX_TEXT} characters`);
    return text;
  }

  private slot(value: unknown): string {
    return `["s",${this.slotNumber(value)}]`;
  }

  private slotNumber(value: unknown): number {
    return this.slots.push(value) - 1;
  }
}

function flagsOf(value: object, kind: string | undefined, converted: boolean): number {
  let flags = 0;
  if (tagOf(value, OptionalKind) === "Optional") flags |= FLAG_OPTIONAL;
  if (tagOf(value, ReadonlyKind) === "Readonly") flags |= FLAG_READONLY;
  if (tagOf(value, TransformKind) !== undefined) flags |= FLAG_TRANSFORM;
  if (converted) flags |= FLAG_JSON_SCHEMA;
  else if (kind !== undefined && !BUILT_IN_KINDS.has(kind)) flags |= FLAG_LIVE;
  return flags;
}

function number(value: number): string {
  if (Number.isFinite(value) && !Object.is(value, -0)) return String(value);
  return Object.is(value, -0) ? '["x","-0"]' : `["x","${value}"]`;
}

/** Objects of another realm count too: their prototype is an end of the chain like our own. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function refuse(why: string): CallError {
  return new CallError(InfrastructureErrorCode.VALIDATION_ERROR, `Cannot use this schema: it ${why}`);
}

/** Words that almost every schema has, quoted once. */
const QUOTED_WORDS: ReadonlyMap<string, string> = new Map(
  [
    ...BUILT_IN_KINDS,
    ...["$defs", "$id", "$ref", "$schema", "additionalProperties", "allOf", "anyOf", "const"],
    ...["default", "description", "enum", "format", "items", "maxItems", "maxLength", "maximum"],
    ...["minItems", "minLength", "minimum", "not", "oneOf", "pattern", "patternProperties"],
    ...["properties", "required", "title", "type", "uniqueItems"],
    ...["array", "boolean", "integer", "null", "number", "object", "string"],
  ].map((name) => [name, JSON.stringify(name)]),
);
