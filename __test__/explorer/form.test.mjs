// What a schema becomes in a form, and what a form becomes as a value. No browser is needed for it.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Type } from "@sinclair/typebox";
import { z } from "zod";
import { BooleanPart, numberOf, ObjectPart, partFor, UnionPart } from "../../dist/explorer/form.mjs";
import { fieldOf, Root, shapeWord } from "../../dist/explorer/schema.mjs";

const json = (schema) => JSON.parse(JSON.stringify(schema));
const field = (schema) => fieldOf(json(schema), new Root(json(schema)));
const shape = (schema) => field(schema).shape;
const form = (schema) => partFor(json(schema), new Root(json(schema)));

/** The value of a form, and what is wrong with it. */
function read(part) {
  const problems = [];
  const value = part.read("", problems);
  return { value, problems };
}

/** What a form makes of a value. */
function roundTrip(schema, value) {
  const part = form(schema);
  part.write(value);
  return read(part).value;
}

describe("a schema as a field", () => {
  for (const [what, schema, expected] of [
    ["a text", { type: "string" }, { kind: "string", isLong: false }],
    [
      "a text with a format",
      { type: "string", format: "uuid" },
      { kind: "string", isLong: false, format: "uuid" },
    ],
    ["a long text", { type: "string", maxLength: 4000 }, { kind: "string", isLong: true }],
    ["a number", Type.Number(), { kind: "number", isInteger: false }],
    ["an integer", Type.Integer(), { kind: "number", isInteger: true }],
    ["a boolean", Type.Boolean(), { kind: "boolean" }],
    ["a constant", Type.Literal("x"), { kind: "constant", value: "x" }],
    ["an enum", { enum: ["a", 1, null] }, { kind: "choice", options: ["a", 1, null] }],
    [
      "constants to choose from",
      Type.Union([Type.Literal("a"), Type.Literal("b")]),
      { kind: "choice", options: ["a", "b"] },
    ],
    [
      "a list",
      Type.Array(Type.String(), { maxItems: 3 }),
      { kind: "list", items: { type: "string" }, least: 0, most: 3 },
    ],
    ["a tuple of draft 7", Type.Tuple([Type.String()]), { kind: "tuple", items: [{ type: "string" }] }],
    ["a record", Type.Record(Type.String(), Type.Integer()), { kind: "record", values: { type: "integer" } }],
    ["an object that may have anything", { type: "object" }, { kind: "record", values: true }],
    [
      "an object without properties",
      { type: "object", additionalProperties: false },
      { kind: "object", properties: [], isOpen: false },
    ],
    ["binary data", Type.Uint8Array(), { kind: "bytes" }],
    ["no input", Type.Void(), { kind: "nothing" }],
    ["anything", Type.Unknown(), { kind: "any" }],
    ["what JSON has no word for", Type.Date(), { kind: "any" }],
    ["nothing that fits", false, { kind: "any" }],
    ["keywords without a type", { minLength: 2 }, { kind: "string", isLong: false }],
    ["a reference to nowhere", { $ref: "#/$defs/none" }, { kind: "any" }],
    ["a reference to itself", { $ref: "#" }, { kind: "any" }],
    [
      "parts that contradict each other",
      { allOf: [{ type: "string" }, { type: "number" }] },
      { kind: "any" },
    ],
  ]) {
    it(`a form field knows ${what}`, () => assert.deepEqual(shape(schema), expected));
  }

  it("a form field knows properties, which are required, and whether others are allowed", () => {
    const { properties, rest, isOpen } = shape({
      type: "object",
      properties: { a: { type: "string" }, b: true },
      required: ["b", "c"],
      additionalProperties: { type: "integer" },
    });
    assert.deepEqual(properties, [
      { name: "a", schema: { type: "string" }, isRequired: false },
      { name: "b", schema: true, isRequired: true },
      { name: "c", schema: true, isRequired: true },
    ]);
    assert.deepEqual([rest, isOpen], [{ type: "integer" }, true]);
  });

  it("a form field knows what may be null, in every notation", () => {
    for (const schema of [
      { type: ["string", "null"] },
      { type: "string", nullable: true },
      { anyOf: [{ type: "string" }, { type: "null" }] },
      { oneOf: [{ const: null }, { type: "string" }] },
    ]) {
      assert.equal(field(schema).isNullable, true, JSON.stringify(schema));
      assert.equal(shape(schema).kind, "string", JSON.stringify(schema));
    }
  });

  it("a form field merges the parts of a schema", () => {
    const { properties } = shape(
      Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({ b: Type.Number() })]),
    );
    assert.deepEqual(
      properties.map(({ name, isRequired }) => [name, isRequired]),
      [
        ["a", true],
        ["b", true],
      ],
    );
    const both = {
      $ref: "#/$defs/base",
      description: "mine",
      required: ["a"],
      $defs: { base: { type: "object", properties: { a: {} }, description: "base" } },
    };
    assert.equal(field(both).description, "mine");
    assert.equal(shape(both).properties[0].isRequired, true);
  });

  it("a form field names the variants of a union so that they can be distinguished", () => {
    const { variants } = shape({
      oneOf: [
        { title: "A circle", type: "object" },
        { type: "object", required: ["kind"], properties: { kind: { const: "box" } } },
        { $ref: "#/$defs/Line" },
        { type: "object", properties: { x: {}, y: {} } },
        { type: "string" },
        { type: "string", format: "email" },
        { type: "string" },
      ],
      $defs: { Line: { type: "object" } },
    });
    assert.deepEqual(
      variants.map(({ label }) => label),
      ["A circle", "box", "Line", "object with x, y", "text", "email", "text (2)"],
    );
  });

  it("a form field treats several types as a union, and rules about properties not as one", () => {
    assert.deepEqual(
      shape({ type: ["string", "integer"] }).variants.map(({ label }) => label),
      ["text", "integer"],
    );
    const either = {
      type: "object",
      properties: { a: {}, b: {} },
      anyOf: [{ required: ["a"] }, { required: ["b"] }],
    };
    assert.equal(shape(either).kind, "object");
  });

  it("a form field gives each variant what all of them have", () => {
    const schema = {
      type: "object",
      properties: { id: { type: "string" } },
      required: ["id"],
      oneOf: [{ properties: { a: {} } }, { properties: { b: {} } }],
    };
    const [first] = shape(schema).variants;
    const { properties } = fieldOf(first.schema, new Root(schema)).shape;
    assert.deepEqual(
      properties.map(({ name }) => name),
      ["id", "a"],
    );
  });

  it("a form field follows references by pointer, by name and by anchor", () => {
    const schema = {
      type: "object",
      properties: {
        a: { $ref: "#/$defs/a~1b%20c" },
        b: { $ref: "named" },
        c: { $ref: "#anchored" },
        d: { $ref: "named#/properties/inner" },
      },
      $defs: {
        "a/b c": { type: "boolean" },
        n: { $id: "named", type: "object", properties: { inner: { type: "integer" } } },
        x: { $anchor: "anchored", type: "number" },
      },
    };
    const root = new Root(schema);
    const kinds = Object.values(schema.properties).map((each) => shapeWord(fieldOf(each, root).shape));
    assert.deepEqual(kinds, ["boolean", "object", "number", "integer"]);
  });

  it("a form field shows limits, defaults and examples", () => {
    const {
      limits,
      example,
      default: given,
    } = field({ type: "integer", minimum: 1, exclusiveMaximum: 9, multipleOf: 2, examples: [4], default: 2 });
    assert.deepEqual(limits, ["at least 1", "less than 9", "a multiple of 2"]);
    assert.deepEqual([example, given], [4, 2]);
  });

  it("a form field does not show what Zod adds by itself", () => {
    const { properties } = z.toJSONSchema(
      z.object({
        day: z.iso.date(),
        id: z.uuid(),
        count: z.int(),
        small: z.int().min(1).max(10),
        code: z.string().regex(/^[A-Z]{3}$/),
      }),
    );
    assert.match(properties.day.pattern, /.{60}/);
    assert.equal(properties.count.maximum, Number.MAX_SAFE_INTEGER);
    const limits = Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name, field(schema).limits]),
    );
    assert.deepEqual(limits, {
      day: [],
      id: [],
      count: [],
      small: ["at least 1", "at most 10"],
      code: ["matches ^[A-Z]{3}$"],
    });
    // A pattern that says more than the format stays.
    const own = field({ type: "string", format: "email", pattern: "@example\\.com$" });
    assert.deepEqual(own.limits, ["matches @example\\.com$"]);
  });

  it("a form field takes a file for a text in base64, in every notation", () => {
    for (const schema of [
      z.toJSONSchema(z.base64()),
      { type: "string", format: "byte" },
      { type: "string", contentEncoding: "base64", contentMediaType: "image/png" },
    ])
      assert.equal(shape(schema).isBase64, true, JSON.stringify(schema));
    assert.equal(shape({ type: "string" }).isBase64, undefined);
  });

  it("a form field ends for a document that refers to itself in every way", () => {
    const knot = { anyOf: [{ $ref: "#" }, { $ref: "#/anyOf/0" }], allOf: [{ $ref: "#/allOf/0" }] };
    assert.equal(shape(knot).kind, "any");
    const wide = { $ref: "#/$defs/a0", $defs: {} };
    for (let at = 0; at < 30; at++)
      wide.$defs[`a${at}`] = { allOf: [{ $ref: `#/$defs/a${at + 1}` }, { $ref: `#/$defs/a${at + 1}` }] };
    assert.equal(shape(wide).kind, "any");
  });
});

