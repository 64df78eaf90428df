// What makes an object a TypeBox schema, without TypeBox itself: loading it costs tens of
// milliseconds and would put a second copy beside the user's own. The tags are global symbols, so
// objects built here are schemas to every copy of TypeBox 0.34 and of its forks.

/** The tag that names a schema's kind (`"String"`, `"Object"`, ...). */
export const Kind: unique symbol = Symbol.for("TypeBox.Kind") as never;
/** The tag of a property schema that may be absent. */
export const OptionalKind: unique symbol = Symbol.for("TypeBox.Optional") as never;
/** The tag of a property schema that must not be written. */
export const ReadonlyKind: unique symbol = Symbol.for("TypeBox.Readonly") as never;
/** The tag that holds the two functions of a transform. */
export const TransformKind: unique symbol = Symbol.for("TypeBox.Transform") as never;
/** The tag on what `FromSchema` made; its value is the JSON Schema that was converted. */
export const JsonSchemaSource: unique symbol = Symbol.for("alkdev.operations.jsonSchema") as never;

/** A schema object of TypeBox 0.34, seen structurally. */
export interface SchemaNode {
  [keyword: string]: unknown;
  [Kind]: string;
  [OptionalKind]?: "Optional";
  [ReadonlyKind]?: "Readonly";
  [TransformKind]?: unknown;
  [JsonSchemaSource]?: unknown;
}

/** The kinds that TypeBox checks by itself. Any other kind is the business of a `TypeRegistry`. */
export const BUILT_IN_KINDS: ReadonlySet<string> = new Set([
  "Any",
  "Argument",
  "Array",
  "AsyncIterator",
  "BigInt",
  "Boolean",
  "Constructor",
  "Date",
  "Function",
  "Import",
  "Integer",
  "Intersect",
  "Iterator",
  "Literal",
  "Never",
  "Not",
  "Null",
  "Number",
  "Object",
  "Promise",
  "Record",
  "Ref",
  "RegExp",
  "String",
  "Symbol",
  "TemplateLiteral",
  "This",
  "Tuple",
  "Uint8Array",
  "Undefined",
  "Union",
  "Unknown",
  "Void",
]);

/** An object with string keys whose values are not checked yet. */
export type Dictionary = Record<string, unknown>;

/** The kind of a TypeBox 0.34 schema; undefined for everything else, inherited tags included. */
export function kindOf(value: unknown): string | undefined {
  const kind = tagOf(value, Kind);
  return typeof kind === "string" ? kind : undefined;
}

/** An own tag of an object. Most objects have none at all, which is found out by the cheap test first. */
function tagOf(value: unknown, tag: symbol): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  const found = (value as Record<symbol, unknown>)[tag];
  return found === undefined || !Object.hasOwn(value, tag) ? undefined : found;
}

/** Whether `FromSchema` made this value. */
export function isConverted(value: unknown): value is object {
  return (
    typeof value === "object" &&
    value !== null &&
    JsonSchemaSource in value &&
    Object.hasOwn(value, JsonSchemaSource)
  );
}

/** The JSON Schema that a converted schema came from. */
export function sourceOf(value: object): unknown {
  return (value as SchemaNode)[JsonSchemaSource];
}

/** Sets an own, enumerable property; assigning to `__proto__` would change the prototype instead. */
export function setOwn(target: object, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    (target as Dictionary)[key] = value;
  }
}

/** Sets an own property that neither `JSON.stringify` nor `Object.keys` shows. */
export function hide(target: object, key: PropertyKey, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: false, configurable: true });
}

/** A schema of that kind with these keywords; undefined ones are left out. */
export function schemaNode(kind: string, keywords: Readonly<Dictionary> = {}): SchemaNode {
  const node = { [Kind]: kind } as SchemaNode;
  for (const key of Object.keys(keywords)) {
    const value = keywords[key];
    if (value !== undefined) setOwn(node, key, value);
  }
  return node;
}
