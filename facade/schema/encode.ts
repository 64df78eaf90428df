// A schema as text for the native engine. JSON alone would lose symbols, `undefined`, bigints and
// live objects, so every container starts with a letter that says what it is; the table is in
// docs/design/schema-engine.md. Built by string concatenation: V8 keeps that cheap.
//
// Most schemas are encoded once, when a process starts, by code that V8 has not even compiled yet. So the
// way of an ordinary TypeBox schema leads through few functions, and each node takes few checks.

import { types } from "node:util";
import { type CallError, invalid } from "../errors.js";
import { MAX_SCHEMA_DEPTH } from "./limits.js";
import { expectFormat } from "./registries.js";
import {
  BUILT_IN_KINDS,
  type Dictionary,
  JsonSchemaSource,
  Kind,
  OptionalKind,
  ReadonlyKind,
  type SchemaNode,
  TransformKind,
} from "./typebox-kinds.js";

/** A schema in the engine's encoding. */
interface EncodedSchema {
  /** The encoded text. */
  text: string;
  /** Live values that the text refers to by position. */
  slots: unknown[];
}

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

/** From this depth on an object is looked for among those around it. Schemas that end are rarely that
 * deep, and one that contains itself gets there at once. */
const LOOKS_ENDLESS = 24;

/** An encoding under way. */
interface Encoding {
  readonly slots: unknown[];
  /** The containers around the value at hand. */
  readonly open: object[];
  values: number;
  length: number;
}

/** Encodes a schema; what JSON cannot say stays in `slots`. */
export function encodeSchema(schema: unknown): EncodedSchema {
  const state: Encoding = { slots: [], open: [], values: 0, length: 0 };
  return { text: encode(state, schema), slots: state.slots };
}

function encode(state: Encoding, value: unknown): string {
  if (typeof value === "string") return WORDS.get(value) ?? quoteString(state, value);
  if (typeof value !== "object" || value === null) return encodeScalar(state, value);
  const { open } = state;
  const converted = JsonSchemaSource in value && Object.hasOwn(value, JsonSchemaSource);
  const list = Array.isArray(value);
  let text: string;
  if (converted) {
    const source = (value as SchemaNode)[JsonSchemaSource];
    // A boolean schema, or a keyword value that stands in for another one.
    if (list || typeof source !== "object" || source === null) return encode(state, source);
  }
  if (list) {
    if (open.length >= LOOKS_ENDLESS) guardDepth(open, value);
    open.push(value);
    count(state, value.length);
    text = '["a"';
    for (let index = 0; index < value.length; index += 1) text += `,${encode(state, value[index])}`;
  } else {
    const node = value as SchemaNode & Dictionary;
    const kind = node[Kind];
    const flags = tags(node);
    let start: KindStart | undefined;
    if (typeof kind === "string" && Object.hasOwn(value, Kind)) {
      start = converted ? undefined : KIND_STARTS.get(kind);
      text = start === undefined ? startSpecially(state, value, kind, flags, converted) : start.text + flags;
    } else {
      const prototype: unknown = Object.getPrototypeOf(value);
      if (prototype !== Object.prototype && !isPlain(prototype)) return encodeInstance(state, value);
      text = `["o",null,${converted ? flags | FLAG_JSON_SCHEMA : flags}`;
    }
    if (open.length >= LOOKS_ENDLESS) guardDepth(open, value);
    const keys = Object.keys(node);
    count(state, keys.length);
    if (
      start !== undefined &&
      keys.length === start.usualKeys &&
      flags <= FLAG_OPTIONAL &&
      (keys.length === 0 || (keys[0] === "type" && node.type === start.usualType))
    ) {
      return flags === 0 ? start.usual : start.usualOptional;
    }
    if (start?.usualType === "string" && typeof node.format === "string") expectFormat(node.format);
    open.push(value);
    for (let index = 0; index < keys.length; index += 1) {
      const key = keys[index] as string;
      text += (names.get(key) ?? quoteName(state, key)) + encode(state, node[key]);
    }
  }
  open.pop();
  return `${text}]`;
}

function encodeScalar(state: Encoding, value: unknown): string {
  switch (typeof value) {
    case "number":
      if (Number.isFinite(value) && !Object.is(value, -0)) return String(value);
      return Object.is(value, -0) ? '["x","-0"]' : `["x","${value}"]`;
    case "boolean":
      return value ? "true" : "false";
    case "undefined":
      return '["u"]';
    case "bigint":
      return `["n","${value}"]`;
    case "object":
      return "null";
    default:
      return slot(state, value);
  }
}

