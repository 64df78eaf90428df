// Handlers return literals of their output schema without `as const`: booleans, enums, arms of a discriminated union, and
// events of generators. This file is compiled, not run.

import { createRegistry, defineOperation, OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { expectTypeOf } from "expect-type";
import * as v from "valibot";
import { z } from "zod";

const common = {
  namespace: "literals",
  version: "1.0.0",
  description: "for the types",
  accessControl: { requiredScopes: [] },
};
const registry = new OperationRegistry();

const zodOk = z.object({ ok: z.literal(true) });
const typeBoxOk = Type.Object({ ok: Type.Literal(true) });
const valibotOk = v.object({ ok: v.literal(true) });
const shape = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("circle"), radius: z.number() }),
  z.object({ kind: z.literal("square"), side: z.number() }),
]);
const colour = Type.Union([Type.Literal("red"), Type.Literal("green")]);

defineOperation({
  ...common,
  name: "zod",
  type: "query",
  inputSchema: z.object({}),
  outputSchema: zodOk,
  handler: () => ({ ok: true }),
});
defineOperation({
  ...common,
  name: "typebox",
  type: "mutation",
  inputSchema: Type.Object({}),
  outputSchema: typeBoxOk,
  handler: async () => ({ ok: true }),
});
defineOperation({
  ...common,
  name: "valibot",
  type: "mutation",
  inputSchema: v.object({ id: v.string() }),
  outputSchema: valibotOk,
  handler: async (input) => {
    expectTypeOf(input).toEqualTypeOf<{ id: string }>();
    return { ok: true };
  },
});
defineOperation({
  ...common,
  name: "enum",
  type: "query",
  inputSchema: Type.Object({}),
  outputSchema: z.object({ level: z.enum(["low", "high"]) }),
  handler: async () => ({ level: "low" }),
});
defineOperation({
  ...common,
  name: "text",
  type: "query",
  inputSchema: Type.Object({}),
  outputSchema: colour,
  handler: () => "red",
});
defineOperation({
  ...common,
  name: "union",
  type: "query",
  inputSchema: z.object({ round: z.boolean() }),
  outputSchema: shape,
  handler: ({ round }) => (round ? { kind: "circle", radius: 1 } : { kind: "square", side: 2 }),
});
defineOperation({
  ...common,
  name: "tuple",
  type: "query",
  inputSchema: z.object({}),
  outputSchema: z.tuple([z.literal("at"), z.number()]),
  handler: async () => ["at", 1],
});
defineOperation({
  ...common,
  name: "branches",
  type: "query",
  inputSchema: z.object({}),
  outputSchema: z.array(shape),
  handler: async (_input, { identity }) => {
    if (identity === undefined) return [];
    return [{ kind: "circle", radius: 1 }];
  },
});
defineOperation({
  ...common,
  name: "events",
  type: "subscription",
  inputSchema: Type.Object({}),
  outputSchema: shape,
  handler: async function* () {
    yield { kind: "circle", radius: 1 };
    yield { kind: "square", side: 2 };
  },
});
defineOperation({
  ...common,
  name: "method",
  type: "subscription",
  inputSchema: Type.Object({ to: Type.Integer() }),
  outputSchema: typeBoxOk,
  async *handler({ to }) {
    for (let i = 0; i < to; i++) yield { ok: true };
  },
});

registry.register({
  ...common,
  name: "registered",
  type: "query",
  inputSchema: z.object({}),
  outputSchema: zodOk,
  handler: () => ({ ok: true }),
});
registry.register({
  ...common,
  name: "registeredEvents",
  type: "subscription",
  inputSchema: z.object({}),
  outputSchema: shape,
  handler: async function* () {
    yield { kind: "circle", radius: 1 };
  },
});
const typed = createRegistry([
  defineOperation({
    ...common,
    namespace: "literals",
    name: "inList",
    type: "query",
    inputSchema: z.object({}),
    outputSchema: zodOk,
    handler: () => ({ ok: true }),
  }),
]);
expectTypeOf((await typed.execute("literals.inList", {})).data).toEqualTypeOf<{ ok: true }>();

// What is not of the schema still does not compile.
defineOperation({
  ...common,
  name: "wrongLiteral",
  type: "query",
  inputSchema: z.object({}),
  outputSchema: zodOk,
  // @ts-expect-error the schema says true
  handler: () => ({ ok: false }),
});
defineOperation({
  ...common,
  name: "wrongArm",
  type: "query",
  inputSchema: z.object({}),
  outputSchema: shape,
  // @ts-expect-error a square has a side
  handler: async () => ({ kind: "square", radius: 1 }),
});
