// FromSchema: which kind each JSON Schema becomes, what stays of the source, and that TypeBox's own
// Value.Check works on the result.

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { FromSchema } from "@alkdev/operations";
import { configure, reset } from "@logtape/logtape";
import { Kind, OptionalKind, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { Value } from "@sinclair/typebox/value";

const Source = Symbol.for("alkdev.operations.jsonSchema");
const string = { type: "string" };
const number = { type: "number" };

const logged = [];
before(() =>
  configure({
    sinks: { list: (record) => logged.push(record) },
    loggers: [
      { category: ["operations"], sinks: ["list"], lowestLevel: "debug" },
      { category: ["logtape", "meta"], sinks: [], lowestLevel: "error" },
    ],
  }),
);
after(() => reset());
beforeEach(() => {
  logged.length = 0;
});

/** Converts, and holds the result to what is promised of every result. */
function convert(source) {
  const text = JSON.stringify(source);
  const schema = FromSchema(source);
  assert.equal(JSON.stringify(schema), text, "the JSON is the same");
  assert.equal(JSON.stringify(source), text, "the source is untouched");
  assert.equal(schema[Source], source, "the source is on the result");
  return schema;
}

function accepts(schema, ...values) {
  for (const value of values)
    assert.equal(Value.Check(schema, value), true, `accepts ${JSON.stringify(value)}`);
}

function refuses(schema, ...values) {
  for (const value of values)
    assert.equal(Value.Check(schema, value), false, `refuses ${JSON.stringify(value)}`);
}

describe("kinds", () => {
  const table = [
    ["allOf", { allOf: [string, { minLength: 2 }] }, "Intersect"],
    ["anyOf", { anyOf: [string, number] }, "Union"],
    ["oneOf", { oneOf: [string, number] }, "Union"],
    ["enum", { enum: ["a", "b"] }, "Union"],
    ["enum with a type", { type: "string", enum: ["a", "b"] }, "Union"],
    ["enum with null and mixed types", { enum: ["a", 1, true, null] }, "Union"],
    ["object", { type: "object", properties: { a: string }, required: ["a"] }, "Object"],
    ["object without properties", { type: "object" }, "Object"],
    ["properties without type", { properties: { a: string } }, "Object"],
    ["additionalProperties schema", { type: "object", additionalProperties: number }, "Object"],
    ["patternProperties", { type: "object", patternProperties: { "^x": number } }, "Record"],
    ["items array", { type: "array", items: [string, number] }, "Tuple"],
    ["prefixItems", { type: "array", prefixItems: [string, number] }, "Tuple"],
    ["prefixItems, closed", { type: "array", prefixItems: [string, number], items: false }, "Tuple"],
    ["prefixItems with a rest", { type: "array", prefixItems: [string], items: number }, "Tuple"],
    ["items", { type: "array", items: string }, "Array"],
    ["array without items", { type: "array" }, "Array"],
    ["string const", { const: "a" }, "Literal"],
    ["number const", { const: 0 }, "Literal"],
    ["boolean const", { const: false }, "Literal"],
    ["null const", { const: null }, "Null"],
    ["type array", { type: ["string", "null"] }, "Union"],
    ["nullable", { type: "string", nullable: true }, "Union"],
    ["not", { not: string }, "Not"],
    ["true", true, "Unknown"],
    ["false", false, "Never"],
    ["reference out of the document", { $ref: "Elsewhere" }, "Ref"],
    ["string", string, "String"],
    ["number", number, "Number"],
    ["integer", { type: "integer" }, "Integer"],
    ["boolean", { type: "boolean" }, "Boolean"],
    ["null", { type: "null" }, "Null"],
    ["nothing", {}, "Unknown"],
    ["annotations", { title: "T", description: "D", default: 1, "x-own": {} }, "Unknown"],
    ["unrecognised", { type: "weird" }, "Unknown"],
  ];
  for (const [name, source, kind] of table) {
    test(`FromSchema makes ${kind} of ${name}`, () => assert.equal(convert(source)[Kind], kind));
  }

  test("FromSchema makes what TypeBox itself would build", () => {
    const schemas = [
      Type.String({ minLength: 1, format: "email", description: "d" }),
      Type.Number({ minimum: 1, exclusiveMaximum: 5, multipleOf: 0.5 }),
      Type.Object({ a: Type.String(), b: Type.Optional(Type.Array(Type.Integer())) }, { title: "T" }),
      Type.Object({ a: Type.Null() }, { additionalProperties: Type.Boolean() }),
      Type.Union([Type.Literal("a"), Type.Literal(2), Type.Null()]),
      Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({ b: Type.String() })]),
      Type.Tuple([Type.String(), Type.Number()]),
      Type.Record(Type.String(), Type.Number()),
      Type.Not(Type.String()),
      Type.Unknown(),
    ];
    for (const schema of schemas) assert.deepStrictEqual(convert(JSON.parse(JSON.stringify(schema))), schema);
  });

  test("FromSchema makes properties optional that are not required", () => {
    const { properties } = convert({ type: "object", properties: { a: string, b: string }, required: ["a"] });
    assert.equal(OptionalKind in properties.a, false);
    assert.equal(properties.b[OptionalKind], "Optional");
  });

  test("one sub-schema object used as required and as optional property is both", () => {
    const { properties } = convert({ type: "object", properties: { a: string, b: string }, required: ["b"] });
    assert.equal(properties.a[OptionalKind], "Optional");
    assert.equal(properties.b[OptionalKind], undefined);
  });
});

