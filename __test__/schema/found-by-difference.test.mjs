// What the random comparisons once found, written down: each was a disagreement.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Kind, Type } from "@sinclair/typebox";
import { CompiledSchema } from "./support/typebox-copies.mjs";

function compile(schema) {
  const compiled = new CompiledSchema(schema);
  compiled.warmUp();
  return compiled;
}

/** One verdict from the walk, the emitted check and the errors. */
function assertVerdict(schema, value, wanted) {
  const compiled = compile(schema);
  assert.equal(compiled.walk(value), wanted, "walk");
  assert.equal(compiled.check(value), wanted, "emitted");
  assert.equal(compiled.errors(value).length === 0, wanted, "errors");
}

function assertStays(schema, value) {
  const { value: result } = compile(schema).normalise(value);
  assert.equal(result, value);
}

test("a pattern that is no regular expression makes the value invalid, wherever it stands", () => {
  assertVerdict(Type.String({ pattern: "[z-a]" }), "x", false);
  assertVerdict(Type.String({ pattern: "[z-a]" }), 1, false);
  assertVerdict(Type.Not(Type.String({ pattern: "(" })), "x", false);
  assertVerdict(Type.Union([Type.String({ pattern: "(" }), Type.Any()]), "x", false);
  assertVerdict(Type.Union([Type.Any(), Type.String({ pattern: "(" })]), "x", true);
});

test("what cannot be made a string does not match a regular expression", () => {
  const schema = Type.RegExp(/./);
  assertVerdict(schema, Object.create(null), false);
  assertVerdict(schema, { toString: [] }, false);
  assertVerdict(schema, Symbol("x"), false);
  assertVerdict(schema, 1, true);
});

test("property names that make no pattern make an intersection invalid", () => {
  const parts = [Type.Object({ "*": Type.Optional(Type.String()) }), Type.Object({})];
  const schema = Type.Intersect(parts, { unevaluatedProperties: false });
  assertVerdict(schema, {}, false);
  assertVerdict(Type.Not(schema), 0, false);
});

test("errors of a record look at the properties that its check looks at", () => {
  const schema = Type.Record(Type.Number(), Type.Any(), { additionalProperties: Type.Boolean() });
  const value = Object.defineProperty({ a: 1 }, "hidden", { value: 1 });
  const wanted = [{ path: "/a", message: "Expected boolean" }];
  assert.deepEqual(compile(schema).errors(value), wanted);
});

test("JSON text has the very numbers that JavaScript reads", () => {
  const compiled = compile(Type.Number({ multipleOf: 2 }));
  assert.equal(compiled.checkJson("1.9999999999999998"), false);
  assert.equal(compile(Type.Literal(8.41e21)).checkJson("8.41e21"), true);
});

test("a number is no Date where any object will do", () => {
  const compiled = compile(Type.Object({ a: Type.Array(Type.String()) }));
  assert.deepEqual(compiled.normalise(42).value, { a: [] });
  assert.deepEqual(compile(Type.Date()).normalise(42).value, new Date(42));
});

test("a value that passes a variant is not replaced by another", () => {
  assertStays(Type.Union([Type.Object({}), Type.Constructor([], Type.Any())]), 42);
});

test("schemas that contradict themselves leave the value as it is", () => {
  for (const [schema, value] of [
    [{ required: ["x"], dependentSchemas: { x: { type: "array" } } }, { x: 1 }],
    [{ properties: {}, dependentRequired: { b: ["b"] } }, { b: [] }],
    [Type.Intersect([Type.Object({ a: Type.Boolean() }), Type.Date()]), 42],
  ]) {
    const compiled = compile(schema);
    const { value: result, notes } = compiled.normalise(value);
    assert.ok(notes.length > 0 || compiled.walk(result));
    assert.equal(compiled.normalise(result).value, result);
  }
});

test("a default of the wrong type is not replaced by itself", () => {
  const compiled = compile(Type.Object({ a: { ...Type.Union([]), default: 3n } }));
  const { value } = compiled.normalise({});
  assert.deepEqual(value, { a: 3n });
  assert.equal(compiled.normalise(value).value, value);
});

test("unevaluatedProperties ignores properties that additionalProperties evaluated", () => {
  const schema = { additionalProperties: { type: "array" }, unevaluatedProperties: { type: "object" } };
  const value = { x: [] };
  assertVerdict(schema, value, true);
  assert.deepEqual(compile(schema).normalise(value), { value, notes: [] });
});

test("undefined in a record and among additional properties is a value", () => {
  const strings = compile(Type.Record(Type.String(), Type.String()));
  assert.deepEqual(strings.normalise({ a: undefined }).value, { a: "" });
  const schema = Type.Object({ b: Type.String() }, { additionalProperties: Type.Undefined() });
  assert.deepEqual(Object.keys(compile(schema).normalise({ c: undefined }).value).sort(), ["b", "c"]);
});

test("a record ignores unlisted properties of instances", () => {
  const schema = Type.Record(Type.String(), Type.Tuple([]), { additionalProperties: false });
  const value = /x/g;
  assertVerdict(schema, value, true);
  assert.deepEqual(compile(schema).normalise(value), { value, notes: [] });
});

test("bytes and dates that the schema declares are not taken apart", () => {
  assertStays(Type.Intersect([Type.Object({}), Type.Uint8Array()]), new Uint8Array(2));
  assertStays(Type.Intersect([Type.Object({}), Type.Date()]), new Date(0));
});

test("what another property requires is declared", () => {
  const schema = { properties: { card: {} }, dependentRequired: { card: ["name"] } };
  const compiled = compile(schema);
  const value = { card: 1, name: "n" };
  assert.equal(compiled.normalise(value).value, value);
  assert.deepEqual(compiled.normalise({ ...value, z: 1 }).value, value);
  assert.deepEqual(compiled.normalise({ name: "n" }).value, {});
});

test("kinds that were not registered make the value invalid, wherever they stand", () => {
  assertVerdict(Type.Not(Type.Unsafe({ [Kind]: "test:nobody" })), 1, false);
});
