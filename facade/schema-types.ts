// What a schema is to the type checker, whichever library made it, and what its values are.

// biome-ignore lint/suspicious/noTsIgnore: optional. Where TypeBox 1.x is not installed this is `any`, and no schema can need it
/** @ts-ignore */
import type { Static as StaticOfTypeBox1 } from "typebox" with { "resolution-mode": "import" };

/**
 * A schema of TypeBox 0.34 or of a fork. Each copy of TypeBox tags its schemas with a `Kind` symbol of its own
 * `unique symbol` type, so this type describes what they have in common.
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
 * Every kind of schema that an operation accepts.
 *
 * @example
 * ```ts
 * const schemas: AnySchema[] = [Type.Object({ name: Type.String() })]; // or of Zod, Valibot, ArkType
 * ```
 */
export type AnySchema = TypeBoxSchema | TypeBox1Schema | StandardSchema;

/**
 * The values that a schema accepts, before defaults and transforms.
 *
 * @example
 * ```ts
 * const schema = Type.Object({ name: Type.String() });
 * const input: SchemaInput<typeof schema> = { name: "Ada" };
 * ```
 */
export type SchemaInput<S> = S extends TypeBoxSchema
  ? StaticOfTypeBox<S>
  : S extends { readonly "~standard": { readonly types?: infer T } }
    ? NonNullable<T> extends { readonly input: infer I }
      ? I
      : unknown
    : StaticOfOthers<S>;

/**
 * The values that a schema produces, after defaults and transforms.
 *
 * @example
 * ```ts
 * const schema = Type.Object({ greeting: Type.String() });
 * const output: SchemaOutput<typeof schema> = { greeting: "Hello" };
 * ```
 */
export type SchemaOutput<S> = S extends TypeBoxSchema
  ? StaticOfTypeBox<S>
  : S extends { readonly "~standard": { readonly types?: infer T } }
    ? NonNullable<T> extends { readonly output: infer O }
      ? O
      : unknown
    : StaticOfOthers<S>;

// Both sides of a TypeBox schema are the same. Asked for in TypeBox's own words, the compiler works them out once.
type StaticOfTypeBox<S extends TypeBoxSchema> = (S & { params: [] })["static"];
type StaticOfOthers<S> = S extends TypeBox1Schema ? StaticOfTypeBox1<S> : unknown;

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

/** Before the transforms of a schema's library: what callers pass, and what a handler returns. */
export type ValueBefore<T> = [T] extends [AnySchema] ? Loose<SchemaInput<T>> : T;

/** After them: what a handler receives, and what callers get. */
export type ValueAfter<T> = [T] extends [AnySchema] ? Loose<SchemaOutput<T>> : T;

// The same for schemas that are still to be inferred, which these types hide: to look for them in what a handler takes and returns
// would take the compiler six times as long. `NoInfer` would hide them too, and editors would show it.
export type HandlerInput<S extends AnySchema> = [Loose<SchemaOutput<S>>][S extends unknown ? 0 : never];
export type HandlerOutput<S extends AnySchema> = [Loose<SchemaInput<S>>][S extends unknown ? 0 : never];

// biome-ignore lint/suspicious/noTsIgnore: for the declarations: where the fork is not installed, this is `any`
/** @ts-ignore */
type ForkSchema = import("@alkdev/typebox").TSchema;

/** The symbols by which the fork knows a schema; all else it has in common with TypeBox. In a function, because a condition
 * about a type that could not be found is itself such a type. */
type ForkTags = (() => 0) extends () => ForkSchema
  ? unknown
  : Pick<ForkSchema, Extract<keyof ForkSchema, symbol>>;

/** A schema that can be handed to TypeBox, and to its fork `@alkdev/typebox` where that is installed. */
export type ForBoth<T> = T & ForkTags;
