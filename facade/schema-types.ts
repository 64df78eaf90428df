/**
 * A TypeBox schema, whichever copy or fork of TypeBox made it. Each copy tags its schemas with a
 * `Kind` symbol of its own `unique symbol` type, so the type is told by what they all share.
 */
export interface TypeBoxSchema {
  readonly params: unknown[];
  readonly static: unknown;
}

/** A schema of Zod, Valibot or any other library that follows Standard Schema. */
export interface StandardSchema<TInput = unknown, TOutput = TInput> {
  readonly "~standard": {
    readonly vendor: string;
    readonly version: 1;
    // biome-ignore lint/suspicious/noExplicitAny: its result type is a matter of the library
    readonly validate: (value: unknown) => any;
    readonly types?: { readonly input: TInput; readonly output: TOutput } | undefined;
  };
}

/** What an operation's schema may be. Other libraries than TypeBox need a `schemaAdapter`. */
// biome-ignore lint/suspicious/noExplicitAny: any input and output
export type AnySchema = TypeBoxSchema | StandardSchema<any, any>;

/** What a schema accepts. */
export type SchemaInput<S> =
  S extends StandardSchema<infer I, unknown>
    ? I
    : S extends TypeBoxSchema
      ? (S & { params: [] })["static"]
      : unknown;

/** What a schema produces. */
export type SchemaOutput<S> =
  S extends StandardSchema<unknown, infer O>
    ? O
    : S extends TypeBoxSchema
      ? (S & { params: [] })["static"]
      : unknown;

/** Whether a type argument was left to its default. */
type IsAny<T> = 0 extends 1 & T ? true : false;

/** `unknown` would force an annotation on people who do not want types; `any` does not. */
// biome-ignore lint/suspicious/noExplicitAny: see above
type Loose<T> = unknown extends T ? any : T;

/** A type argument may be the type of a schema or of the values that it describes. */
export type SchemaOf<T> = IsAny<T> extends true ? AnySchema : [T] extends [AnySchema] ? T : AnySchema;

/** What a handler receives. It is handed the caller's own object, checked but not transformed. */
export type InputOf<T> = IsAny<T> extends true ? T : [T] extends [AnySchema] ? Loose<SchemaInput<T>> : T;

/** What a handler returns. */
export type OutputOf<T> = IsAny<T> extends true ? T : [T] extends [AnySchema] ? Loose<SchemaOutput<T>> : T;
