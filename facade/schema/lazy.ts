// Schemas that are made when they are first read. A document may have a thousand operations of which a
// program calls ten.

/** The getters that stand for a schema which may not be made yet: how each is made, its JSON text if there is one, and a
 * text that has names and descriptions only. */
const waiting = new WeakMap<
  object,
  {
    readonly make: () => unknown;
    readonly text: (() => string) | undefined;
    readonly outline: (() => string) | undefined;
  }
>();

/** Where a spec has its schemas. */
export const SCHEMA_FIELDS = ["inputSchema", "outputSchema"] as const;
type SchemaField = (typeof SCHEMA_FIELDS)[number];

/**
 * Gives an object a schema that `make` makes at the first access. To everyone else it is an own, enumerable
 * property like any other: it can be replaced, and copies by `{ ...object }` hold the schema itself.
 */
export function defineLazySchema(
  object: object,
  field: SchemaField,
  make: () => unknown,
  text?: () => string,
  outline?: () => string,
): void {
  let made: { schema: unknown } | undefined;
  // Called on whichever copy has the getter, so that each becomes plain at the first access, with one schema for all.
  function get(this: object): unknown {
    made ??= { schema: make() };
    if (Object.hasOwn(this, field)) settle(this, field, made.schema);
    return made.schema;
  }
  waiting.set(get, { make, text, outline });
  Object.defineProperty(object, field, {
    get,
    set(this: object, replacement: unknown) {
      settle(this, field, replacement);
    },
    enumerable: true,
    configurable: true,
  });
}

/** Makes it a plain property. A frozen object refuses, and keeps the getter. */
function settle(object: object, field: SchemaField, schema: unknown): void {
  Reflect.defineProperty(object, field, { ...PLAIN, value: schema });
}

/** How the schema in this field is made, if it may not be made yet. */
export function makerOf(object: object, field: SchemaField): (() => unknown) | undefined {
  const get = Object.getOwnPropertyDescriptor(object, field)?.get;
  return get && waiting.get(get)?.make;
}

/** Whether the schema in this field may not be made yet. */
export function isLazySchema(object: object, field: SchemaField): boolean {
  return makerOf(object, field) !== undefined;
}

/** The JSON text of a schema that may not be made yet, and what it has in common with its copies. */
export function lazySchemaText(
  object: object,
  field: SchemaField,
): { readonly key: object; readonly text: () => string } | undefined {
  const key = Object.getOwnPropertyDescriptor(object, field)?.get;
  const text = key && waiting.get(key)?.text;
  return key && text && { key, text };
}

/** The names and descriptions in a schema that may not be made yet, as the JSON text of a schema, where that is cheaper. */
export function lazySchemaOutline(object: object, field: SchemaField): string | undefined {
  const get = Object.getOwnPropertyDescriptor(object, field)?.get;
  return get && waiting.get(get)?.outline?.();
}

/** `{ ...object }`, except that schemas which may not be made yet are not made by it. */
export function copyOf<T extends object>(object: T): T {
  const lazy = SCHEMA_FIELDS.filter((field) => isLazySchema(object, field));
  if (lazy.length === 0) return { ...object };
  const copy = {} as T;
  for (const key of Reflect.ownKeys(object)) {
    const descriptor = Object.getOwnPropertyDescriptor(object, key);
    if (descriptor?.enumerable !== true) continue;
    const isLazy = lazy.includes(key as SchemaField);
    const value = isLazy ? undefined : (object as Record<PropertyKey, unknown>)[key];
    Object.defineProperty(copy, key, isLazy ? descriptor : { ...PLAIN, value });
  }
  return copy;
}

/** The same object if all its schemas are made, else a copy with `instead` in the place of those that are not. */
export function withoutLazySchemas<T extends object>(object: T, instead: object | undefined): T {
  const lazy = SCHEMA_FIELDS.filter((field) => isLazySchema(object, field));
  if (lazy.length === 0) return object;
  const copy: Record<string, unknown> = copyOf(object) as Record<string, unknown>;
  for (const field of lazy) copy[field] = instead;
  return copy as T;
}

const PLAIN = { writable: true, enumerable: true, configurable: true } as const;
