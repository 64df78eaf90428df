// assertIsSchema: a schema is recognised by its own tag.

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertIsSchema, CallError, FromSchema } from "@alkdev/operations";
import { Kind, Type } from "@sinclair/typebox";

test("the schema guard accepts TypeBox schemas, however they were tagged", () => {
  for (const schema of [
    Type.String(),
    Type.Date(),
    FromSchema(false),
    { [Symbol.for("TypeBox.Kind")]: "Mine" },
  ]) {
    assert.doesNotThrow(() => assertIsSchema(schema));
  }
});

test("the schema guard refuses anything else, with what to do", () => {
  const things = [
    null,
    undefined,
    1,
    "x",
    [],
    () => {},
    {},
    { type: "string" },
    { [Kind]: 5 },
    Object.create(Type.String()),
    { "~kind": "String" },
  ];
  for (const thing of things) {
    assert.throws(
      () => assertIsSchema(thing),
      (error) =>
        error instanceof CallError &&
        /Not a valid TypeBox schema/.test(error.message) &&
        /FromSchema/.test(error.message),
    );
  }
});

test("the schema guard names the context", () => {
  assert.throws(
    () => assertIsSchema({}, "users.get input"),
    /Not a valid TypeBox schema for users\.get input/,
  );
});
