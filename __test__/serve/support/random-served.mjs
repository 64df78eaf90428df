// Random registries for the round-trip law: operations of every type, whose schemas JSON can hold, and scripts for their
// handlers, some of which give what is not declared.

import { CallError } from "@alkdev/operations";
import { Kind, Type } from "@sinclair/typebox";

const WORDS = [
  "a",
  "b",
  "name",
  "é",
  "x y",
  "type",
  "data",
  "event",
  "constructor",
  "$ref",
  "a/b",
  "default",
];
const SCOPES = ["read", "write"];
const CODES = ["NO_TASK", "LATER", "é"];

/** A schema of scalars, as a flat input has them. */
function scalar(random) {
  return random.pick([
    () => Type.String(random.chance(0.3) ? { maxLength: 3 } : {}),
    () => Type.Number(),
    () => Type.Integer(random.chance(0.3) ? { minimum: 0 } : {}),
    () => Type.Boolean(),
    () => Type.Union([Type.Literal("one"), Type.Literal("two")]),
    () => Type.Literal(random.pick(["fixed", 7, true])),
  ])();
}

/** Any schema. */
export function schema(random, depth = 3) {
  if (depth === 0 || random.chance(0.4)) {
    return random.weighted([
      [6, () => scalar(random)],
      [1, () => Type.Null()],
      [1, () => Type.Unknown()],
    ])();
  }
  return random.pick([
    () => object(random, () => schema(random, depth - 1)),
    () => Type.Array(schema(random, depth - 1)),
    () => nullable(schema(random, depth - 1)),
    () => Type.Record(Type.String(), schema(random, depth - 1)),
    () => Type.Tuple([scalar(random), schema(random, depth - 1)]),
    () => Type.Recursive((self) => Type.Object({ name: Type.String(), children: Type.Array(self) })),
  ])();
}

/** To TypeBox a union that lets `undefined` pass makes a required property optional; to JSON Schema it does not. */
function nullable(inner) {
  return inner[Kind] === "Unknown" ? inner : Type.Union([inner, Type.Null()]);
}

function object(random, property) {
  const names = random.some(WORDS, 0.25);
  const properties = names.map((name) => {
    const made = property();
    return [name, random.chance(0.4) ? Type.Optional(made) : made];
  });
  const options = random.pick([{}, {}, { additionalProperties: false }, { description: "An object" }]);
  return Type.Object(Object.fromEntries(properties), options);
}

/** A value of a schema; now and then, another one. */
export function someValue(random, given, isWrong = 0) {
  if (random.chance(isWrong)) return random.pick([null, "42", "x", 7, 1.5, true, [], {}, { name: "n" }]);
  if (given.const !== undefined) return given.const;
  if (given.anyOf !== undefined) return someValue(random, random.pick(given.anyOf), isWrong);
  if (given.$ref !== undefined) return { name: "leaf", children: [] };
  switch (given.type) {
    case "string":
      return random.pick(["", "a", "é€", "a b", "&=?", "1"]).slice(0, given.maxLength);
    case "number":
      return random.pick([0, 1.5, -2, 1e21, 0.1]);
    case "integer":
      return random.pick([0, 1, 42, 2 ** 31]);
    case "boolean":
      return random.chance(0.5);
    case "null":
      return null;
    case "array":
      if (Array.isArray(given.items)) return given.items.map((item) => someValue(random, item, isWrong));
      return random.times(0, 3, () => someValue(random, given.items, isWrong));
    case "object": {
      if (given.patternProperties !== undefined) {
        const [inner] = Object.values(given.patternProperties);
        return Object.fromEntries(
          random.some(WORDS, 0.2).map((key) => [key, someValue(random, inner, isWrong)]),
        );
      }
      const names = Object.keys(given.properties).filter(
        (name) => (given.required ?? []).includes(name) || random.chance(0.5),
      );
      return Object.fromEntries(
        names.map((name) => [name, someValue(random, given.properties[name], isWrong)]),
      );
    }
    default:
      return random.pick([null, "x", 1, [1, "a"], { a: { b: 1 } }]);
  }
}

/** An operation whose handler does what `script.current` says. */
export function randomOperation(random, number, script) {
  const type = random.pick(["query", "query", "mutation", "subscription"]);
  const inputSchema = random.chance(0.5) ? object(random, () => scalar(random)) : schema(random);
  const scopes = random.some(SCOPES, 0.2);
  return {
    namespace: random.pick(["a", "b.c", "d/é"]),
    name: `${random.pick(WORDS)}${number}`,
    version: "1.0.0",
    type,
    description: random.pick(["", "Does something", "Two\nlines"]),
    inputSchema,
    outputSchema: schema(random),
    accessControl: { requiredScopes: scopes },
    errorSchemas: random.some(CODES).map((code) => ({
      code,
      description: code,
      schema: Type.Unknown(),
      ...(random.chance(0.5) && { httpStatus: random.pick([404, 409, 503]) }),
    })),
    handler:
      type === "subscription"
        ? async function* () {
            for (const step of script.current) yield give(step);
          }
        : async () => give(script.current[0]),
  };
}

/** What a handler is to do: give values, and at the end, perhaps, throw. */
export function randomScript(random, { type, outputSchema }) {
  const value = () =>
    random.chance(0.05)
      ? { gives: undefined }
      : { gives: someValue(random, outputSchema, random.pick([0, 0, 0.3])) };
  const steps = type === "subscription" ? random.times(0, 4, value) : [value()];
  if (random.chance(0.25)) {
    const error = random.pick([
      () => new CallError(random.pick(CODES), "it failed", { why: 7 }),
      () => new Error(`${random.pick(CODES)}: declared`),
      () => new Error("broken"),
      () => "thrown",
      () => new CallError("VALIDATION_ERROR", "not of the pipeline"),
    ])();
    if (type === "subscription") steps.push({ throws: error });
    else steps[0] = { throws: error };
  }
  return steps;
}

function give(step) {
  if ("throws" in step) throw step.throws;
  return structuredClone(step.gives);
}