describe("a form", () => {
  it("a form begins with what is required", () => {
    const schema = Type.Object({
      a: Type.String(),
      b: Type.Optional(Type.String()),
      c: Type.Object({ d: Type.Boolean() }),
      e: Type.Array(Type.String(), { minItems: 2 }),
      f: Type.Optional(Type.Integer({ default: 3 })),
      g: Type.Integer({ default: 3 }),
      h: Type.Union([Type.Object({ x: Type.String() }), Type.Null()]),
    });
    assert.deepEqual(read(form(schema)), {
      value: { a: "", c: { d: false }, e: ["", ""], g: 3, h: null },
      problems: [],
    });
  });

  it("a form returns every value that is put into it", () => {
    const tree = {
      $ref: "#/$defs/t",
      $defs: {
        t: {
          type: "object",
          required: ["v"],
          properties: { v: {}, c: { type: "array", items: { $ref: "#/$defs/t" } } },
        },
      },
    };
    const deep = (levels) => (levels === 0 ? { v: 0 } : { v: levels, c: [deep(levels - 1)] });
    for (const [schema, value] of [
      [Type.Object({ a: Type.String() }), { a: "x" }],
      [Type.Object({ a: Type.Optional(Type.String()) }), {}],
      [Type.Object({ a: Type.String() }), { a: 1 }],
      [Type.Object({ a: Type.String() }), { other: true }],
      [Type.Object({ a: Type.String() }, { additionalProperties: false }), { a: "x", more: 1 }],
      [Type.Object({ a: Type.String() }), { a: "x", more: [1, { b: null }] }],
      [Type.Object({ a: Type.String() }), "not an object"],
      [Type.Object({ a: Type.String() }), null],
      [Type.Record(Type.String(), Type.Number()), JSON.parse('{"__proto__":1,"b":2}')],
      [Type.Tuple([Type.String(), Type.Number()]), ["a", 1]],
      [Type.Tuple([Type.String(), Type.Number()]), ["a"]],
      [Type.Array(Type.Integer(), { maxItems: 1 }), [1, 2, 3]],
      [Type.Array(Type.Integer()), [1, "2", null]],
      [
        Type.Union([Type.Object({ k: Type.Literal("a") }), Type.Object({ k: Type.Literal("b") })]),
        { k: "b" },
      ],
      [Type.Union([Type.String(), Type.Number()]), true],
      [Type.Union([Type.String(), Type.Null()]), null],
      [{ enum: [{ a: 1 }, [2]] }, [2]],
      [Type.Uint8Array(), { $bytes: "AAEC" }],
      [Type.Unknown(), { any: ["thing"] }],
      [tree, deep(20)],
    ]) {
      assert.deepEqual(
        roundTrip(schema, value),
        value,
        `${JSON.stringify(json(schema))} ${JSON.stringify(value)}`,
      );
    }
  });

  it("a form chooses the variant that matches a value", () => {
    const part = form({
      oneOf: [
        { type: "string" },
        { type: "object", required: ["a"], properties: { a: { type: "number" } } },
        { type: "object", required: ["b"] },
      ],
    });
    assert.ok(part instanceof UnionPart);
    part.write({ b: 1 });
    assert.equal(part.index, 2);
    part.write({ a: 1 });
    assert.equal(part.index, 1);
  });

  it("a form says where something is wrong", () => {
    const part = form(
      Type.Object({ list: Type.Array(Type.Object({ "a/b": Type.Integer() }), { minItems: 1 }) }),
    );
    assert.deepEqual(read(part).problems, [{ path: "/list/0/a~1b", message: "A number is needed" }]);
    const free = form(Type.Object({ any: Type.Unknown() }));
    free.members[0].part.json = "{ no";
    assert.match(read(free).problems[0].message, /^This is not JSON/);
  });

  it("a form needs a file where binary data is required, which may be empty", () => {
    const part = form(Type.Object({ file: Type.Uint8Array() }));
    assert.deepEqual(read(part), { value: {}, problems: [{ path: "/file", message: "Choose a file" }] });
    part.members[0].part.base64 = "";
    assert.deepEqual(read(part), { value: { file: { $bytes: "" } }, problems: [] });
  });

  it("a form omits what is left out, and sends an empty text that is not", () => {
    const part = form(Type.Object({ a: Type.Optional(Type.String()), b: Type.Optional(Type.Boolean()) }));
    assert.ok(part instanceof ObjectPart);
    assert.deepEqual(read(part).value, {});
    part.include(part.members[0]);
    const flag = part.include(part.members[1]);
    assert.ok(flag instanceof BooleanPart);
    assert.deepEqual(read(part).value, { a: "", b: false });
    part.members[0].part = undefined;
    assert.deepEqual(read(part).value, { b: false });
  });

  it("a form reports a name that occurs twice", () => {
    const part = form(Type.Record(Type.String(), Type.String()));
    part.addEntry("a");
    part.addEntry("a");
    assert.deepEqual(read(part).problems, [{ path: "/a", message: "a is there twice" }]);
  });

  it("a form turns into JSON and back, and stays JSON if the value does not fit", () => {
    const part = form(Type.Object({ a: Type.Integer() }));
    part.write({ a: 1 });
    part.toggleJson();
    assert.equal(part.json, '{\n  "a": 1\n}');
    part.json = '{ "a": 2 }';
    part.toggleJson();
    assert.equal(part.json, undefined);
    assert.deepEqual(read(part).value, { a: 2 });
    part.toggleJson();
    part.json = "[]";
    part.toggleJson();
    assert.equal(part.json, "[]");
  });

  it("a form begins within bounds, whatever a schema requires", () => {
    const endless = {
      $ref: "#/$defs/t",
      $defs: { t: { type: "object", required: ["t"], properties: { t: { $ref: "#/$defs/t" } } } },
    };
    assert.match(JSON.stringify(read(form(endless)).value), /^(\{"t":){12,}null\}+$/);
    const wide = { type: "array", minItems: 1e9, items: { type: "string" } };
    assert.equal(read(form(wide)).value.length, 8);
    const both = {
      $ref: "#/$defs/t",
      $defs: {
        t: {
          type: "object",
          required: ["a", "b", "c", "d"],
          properties: Object.fromEntries([..."abcd"].map((name) => [name, { $ref: "#/$defs/t" }])),
        },
      },
    };
    assert.ok(JSON.stringify(read(form(both)).value).length < 1_000_000);
  });
});

describe("numbers that are typed", () => {
  for (const [text, isInteger, expected] of [
    ["42", true, 42],
    [" -1.5e3 ", false, -1500],
    [".5", false, 0.5],
    ["9007199254740993", true, /more digits/],
    ["9007199254740992", true, 9007199254740992],
    ["1.5", true, /whole number/],
    ["", false, /needed/],
    ["0x10", false, /not a number/],
    ["1e999", false, /too large/],
    ["Infinity", false, /not a number/],
  ]) {
    it(`a typed number ${JSON.stringify(text)} is read as what it is`, () => {
      const found = numberOf(text, isInteger);
      if (expected instanceof RegExp) assert.match(String(found), expected);
      else assert.equal(found, expected);
    });
  }
});
