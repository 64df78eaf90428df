// A package that looks like a fork of TypeBox: the same shapes, but with `Kind` of a `unique symbol`
// type of its own, so that its schemas are not assignable to those of @sinclair/typebox.

export declare const Kind: unique symbol;

export interface TSchema {
  [Kind]: string;
  [prop: string]: unknown;
  params: unknown[];
  static: unknown;
}

export interface TString extends TSchema {
  [Kind]: "String";
  static: string;
  type: "string";
}

export interface TObject<P extends Record<string, TSchema>> extends TSchema {
  [Kind]: "Object";
  static: { [K in keyof P]: P[K]["static"] };
  properties: P;
}

export declare function StringSchema(): TString;
export declare function ObjectSchema<P extends Record<string, TSchema>>(properties: P): TObject<P>;

/** As `Value.Check` of such a package. */
export declare const Value: { Check(schema: TSchema, value: unknown): boolean };
