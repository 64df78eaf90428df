// The text in which schemas reach the native engine: docs/design/schema-engine.md has the table.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { runInNewContext } from "node:vm";
import { CallError, FromSchema } from "@alkdev/operations";
import { Kind, Type } from "@sinclair/typebox";
import { encodeSchema } from "../../dist/schema/encode.js";

/** The encoding, parsed; it must always be JSON. */
function encode(value) {
  const { text, slots } = encodeSchema(value);
  return { value: JSON.parse(text), slots };
}

function refusal(pattern) {
  return (error) =>
    error instanceof CallError && error.code === "VALIDATION_ERROR" && pattern.test(error.message);
}

describe("values", () => {
  const plain = [
    ["null", null, null],
    ["booleans", true, true],
    ["numbers", -1.5e300, -1.5e300],
    ["strings", 'a"\\\u2028\0</script>', 'a"\\\u2028\0</script>'],
    ["undefined", undefined, ["u"]],
    ["bigints", -12345678901234567890n, ["n", "-12345678901234567890"]],
    ["NaN", Number.NaN, ["x", "NaN"]],
    ["infinities", [Infinity, -Infinity], ["a", ["x", "Infinity"], ["x", "-Infinity"]]],
    ["minus zero", -0, ["x", "-0"]],
    ["dates", new Date(-5), ["d", -5]],
    ["invalid dates", new Date(Number.NaN), ["d", null]],
    ["arrays", [1, ["a"]], ["a", 1, ["a", "a"]]],
    ["holes", Object.assign(new Array(2), { 1: 1 }), ["a", ["u"], 1]],
    ["objects", { b: 1, a: undefined, 7: 0 }, ["o", null, 0, "7", 0, "b", 1, "a", ["u"]]],
    ["objects without a prototype", Object.assign(Object.create(null), { a: 1 }), ["o", null, 0, "a", 1]],
    [
      "objects of another realm",
      runInNewContext("({ a: [new Date(3)] })"),
      ["o", null, 0, "a", ["a", ["d", 3]]],
    ],
    ["__proto__", JSON.parse('{"__proto__":1}'), ["o", null, 0, "__proto__", 1]],
  ];
  for (const [name, value, expected] of plain) {
    test(`the encoding of a schema has ${name}`, () =>
      assert.deepEqual(encode(value), { value: expected, slots: [] }));
  }

  test("the encoding has everything that is not JSON as a live object in a slot", () => {
    class Own {}
    const live = [() => 1, /x/, new Own(), Symbol("s"), new Map(), "\ud800 alone"];
    const { value, slots } = encode(live);
    assert.deepEqual(value, ["a", ...live.map((_, index) => ["s", index])]);
    for (const [index, slot] of slots.entries()) assert.equal(slot, live[index]);
  });

  test("the encoding has own enumerable string keys only, each read once", () => {
    let reads = 0;
    const schema = Object.create({ inherited: 1 }, { hidden: { value: 1 } });
    Object.setPrototypeOf(schema, null);
    Object.defineProperty(schema, "once", { enumerable: true, get: () => ++reads });
    schema[Symbol("s")] = 1;
    assert.deepEqual(encode(schema).value, ["o", null, 0, "once", 1]);
    assert.equal(reads, 1);
  });

  test("what a getter throws during encoding reaches the caller", () => {
    const own = new Error("mine");
    const schema = {
      get type() {
        throw own;
      },
    };
    assert.throws(
      () => encodeSchema(schema),
      (error) => error === own,
    );
  });
});

