// A registry that knows its operations.

import {
  buildEnv,
  createRegistry,
  defineOperation,
  type Mutation,
  type OperationRegistry,
  PendingRequestMap,
  type Query,
  type ResponseEnvelope,
  subscribe,
} from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { type } from "arktype";
import { expectTypeOf } from "expect-type";
import { Type as Type1 } from "typebox";
import * as v from "valibot";
import { z } from "zod";

const rest = { version: "1.0.0", description: "for the types", accessControl: { requiredScopes: [] } };

const greet = defineOperation({
  ...rest,
  namespace: "demo",
  name: "greet",
  type: "query",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.Object({ greeting: Type.String() }),
  handler: (input) => ({ greeting: `Hello, ${input.name}` }),
});
const createTask = defineOperation({
  ...rest,
  namespace: "tasks",
  name: "create",
  type: "mutation",
  inputSchema: z.object({ title: z.string().trim(), priority: z.number().default(1) }),
  outputSchema: z.object({ id: z.string(), at: z.string().transform((text) => text.length) }),
  handler: (input) => {
    expectTypeOf(input).toEqualTypeOf<{ title: string; priority: number }>();
    return { id: input.title, at: "now" };
  },
});
const ticks = defineOperation({
  ...rest,
  namespace: "demo",
  name: "ticks",
  type: "subscription",
  inputSchema: v.object({ count: v.optional(v.number(), 3) }),
  outputSchema: v.number(),
  handler: async function* (input) {
    expectTypeOf(input).toEqualTypeOf<{ count: number }>();
    yield input.count;
  },
});
const ark = defineOperation({
  ...rest,
  namespace: "deep.space",
  name: "probe",
  type: "query",
  inputSchema: type({ name: "string", "age?": "number" }),
  outputSchema: Type1.Object({ ok: Type1.Boolean(), note: Type1.Optional(Type1.String()) }),
  handler: (input) => {
    expectTypeOf(input).toEqualTypeOf<{ name: string; age?: number }>();
    return { ok: true };
  },
});

const registry = createRegistry([greet, createTask, ticks, ark], { output: "keep" });
const one = registry.execute("demo.greet", { name: "x" });
expectTypeOf(one).resolves.toEqualTypeOf<ResponseEnvelope<{ greeting: string }>>();
const two = registry.execute("tasks.create", { title: "x" }, { requestId: "1" });
expectTypeOf(two).resolves.toEqualTypeOf<ResponseEnvelope<{ id: string; at: number }>>();
expectTypeOf(registry.execute("deep.space.probe", { name: "x" })).resolves.toEqualTypeOf<
  ResponseEnvelope<{ ok: boolean; note?: string }>
>();
// @ts-expect-error no such operation
registry.execute("demo.gret", { name: "x" });
// @ts-expect-error no such property
registry.execute("demo.greet", { nme: "x" });
// @ts-expect-error a number is no name
registry.execute("demo.greet", { name: 1 });
// @ts-expect-error that is a stream
registry.execute("demo.ticks", {});
// @ts-expect-error and that is none
registry.subscribe("demo.greet", { name: "x" });
// @ts-expect-error misspelt
registry.execute("demo.greet", { name: "x" }, { requestID: "1" });

for await (const { data } of registry.subscribe("demo.ticks", {})) expectTypeOf(data).toEqualTypeOf<number>();
for await (const { data } of subscribe(registry, "demo.ticks", { count: 1 })) {
  expectTypeOf(data).toEqualTypeOf<number>();
}
// @ts-expect-error no such stream
subscribe(registry, "demo.tocks", {});

const env = buildEnv({ registry, context: {} });
expectTypeOf(env.demo.greet({ name: "x" })).resolves.toEqualTypeOf<ResponseEnvelope<{ greeting: string }>>();
expectTypeOf(env["deep.space"].probe).parameter(0).toEqualTypeOf<{ name: string; age?: number }>();
// @ts-expect-error misspelt
env.demo.gret({ name: "x" });
// @ts-expect-error streams are not in it
env.demo.ticks;

// The same operations on the other side of a call map.
const callMap = new PendingRequestMap().typed<typeof registry>();
expectTypeOf(callMap.call("demo.greet", { name: "x" })).resolves.toEqualTypeOf<
  ResponseEnvelope<{ greeting: string }>
>();
for await (const { data } of callMap.subscribe("demo.ticks", {})) expectTypeOf(data).toEqualTypeOf<number>();
// @ts-expect-error misspelt
callMap.call("demo.gret", { name: "x" });
const byHand = new PendingRequestMap().typed<{ hub: { time: Query<{ zone: string }, number> } }>();
expectTypeOf(byHand.call("hub.time", { zone: "UTC" })).resolves.toEqualTypeOf<ResponseEnvelope<number>>();

// Operations that are written where the registry is made, with and without `defineOperation`.
const schemas = { inputSchema: Type.Object({ id: Type.Integer() }), outputSchema: Type.String() };
const inPlace = createRegistry([
  defineOperation({
    ...rest,
    ...schemas,
    namespace: "users",
    name: "get",
    type: "query",
    handler: ({ id }) => String(id),
  }),
  { ...rest, ...schemas, namespace: "users", name: "remove", type: "mutation", handler: () => "gone" },
]);
expectTypeOf(inPlace).toEqualTypeOf<
  OperationRegistry<{
    users: { get: Query<{ id: number }, string>; remove: Mutation<{ id: number }, string> };
  }>
>();

export const loose: OperationRegistry = registry;
export const a = registry;
