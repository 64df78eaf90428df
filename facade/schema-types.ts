// What a schema is to the type checker, whichever library made it, and what its values are.

// biome-ignore lint/suspicious/noTsIgnore: optional. Where TypeBox 1.x is not installed this is `any`, and nobody can have a schema that would need it
/** @ts-ignore */
import type { Static as StaticOfTypeBox1 } from "typebox" with { "resolution-mode": "import" };

/**
 * A schema of TypeBox 0.34 or of a fork. Each copy of TypeBox tags its schemas with a `Kind` symbol of its own
 * `unique symbol` type, so the type is told by what they all share.
 *
 * @example
 * ```ts
 * const schema: TypeBoxSchema = Type.String();
 * ```
 */
export interface TypeBoxSchema {
  readonly params: unknown[];
  readonly static: unknown;
}

/** A schema of TypeBox 1.x. */
export type TypeBox1Schema = { readonly "~kind": string } | { readonly "~unsafe": unknown };

/**
 * A schema of Zod, Valibot, ArkType or any other library that follows Standard Schema.
 *
 * @example
 * ```ts
 * const anything: StandardSchema<string> = {
 *   "~standard": { vendor: "mine", version: 1, validate: (value) => ({ value }) },
 * };
 * ```
 */
export interface StandardSchema<TInput = unknown, TOutput = TInput> {
  readonly "~standard": {
    readonly vendor: string;
    readonly version: 1;
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly input: TInput; readonly output: TOutput } | undefined;
  };
}

/**
 * What an operation's schema may be.
 *
 * @example
 * ```ts
 * const schemas: AnySchema[] = [Type.Object({ name: Type.String() })]; // or of Zod, Valibot, ArkType
 * ```
 */
export type AnySchema = TypeBoxSchema | TypeBox1Schema | StandardSchema;

/**
 * What a schema accepts: with defaults and transforms, the side before them.
 *
 * @example
 * ```ts
 * const schema = Type.Object({ name: Type.String() });
 * const input: SchemaInput<typeof schema> = { name: "Ada" };
 * ```
 */
export type SchemaInput<S> = S extends { readonly "~standard": { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly input: infer I }
    ? I
    : unknown
  : StaticOf<S>;

/**
 * What a schema produces: with defaults and transforms, the side after them.
 *
 * @example
 * ```ts
 * const schema = Type.Object({ greeting: Type.String() });
 * const output: SchemaOutput<typeof schema> = { greeting: "Hello" };
 * ```
 */
export type SchemaOutput<S> = S extends { readonly "~standard": { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer O }
    ? O
    : unknown
  : StaticOf<S>;

/** TypeBox schemas have one side. */
type StaticOf<S> = S extends TypeBoxSchema
  ? (S & { params: [] })["static"]
  : S extends TypeBox1Schema
    ? StaticOfTypeBox1<S>
    : unknown;

/** Whether a type argument was left to its default. */
export type IsAny<T> = 0 extends 1 & T ? true : false;

/** `unknown` would force an annotation on people who do not want types; `any` does not. */
// biome-ignore lint/suspicious/noExplicitAny: see above
type Loose<T> = unknown extends T ? any : T;

/**
 * The schema of an operation whose type arguments are left out, or are the types of its values. It must be possible to
 * put a schema of any library there, and to hand what is there to whichever TypeBox the user has: only `any` does both.
 */
// biome-ignore lint/suspicious/noExplicitAny: see above
type Untyped = any;

/** A type argument may be the type of a schema or of the values that it describes. */
export type SchemaOf<T> = IsAny<T> extends true ? Untyped : [T] extends [AnySchema] ? T : Untyped;

/** What callers pass. */
export type CallerInput<T> = IsAny<T> extends true ? T : [T] extends [AnySchema] ? Loose<SchemaInput<T>> : T;

/** What a handler receives: what the schema's library made of what callers passed. */
export type HandlerInput<T> =
  IsAny<T> extends true ? T : [T] extends [AnySchema] ? Loose<SchemaOutput<T>> : T;

/** What a handler returns. */
export type HandlerOutput<T> =
  IsAny<T> extends true ? T : [T] extends [AnySchema] ? Loose<SchemaInput<T>> : T;

/** What callers get: what the schema's library made of what the handler returned. */
export type CallerOutput<T> =
  IsAny<T> extends true ? T : [T] extends [AnySchema] ? Loose<SchemaOutput<T>> : T;