describe("every keyword stays", () => {
  test("FromSchema keeps every keyword, known or not, in its order, on every level", () => {
    convert({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      "x-vendor": { deep: [1, { type: "string" }] },
      description: "first",
      required: ["z", "a"],
      properties: {
        z: { maxLength: 3, type: "string", minLength: 1, examples: ["x"] },
        a: { enum: ["a", null], default: null, nullable: true },
        10: { type: "integer", format: "int64", deprecated: true },
      },
      patternProperties: { "^x-": { type: "string" } },
      additionalProperties: { type: ["string", "number"] },
      dependentSchemas: { a: { required: ["z"] } },
      dependencies: { a: ["z"], z: { type: "object" } },
      if: { properties: { a: { const: 1 } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: true,
      else: false,
      type: "object",
      propertyNames: { pattern: "^[a-z]" },
      unevaluatedProperties: false,
    });
  });

  test("FromSchema converts sub-schemas in every keyword", () => {
    const schema = convert({
      additionalProperties: string,
      allOf: [string],
      anyOf: [string],
      contains: string,
      $defs: { a: string },
      definitions: { a: string },
      dependentSchemas: { a: string },
      else: string,
      if: string,
      items: string,
      not: string,
      oneOf: [string],
      patternProperties: { a: string },
      prefixItems: [string],
      properties: { a: string },
      propertyNames: string,
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: string,
      unevaluatedItems: string,
      unevaluatedProperties: string,
    });
    for (const key of Object.keys(schema)) {
      const value = schema[key];
      const child = Array.isArray(value) ? value[0] : (value.a ?? value);
      assert.equal(child[Source], string, key);
      assert.equal(typeof child[Kind], "string", key);
    }
  });

  test("FromSchema leaves data alone that resembles a schema", () => {
    const data = { type: "string", $ref: "#/nowhere" };
    const schema = convert({ default: data, examples: [data], const: data, properties: { $ref: string } });
    assert.equal(schema.default, data);
    assert.equal(schema.examples[0], data);
    assert.equal(logged.length, 0);
  });

  test("the helpers of FromSchema are not enumerable", () => {
    const schema = convert({ type: ["string", "null"] });
    assert.deepEqual(Object.keys(schema), ["type"]);
    assert.equal(Object.getOwnPropertyDescriptor(schema, "anyOf").enumerable, false);
  });

  test("FromSchema leaves boolean schemas booleans in JSON", () => {
    const schema = convert({
      properties: { yes: true, no: false },
      additionalProperties: false,
      allOf: [true],
    });
    assert.equal(schema.properties.yes[Kind], "Unknown");
    assert.equal(schema.properties.no[Kind], "Never");
    assert.equal(schema.additionalProperties, false);
    accepts(schema, {}, { yes: 1 });
    refuses(schema, { no: 1 });
  });
});

describe("TypeBox's own check on the result", () => {
  const person = { type: "object", properties: { name: string }, required: ["name"] };
  const cases = [
    ["enum", { enum: ["a", 1, true, null] }, ["a", 1, true, null], ["b", 2, false, undefined, {}]],
    ["enum of structures", { enum: [{ a: [1] }, []] }, [{ a: [1] }, []], [{ a: [2] }, { a: [1], b: 1 }, [1]]],
    ["enum and type", { type: "string", enum: ["a", 1] }, ["a"], [1]],
    ["empty enum", { enum: [] }, [], ["a", null]],
    ["structured const", { const: { a: [1, null] } }, [{ a: [1, null] }], [{ a: [1] }, {}]],
    ["nullable", { type: "integer", minimum: 2, nullable: true }, [2, null], [1, "2"]],
    ["nullable enum", { type: "string", enum: ["a"], nullable: true }, ["a", null], ["b"]],
    ["nullable allOf", { nullable: true, allOf: [person] }, [null, { name: "n" }], [{}, 1]],
    ["nullable anyOf", { nullable: true, anyOf: [string, number] }, [null, "a", 1], [true]],
    [
      "nullable $ref",
      { $ref: "#/$defs/p", nullable: true, $defs: { p: person } },
      [null, { name: "n" }],
      [{}],
    ],
    ["type array", { type: ["string", "integer"], minLength: 2, minimum: 3 }, ["ab", 3], ["a", 2, null]],
    [
      "allOf beside properties",
      { ...person, allOf: [{ properties: { b: number }, required: ["b"] }] },
      [{ name: "n", b: 1 }],
      [{ name: "n" }, { b: 1 }, { name: 1, b: 1 }],
    ],
    [
      "anyOf beside properties",
      { ...person, anyOf: [{ required: ["x"] }, { required: ["y"] }] },
      [{ name: "n", y: 1 }],
      [{ name: "n" }, { x: 1 }],
    ],
    ["anyOf and oneOf", { anyOf: [string, number], oneOf: [number, { type: "null" }] }, [1], ["a", null]],
    ["not beside type", { type: "string", not: { const: "a" } }, ["b"], ["a", 1]],
    ["not a boolean schema", { not: true }, [], [1]],
    ["required alone", { required: ["a"] }, [{ a: 1 }, "text"], [{}]],
    ["required but not declared", { type: "object", properties: {}, required: ["a"] }, [{ a: 1 }], [{}]],
    ["limits without a type", { minimum: 2, minLength: 2 }, [2, "ab", null, {}], [1, "a"]],
    [
      "draft 4 bounds",
      { type: "number", minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: false },
      [2, 3],
      [1, 4],
    ],
    [
      "closed tuple",
      { type: "array", prefixItems: [string, number], items: false },
      [["a", 1]],
      [
        [1, "a"],
        ["a", 1, 2],
      ],
    ],
    ["items array", { type: "array", items: [string, number] }, [["a", 1]], [[1, 1]]],
    ["patterns", { type: "object", patternProperties: { "^n": number } }, [{ n: 1, a: "a" }], [{ n: "a" }]],
    [
      "several patterns",
      { type: "object", patternProperties: { "^n": number, "^s": string } },
      [{ n: 1, s: "a", z: {} }],
      [{ n: "a" }, { s: 1 }],
    ],
    [
      "patterns beside properties, closed",
      {
        type: "object",
        properties: { "a.b": string },
        patternProperties: { "^n": number },
        additionalProperties: false,
      },
      [{ "a.b": "x", n1: 1 }],
      [{ axb: "x" }, { n1: "x" }],
    ],
    [
      "additionalProperties schema",
      { type: "object", properties: { a: string }, additionalProperties: number },
      [{ a: "a", b: 1 }],
      [{ a: "a", b: "b" }],
    ],
    ["contains", { type: "array", contains: { const: 1 } }, [[0, 1]], [[0]]],
    ["minContains alone is nothing", { type: "array", minContains: 2 }, [[]], [1]],
    [
      "unevaluatedProperties of plain objects",
      { allOf: [person], unevaluatedProperties: false },
      [{ name: "n" }],
      [{ name: "n", b: 1 }],
    ],
    [
      "unevaluatedProperties across a reference",
      { allOf: [{ $ref: "#/$defs/p" }], unevaluatedProperties: false, $defs: { p: person } },
      [{ name: "n" }],
      [{}],
    ],
  ];
  for (const [name, source, valid, invalid] of cases) {
    test(`TypeBox's own check on the result of FromSchema is right for ${name}`, () => {
      const schema = convert(source);
      accepts(schema, ...valid);
      refuses(schema, ...invalid);
    });
  }

  test("TypeBox's compiler takes results of FromSchema without references", () => {
    const check = TypeCompiler.Compile(
      convert({
        type: "object",
        properties: {
          a: { enum: ["x", 1, null] },
          b: { prefixItems: [string], items: false },
          c: { minimum: 1 },
        },
        required: ["a"],
        additionalProperties: { type: ["string", "null"] },
      }),
    );
    assert.equal(check.Check({ a: null, b: ["q"], c: 1, d: null }), true);
    for (const value of [{ a: 2 }, { a: 1, b: [1] }, { a: 1, c: 0 }, { a: 1, d: 1 }])
      assert.equal(check.Check(value), false);
  });

  test("TypeBox's errors and cast work on results of FromSchema", () => {
    const schema = convert({
      type: "object",
      properties: { a: { type: ["integer", "null"] } },
      required: ["a"],
    });
    assert.deepEqual(
      [...Value.Errors(schema, { a: "x" })].map(({ path }) => path),
      ["/a"],
    );
    assert.deepEqual(Value.Cast(schema, {}), { a: 0 });
  });
});

describe("references", () => {
  const list = {
    type: "object",
    properties: { value: string, next: { $ref: "#/$defs/list" } },
    required: ["value"],
  };
  const good = { value: "a", next: { value: "b", next: { value: "c" } } };
  const bad = { value: "a", next: { value: "b", next: { value: 1 } } };

  const documents = {
    "$defs beside $ref": { $ref: "#/$defs/list", $defs: { list } },
    "$defs below properties": {
      type: "object",
      properties: { next: { $ref: "#/$defs/list" }, value: string },
      $defs: { list },
    },
    definitions: JSON.parse(
      JSON.stringify({ $ref: "#/definitions/list", definitions: { list } }).replace(
        "#/$defs",
        "#/definitions",
      ),
    ),
    "the root": { type: "object", properties: { value: string, next: { $ref: "#" } }, required: ["value"] },
    "an $anchor": { $ref: "#here", $defs: { list: { ...list, $anchor: "here" } } },
    "an $id": {
      $id: "https://example.test/root",
      $ref: "list",
      $defs: { list: { $id: "list", type: "object", properties: { value: string, next: { $ref: "list" } } } },
    },
    "an $id as TypeBox 1.x writes it": {
      $defs: { L: { $id: "L", type: "object", properties: { value: string, next: { $ref: "L" } } } },
      $ref: "L",
    },
    $dynamicRef: {
      $dynamicAnchor: "node",
      type: "object",
      properties: { value: string, next: { $dynamicRef: "#node" } },
    },
    "an escaped pointer": { $ref: "#/$defs/a~1b%20c", $defs: { "a/b c": list, list } },
    "a chain": {
      $ref: "#/$defs/one",
      $defs: { one: { $ref: "#/$defs/two" }, two: { $ref: "#/$defs/list" }, list },
    },
    "a place that is no sub-schema": { $ref: "#/x-shared/list", "x-shared": { list }, $defs: { list } },
  };
  for (const [name, document] of Object.entries(documents)) {
    test(`FromSchema follows references to ${name}`, () => {
      const schema = convert(document);
      accepts(schema, good);
      refuses(schema, bad);
      assert.equal(logged.length, 0);
    });
  }

  test("two documents with the same definition names do not mix", () => {
    const of = (type) => convert({ $ref: "#/$defs/x", $defs: { x: { type } } });
    const both = Type.Object({ a: of("string"), b: of("number") });
    accepts(both, { a: "a", b: 1 });
    refuses(both, { a: 1, b: 1 }, { a: "a", b: "b" });
  });

  test("keywords beside $ref count from 2019-09 on, and not before", () => {
    const source = { $ref: "#/$defs/s", maxLength: 2, $defs: { s: string } };
    refuses(convert(source), "abc");
    accepts(convert({ $schema: "http://json-schema.org/draft-07/schema#", ...source }), "abc");
  });

  test("references that lead back to themselves do not make TypeBox loop", () => {
    const loops = [
      { $ref: "#" },
      { allOf: [{ $ref: "#" }], type: "object" },
      {
        $ref: "#/$defs/a",
        $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { not: { $ref: "#/$defs/a" } } },
      },
    ];
    for (const source of loops) assert.equal(typeof Value.Check(convert(source), {}), "boolean");
  });

  test("references out of the document stay TypeBox references, and are logged", () => {
    const schema = convert({ type: "object", properties: { a: { $ref: "other.json#/x" } } });
    assert.equal(schema.properties.a[Kind], "Ref");
    assert.equal(logged.length, 1);
    assert.match(logged[0].message.join(""), /other\.json#\/x/);
    assert.equal(Value.Check(FromSchema({ $ref: "T" }), [Type.String({ $id: "T" })], "text"), true);
  });
});

describe("what cannot be represented", () => {
  test("a schema that cannot be represented is Unknown with its keywords, and one log entry says where", () => {
    const schema = convert({
      type: "object",
      properties: { a: { type: "weird" }, "b/c": { if: string, else: number }, d: string },
    });
    assert.equal(schema.properties.a[Kind], "Unknown");
    assert.equal(schema.properties["b/c"][Kind], "Unknown");
    assert.equal(logged.length, 1);
    assert.equal(logged[0].level, "warning");
    assert.deepEqual(logged[0].category, ["operations", "from-schema"]);
    assert.match(logged[0].message.join(""), /#\/properties\/a.*#\/properties\/b~1c/);
  });

  test("schemas that accept everything by design are not logged", () => {
    for (const source of [true, {}, { description: "anything", "x-note": 1 }, { $defs: { a: string } }])
      convert(source);
    assert.equal(logged.length, 0);
  });
});

describe("what was converted already", () => {
  test("FromSchema returns TypeBox schemas as they are, nested ones too", () => {
    const own = Type.Date();
    assert.equal(FromSchema(own), own);
    assert.equal(FromSchema({ type: "object", properties: { own } }).properties.own, own);
  });

  test("a result of FromSchema can be converted again", () => {
    const source = { prefixItems: [string], items: false, not: false };
    assert.deepStrictEqual(FromSchema(FromSchema(source)), FromSchema(source));
  });

  test("results of FromSchema are parts for TypeBox's builder", () => {
    const schema = Type.Object({
      a: FromSchema({ enum: ["x", null] }),
      b: Type.Array(FromSchema({ type: ["string", "null"] })),
    });
    accepts(schema, { a: null, b: ["b", null] });
    refuses(schema, { a: "y", b: [] }, { a: "x", b: [1] });
  });

  test("a copy of a result of FromSchema without its helpers still carries its source", () => {
    const source = { enum: ["x", null] };
    assert.equal(Type.Optional(FromSchema(source))[Source], source);
  });
});