/** The beginning of an object with a kind that is not TypeBox's own, or that `FromSchema` made. */
function startSpecially(
  state: Encoding,
  value: object,
  kind: string,
  flags: number,
  converted: boolean,
): string {
  const start = `["o",${quote(state, kind)},${flags | (converted ? FLAG_JSON_SCHEMA : FLAG_LIVE)}`;
  return converted ? start : `${start},${state.slots.push(value) - 1}`;
}

/** The flags for what TypeBox notes beside the kind, on the object itself. */
function tags(node: SchemaNode): number {
  let flags = 0;
  if (node[OptionalKind] === "Optional" && Object.hasOwn(node, OptionalKind)) flags |= FLAG_OPTIONAL;
  if (node[ReadonlyKind] === "Readonly" && Object.hasOwn(node, ReadonlyKind)) flags |= FLAG_READONLY;
  if (node[TransformKind] !== undefined && Object.hasOwn(node, TransformKind)) flags |= FLAG_TRANSFORM;
  return flags;
}

/** An object that is not plain. */
function encodeInstance(state: Encoding, value: object): string {
  if (!types.isDate(value)) return slot(state, value);
  const time = Date.prototype.getTime.call(value);
  return `["d",${Number.isNaN(time) ? "null" : time}]`;
}

/** Objects of another realm count too: their prototype is an end of the chain like our own. */
function isPlain(prototype: unknown): boolean {
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function guardDepth(open: readonly object[], value: object): void {
  if (open.includes(value)) throw refuse("contains itself; use a reference ($ref, Type.Recursive) instead");
  if (open.length >= MAX_SCHEMA_DEPTH) throw refuse(`is nested deeper than ${MAX_SCHEMA_DEPTH} levels`);
}

function count(state: Encoding, more: number): void {
  state.values += more;
  if (state.values > MAX_VALUES) throw refuse(`consists of more than ${MAX_VALUES} values`);
}

function quoteString(state: Encoding, value: string): string {
  const text = quote(state, value);
  // The engine's strings are UTF-8, which has no lone surrogates; the live string has.
  return text.includes("\\ud") && LONE_SURROGATE.test(value) ? slot(state, value) : text;
}

/** A name between commas. */
function quoteName(state: Encoding, name: string): string {
  const quoted = quote(state, name);
  if (quoted.includes("\\ud") && LONE_SURROGATE.test(name)) {
    throw refuse(`has a name that is not valid Unicode: ${quoted}`);
  }
  const text = `,${quoted},`;
  if (name.length <= MAX_KEPT_LENGTH && names.size < MAX_KEPT_NAMES) names.set(name, text);
  return text;
}

function quote(state: Encoding, value: string): string {
  const text = JSON.stringify(value);
  state.length += text.length;
  if (state.length > MAX_TEXT) throw refuse(`is longer than ${MAX_TEXT} characters`);
  return text;
}

function slot(state: Encoding, value: unknown): string {
  return `["s",${state.slots.push(value) - 1}]`;
}

function refuse(why: string): CallError {
  return invalid(`Cannot use this schema: it ${why}`);
}

/** How a schema of one of TypeBox's own kinds is encoded. */
interface KindStart {
  /** The beginning, up to the flags. */
  readonly text: string;
  /** How many keys the schema has when nothing was asked of it: none, or `type` alone; -1 when there is no
   * short form for it. */
  readonly usualKeys: number;
  readonly usualType: string | undefined;
  /** The short form, and that of an optional property. */
  readonly usual: string;
  readonly usualOptional: string;
}

/** What `type` says in the kinds that have a short form; the reader in Rust has the same table. */
const USUAL_TYPES: ReadonlyMap<string, string | undefined> = new Map([
  ["Any", undefined],
  ["Boolean", "boolean"],
  ["Integer", "integer"],
  ["Null", "null"],
  ["Number", "number"],
  ["String", "string"],
  ["Unknown", undefined],
]);

const KIND_STARTS: ReadonlyMap<string, KindStart> = new Map(
  Array.from(BUILT_IN_KINDS, (kind) => {
    const usualType = USUAL_TYPES.get(kind);
    const start: KindStart = {
      text: `["o","${kind}",`,
      usualKeys: USUAL_TYPES.has(kind) ? Number(usualType !== undefined) : -1,
      usualType,
      usual: `["l","${kind}",0]`,
      usualOptional: `["l","${kind}",1]`,
    };
    return [kind, start];
  }),
);

/** Strings that almost every schema has, quoted. */
const WORDS: ReadonlyMap<string, string> = new Map(
  ["array", "boolean", "integer", "null", "number", "object", "string"].map((word) => [word, `"${word}"`]),
);

/** The bounds of the names that are kept. */
const MAX_KEPT_LENGTH = 40;
const MAX_KEPT_NAMES = 2_000;

/** Names that came by, quoted and between commas: the schemas of an application share most of theirs. */
const names = new Map<string, string>();
