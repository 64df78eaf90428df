// FromSchema on input that nobody vouches for.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CallError, FromSchema } from "@alkdev/operations";
import { CloneType, Kind, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { assertNoStalls } from "../support/event-loop.mjs";
import { CompiledSchema } from "./support/typebox-copies.mjs";

function refusal(pattern) {
  return (error) =>
    error instanceof CallError && error.code === "VALIDATION_ERROR" && pattern.test(error.message);
}

describe("input that is no schema", () => {
  assertNoStalls();

  const things = {
    null: null,
    undefined,
    "a number": 1,
    "a string": "string",
    "an array": [],
    "a function": () => {},
  };
  for (const [name, thing] of Object.entries(things)) {
    test(`FromSchema refuses ${name}`, () =>
      assert.throws(() => FromSchema(thing), refusal(/FromSchema expects a JSON Schema/)));
  }
});

describe("bounds", () => {
  test("FromSchema refuses nesting that is too deep", () => {
    for (const wrap of [
      (inner) => ({ not: inner }),
      (inner) => ({ properties: { a: inner } }),
      (inner) => ({ anyOf: [inner] }),
    ]) {
      let schema = {};
      for (let level = 0; level < 100_000; level += 1) schema = wrap(schema);
      assert.throws(() => FromSchema(schema), refusal(/nested deeper than 512 levels/));
    }
  });

  test("FromSchema takes nesting that is merely deep", () => {
    let schema = { type: "string" };
    for (let level = 0; level < 250; level += 1)
      schema = { type: "object", properties: { a: schema }, required: ["a"] };
    assert.equal(JSON.stringify(FromSchema(schema)), JSON.stringify(schema));
  });

  test("FromSchema refuses an object that contains itself, and says where", () => {
    const schema = { type: "object", properties: { child: { type: "array" } } };
    schema.properties.child.items = schema;
    assert.throws(() => FromSchema(schema), refusal(/contains itself, at #\/properties\/child\/items/));
  });

  test("FromSchema does not multiply parts that objects share", () => {
    let schema = { type: "string" };
    for (let level = 0; level < 60; level += 1)
      schema = { type: "object", properties: { a: schema, b: schema } };
    assert.equal(FromSchema(schema)[Kind], "Object");
  });

  test("FromSchema converts a long chain of references in a wide schema", () => {
    const convert = (size) => {
      const names = Array.from({ length: size }, (_, index) => `p${index}`);
      const source = {
        type: "object",
        properties: Object.fromEntries(
          names.map((name, index) => [name, { $ref: `#/$defs/p${(index + 1) % size}` }]),
        ),
        required: names,
        $defs: Object.fromEntries(
          names.map((name, index) => [
            name,
            index === 0 ? { enum: names } : { $ref: `#/$defs/p${index - 1}` },
          ]),
        ),
      };
      const { properties } = FromSchema(source);
      assert.equal(Object.keys(properties).length, size);
    };
    // Quadratic work would be a thousand million steps here.
    convert(32_000);
  });
});

describe("names", () => {
  assertNoStalls();

  test("FromSchema takes __proto__ as a property like any other", () => {
    const text =
      '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"number"}},"required":["__proto__"]}';
    const schema = FromSchema(JSON.parse(text));
    assert.equal(JSON.stringify(schema), text);
    assert.equal(Object.getPrototypeOf(schema.properties), Object.prototype);
    assert.deepEqual(Object.keys(schema.properties), ["__proto__", "constructor"]);
    assert.equal(Value.Check(schema, JSON.parse('{"__proto__":"x","constructor":1}')), true);
    assert.equal(Value.Check(schema, JSON.parse('{"__proto__":1,"constructor":1}')), false);
  });

  test("__proto__ as a keyword, a definition, a pattern or a reference changes no prototype", () => {
    const text =
      '{"__proto__":{"type":"string"},"$defs":{"__proto__":{"type":"string"}},"patternProperties":{"__proto__":{}},"properties":{"a":{"$ref":"#/$defs/__proto__"},"b":{"$ref":"__proto__"}},"const":{"__proto__":1}}';
    const schema = FromSchema(JSON.parse(text));
    assert.equal(JSON.stringify(schema), text);
    assert.equal(Object.getPrototypeOf(schema), Object.prototype);
    assert.equal(Object.getPrototypeOf(schema.$defs), Object.prototype);
    assert.equal({}.type, undefined);
  });

  test("FromSchema takes objects without a prototype", () => {
    const source = Object.assign(Object.create(null), { type: "object", properties: Object.create(null) });
    source.properties.a = { type: "string" };
    assert.equal(JSON.stringify(FromSchema(source)), JSON.stringify(source));
  });

  test("FromSchema ignores inherited keywords", () => {
    assert.equal(FromSchema(Object.create({ type: "string" }))[Kind], "Unknown");
  });
});

describe("malformed keywords neither throw nor make TypeBox throw", () => {
  assertNoStalls();

  const sources = [
    { type: "string", pattern: "(" },
    { type: "string", minLength: "3", format: 5 },
    { type: "object", properties: 5, required: true },
    { type: "object", properties: { a: "string", b: null, c: [1], d: 3 } },
    { type: "object", properties: { a: {} }, required: "a" },
    { type: "object", patternProperties: { "(": {} } },
    { type: "object", patternProperties: {} },
    { type: "object", patternProperties: { "(": {}, a: { type: "string" } }, additionalProperties: false },
    { type: "object", additionalProperties: "no" },
    { type: "array", items: "string" },
    { type: "array", items: null, contains: 3, uniqueItems: "yes" },
    { type: ["string", 5] },
    { type: [] },
    { type: { type: "string" } },
    { allOf: {}, anyOf: "x", oneOf: null, not: 7 },
    { allOf: ["x", null], anyOf: [1] },
    { allOf: [], type: "string", unevaluatedProperties: 3 },
    { allOf: {}, type: "string", not: { type: "null" }, unevaluatedProperties: false, $defs: 5 },
    { $ref: 5 },
    { $ref: "#/%E0%A4%A" },
    { $ref: "#", $defs: { "#": {} }, type: "object" },
    { enum: "a" },
    { type: "number", exclusiveMinimum: true },
    { prefixItems: [true], items: [false] },
    { prefixItems: [{ type: "string" }], items: { type: "number" }, maxItems: 5 },
    { $id: 5, $anchor: {}, $ref: "#x" },
    { allOf: [{ type: "object", properties: { "a(": {} } }], unevaluatedProperties: false },
  ];
  for (const source of sources) {
    test(`malformed keywords do not make FromSchema or TypeBox throw: ${JSON.stringify(source)}`, () => {
      const schema = FromSchema(source);
      assert.equal(JSON.stringify(schema), JSON.stringify(source));
      for (const value of [undefined, null, true, 0, "a", [], ["a"], {}, { a: "a" }]) {
        try {
          assert.equal(typeof Value.Check(schema, value), "boolean");
        } catch (error) {
          assert.match(error.message, /Unable to dereference/);
        }
      }
    });
  }

  test("FromSchema leaves undefined instead of a schema out of the JSON, as before", () => {
    const source = { type: "object", title: undefined, properties: { a: undefined } };
    assert.equal(JSON.stringify(FromSchema(source)), '{"type":"object","properties":{}}');
  });
});

test("a pattern from outside stays bounded in what TypeBox makes of the schema", () => {
  const explosive = "^(a|a)*(?=!)b$";
  const source = FromSchema({
    type: "object",
    required: ["name"],
    properties: { name: { type: "string", pattern: explosive } },
    patternProperties: { [explosive]: { type: "integer" } },
  });
  const text = `${"a".repeat(5000)}!`;
  const made = {
    Partial: Type.Partial(source),
    Required: Type.Required(source),
    Pick: Type.Pick(source, ["name"]),
    Omit: Type.Omit(source, ["other"]),
    Composite: Type.Composite([source, Type.Object({ own: Type.Optional(Type.String()) })]),
    Index: Type.Object({ name: Type.Index(source, ["name"]) }),
    Optional: Type.Object({ name: Type.Optional(source.properties.name) }),
    Readonly: Type.Object({ name: Type.Readonly(source.properties.name) }),
    Mapped: Type.Mapped(Type.KeyOf(source), () => Type.Optional(source.properties.name)),
    Extract: Type.Object({ name: Type.Extract(source.properties.name, Type.String()) }),
    Clone: Type.Object({ name: CloneType(source.properties.name, { title: "copy" }) }),
  };
  for (const [how, schema] of Object.entries(made)) {
    const compiled = new CompiledSchema(schema);
    const bounded = (error) => error instanceof CallError && error.details.limit === "backtracking";
    assert.throws(() => compiled.walk({ name: text }), bounded, `walk: ${how}`);
    assert.equal(compiled.warmUp().check, true, how);
    assert.throws(() => compiled.check({ name: text }), bounded, `emitted: ${how}`);
    assert.equal(compiled.check({ name: 1 }), false, how);
  }
});