describe("TypeBox", () => {
  test("the encoding has kind and flags of TypeBox schemas", () => {
    assert.deepEqual(encode(Type.String({ title: "t" })).value, [
      "o",
      "String",
      0,
      "title",
      "t",
      "type",
      "string",
    ]);
    assert.deepEqual(encode(Type.Optional(Type.Void())).value, ["o", "Void", 1, "type", "void"]);
    assert.deepEqual(encode(Type.Readonly(Type.Null())).value, ["o", "Null", 4, "type", "null"]);
    assert.deepEqual(encode(Type.ReadonlyOptional(Type.Null())).value, ["o", "Null", 5, "type", "null"]);
    const transform = Type.Transform(Type.Null())
      .Decode(() => 1)
      .Encode(() => null);
    assert.deepEqual(encode(transform).value, ["o", "Null", 8, "type", "null"]);
  });

  test("the encoding has a short form for schemas without options", () => {
    assert.deepEqual(encode(Type.String()).value, ["l", "String", 0]);
    assert.deepEqual(encode(Type.Optional(Type.Any())).value, ["l", "Any", 1]);
    assert.deepEqual(encode({ [Kind]: "String" }).value, ["o", "String", 0]);
    assert.deepEqual(encode({ [Kind]: "String", type: "text" }).value, ["o", "String", 0, "type", "text"]);
    assert.deepEqual(encode({ [Kind]: "Any", type: undefined }).value, ["o", "Any", 0, "type", ["u"]]);
  });

  test("the encoding keeps the live object of kinds that are not TypeBox's own", () => {
    const schema = Type.Object({ a: { [Kind]: "Mine", x: 1 }, b: Type.Unsafe({ type: "string" }) });
    const { value, slots } = encode(schema);
    assert.deepEqual(value.at(-1), [
      "o",
      null,
      0,
      "a",
      ["o", "Mine", 16, 0, "x", 1],
      "b",
      ["o", "Unsafe", 16, 1, "type", "string"],
    ]);
    assert.deepEqual(slots, [schema.properties.a, schema.properties.b]);
    assert.equal(slots[0], schema.properties.a);
  });

  test("every kind that TypeBox builds is one of its own", () => {
    const schemas = [
      Type.Any(),
      Type.Array(Type.Any()),
      Type.AsyncIterator(Type.Any()),
      Type.BigInt(),
      Type.Boolean(),
      Type.Constructor([], Type.Any()),
      Type.Date(),
      Type.Function([], Type.Any()),
      Type.Integer(),
      Type.Intersect([Type.Object({}), Type.Object({})]),
      Type.Iterator(Type.Any()),
      Type.Literal(1),
      Type.Never(),
      Type.Not(Type.Any()),
      Type.Null(),
      Type.Number(),
      Type.Object({}),
      Type.Promise(Type.Any()),
      Type.Record(Type.String(), Type.Any()),
      Type.Recursive((This) => Type.Array(This)),
      Type.Ref("x"),
      Type.RegExp(/x/),
      Type.String(),
      Type.Symbol(),
      Type.TemplateLiteral("a"),
      Type.Tuple([]),
      Type.Uint8Array(),
      Type.Undefined(),
      Type.Union([Type.Any(), Type.Any()]),
      Type.Unknown(),
      Type.Void(),
      Type.Module({ A: Type.Null() }).Import("A"),
    ];
    for (const schema of schemas) assert.equal(encode(schema).value[2], 0, schema[Kind]);
  });
});

describe("what FromSchema made", () => {
  test("the encoding flags what FromSchema made, and has the source's keywords only", () => {
    const source = { type: ["string", "null"] };
    assert.deepEqual(encode(FromSchema(source)).value, ["o", "Union", 2, "type", ["a", "string", "null"]]);
    assert.deepEqual(encode(Type.Optional(FromSchema(source))).value, [
      "o",
      "Union",
      3,
      "type",
      ["a", "string", "null"],
    ]);
  });

  test("the encoding has booleans as booleans again, also items beside prefixItems", () => {
    const { value } = encode(FromSchema({ not: true, prefixItems: [false], items: false }));
    assert.deepEqual(value.slice(3), ["not", true, "prefixItems", ["a", false], "items", false]);
    const rest = encode(FromSchema({ prefixItems: [true], items: { type: "null" } })).value;
    assert.deepEqual(rest.slice(3), ["prefixItems", ["a", true], "items", ["o", "Null", 2, "type", "null"]]);
  });

  test("the encoding of what FromSchema made is not confused by recursion in its helpers", () => {
    const { value } = encode(FromSchema({ type: "object", properties: { a: { $ref: "#" } } }));
    assert.deepEqual(value.at(-1), ["o", null, 0, "a", ["o", "Import", 3, "$ref", "#"]]);
  });
});

describe("bounds", () => {
  test("a schema with a cycle is refused by the encoding", () => {
    const schema = Type.Object({ a: Type.String() });
    schema.properties.b = [schema];
    assert.throws(() => encodeSchema(schema), refusal(/contains itself/));
  });

  test("the same object twice in a schema is no cycle", () => {
    const shared = { type: "null" };
    assert.deepEqual(encode([shared, shared]).value, [
      "a",
      ["o", null, 0, "type", "null"],
      ["o", null, 0, "type", "null"],
    ]);
  });

  test("a schema may have 512 levels and no more", () => {
    const nest = (levels) => {
      let value = [];
      for (let level = 1; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
      return value;
    };
    assert.doesNotThrow(() => encodeSchema(nest(512)));
    for (const levels of [513, 100_000]) {
      assert.throws(() => encodeSchema(nest(levels)), refusal(/nested deeper than 512 levels/));
    }
  });

  test("a schema that is too large is refused by the encoding", () => {
    let shared = { type: "string" };
    for (let level = 0; level < 60; level += 1) shared = { a: shared, b: shared };
    assert.throws(() => encodeSchema(shared), refusal(/more than \d+ values/));
    assert.throws(() => encodeSchema(new Array(2 ** 32 - 1)), refusal(/more than \d+ values/));
  });

  test("names with a lone surrogate are refused by the encoding", () => {
    assert.throws(() => encodeSchema({ properties: { "\udfff": {} } }), refusal(/not valid Unicode/));
    assert.deepEqual(encode({ "😀\\ud800": "\\ud800" }).value, ["o", null, 0, "😀\\ud800", "\\ud800"]);
  });
});
