// A registry that knows its operations.

import {
  buildEnv,
  createRegistry,
  defineOperation,
  FromOpenAPI,
  FromOpenAPIUrl,
  type Mutation,
  type OpenAPISpec,
  type OperationRegistry,
  PendingRequestMap,
  type Query,
  type ResponseEnvelope,
  subscribe,
  type UntypedOperations,
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

// Output properties with a default may be left out where the schema's library has them in its types.
const filled = { ...rest, namespace: "demo", type: "query", inputSchema: Type.Object({}) } as const;
const filledByZod = defineOperation({
  ...filled,
  name: "zod",
  outputSchema: z.object({ total: z.number().default(0) }),
  handler: () => ({}),
});
defineOperation({
  ...filled,
  name: "valibot",
  outputSchema: v.object({ total: v.optional(v.number(), 0) }),
  handler: () => ({}),
});
defineOperation({
  ...filled,
  name: "arktype",
  outputSchema: type({ total: "number = 0" }),
  handler: () => ({}),
});
// TypeBox leaves them out of its types.
const total = Type.Object({ total: Type.Number({ default: 0 }) });
// @ts-expect-error the type of `total` is a number, with a default or without
defineOperation({ ...filled, name: "typebox", outputSchema: total, handler: () => ({}) });
defineOperation({
  ...filled,
  name: "unsafe",
  outputSchema: Type.Unsafe<{ total?: number }>(total),
  handler: () => ({}),
});
const filledData = createRegistry([filledByZod]).execute("demo.zod", {});
expectTypeOf(filledData).resolves.toEqualTypeOf<ResponseEnvelope<{ total: number }>>();

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
expectTypeOf((await byHand.hub.time({ zone: "utc" }, { timeout: 5 })).data).toEqualTypeOf<number>();
// @ts-expect-error there is no such operation
await byHand.hub.tiem({ zone: "utc" });
// @ts-expect-error there is no such input
await byHand.hub.time({ zoen: "utc" });
const known: OperationRegistry<{ hub: { time: Query<{ zone: string }, number> } }> = registry.untyped();
expectTypeOf((await known.execute("hub.time", { zone: "utc" })).data).toEqualTypeOf<number>();
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

// Operations whose ids the compiler does not know do not spoil those that it knows.
declare const document: OpenAPISpec;
const mixed = createRegistry([
  greet,
  createTask,
  ticks,
  ...FromOpenAPI<"shop">(document, { namespace: "shop" }),
]);
expectTypeOf(mixed.execute("demo.greet", { name: "x" })).resolves.toEqualTypeOf<
  ResponseEnvelope<{ greeting: string }>
>();
// @ts-expect-error a number is no name
mixed.execute("demo.greet", { name: 1 });
// @ts-expect-error no such property
(await mixed.execute("demo.greet", { name: "x" })).data.greting;
expectTypeOf(mixed.execute("shop.getPet", { petId: 7 })).resolves.toEqualTypeOf<ResponseEnvelope<unknown>>();
expectTypeOf(
  mixed.execute<{ petId: number }, { name: string }>("shop.getPet", { petId: 7 }),
).resolves.toEqualTypeOf<ResponseEnvelope<{ name: string }>>();
// @ts-expect-error no such operation, and no such namespace
mixed.execute("demo.gret", { name: "x" });
// @ts-expect-error nor such a namespace
mixed.execute("shp.getPet", {});
declare const anyId: string;
// @ts-expect-error another namespace than the one that was promised
FromOpenAPI<"shop">(document, { namespace: "pets" });
// Lists of operations of different documents are of one type.
FromOpenAPI(document, { namespace: "shop" }).push(...FromOpenAPI(document, { namespace: "pets" }));
// Where the namespace is not known either, any id is taken.
const open = createRegistry([greet, ...FromOpenAPI(document, { namespace: "shop" })]);
expectTypeOf(open.execute(anyId, {})).resolves.toEqualTypeOf<ResponseEnvelope<unknown>>();
expectTypeOf(open.execute("demo.greet", { name: "x" })).resolves.toEqualTypeOf<
  ResponseEnvelope<{ greeting: string }>
>();
await buildEnv({ registry: open, context: {} }).shop?.getPet?.({ petId: 7 });
// @ts-expect-error an id is a text
open.execute(7, {});
// Operations of one's own in the namespace of a document.
const checkout = defineOperation({
  ...rest,
  namespace: "shop",
  name: "checkout",
  type: "mutation",
  inputSchema: Type.Object({ cart: Type.Integer() }),
  outputSchema: Type.Boolean(),
  handler: () => true,
});
const extended = createRegistry([checkout, ...(await FromOpenAPIUrl<"shop">("", { namespace: "shop" }))]);
expectTypeOf(extended.execute("shop.checkout", { cart: 1 })).resolves.toEqualTypeOf<
  ResponseEnvelope<boolean>
>();
expectTypeOf(extended.execute("shop.getPet", {})).resolves.toEqualTypeOf<ResponseEnvelope<unknown>>();
const extendedEnv = buildEnv({ registry: extended, context: {} });
expectTypeOf(extendedEnv.shop.checkout({ cart: 1 })).resolves.toEqualTypeOf<ResponseEnvelope<boolean>>();
await extendedEnv.shop.getPet?.({});
for await (const { data } of mixed.subscribe("demo.ticks", {})) expectTypeOf(data).toEqualTypeOf<number>();
for await (const { data } of mixed.subscribe("shop.prices", {})) expectTypeOf(data).toEqualTypeOf<unknown>();
for await (const { data } of subscribe(mixed, "shop.prices", {})) expectTypeOf(data).toEqualTypeOf<unknown>();
const mixedEnv = buildEnv({ registry: mixed, context: {} });
expectTypeOf(mixedEnv.demo.greet({ name: "x" })).resolves.toEqualTypeOf<
  ResponseEnvelope<{ greeting: string }>
>();
await mixedEnv.shop.getPet?.({ petId: 7 });
// @ts-expect-error no such namespace
mixedEnv.shp;
// @ts-expect-error a number is no name
mixedEnv.demo.greet({ name: 1 });
const mixedMap = new PendingRequestMap().typed<typeof mixed>();
expectTypeOf(mixedMap.call("demo.greet", { name: "x" })).resolves.toEqualTypeOf<
  ResponseEnvelope<{ greeting: string }>
>();
expectTypeOf(mixedMap.call("shop.getPet", {})).resolves.toEqualTypeOf<ResponseEnvelope<unknown>>();
// Only such operations, and a table that says that there are more.
createRegistry(FromOpenAPI(document, { namespace: "shop" })).execute("shop.getPet", {});
type Partly = { hub: { time: Query<{ zone: string }, number> } } & UntypedOperations;
const partly = new PendingRequestMap().typed<Partly>();
expectTypeOf(partly.call("hub.time", { zone: "UTC" })).resolves.toEqualTypeOf<ResponseEnvelope<number>>();
expectTypeOf(partly.call("hub.other", {})).resolves.toEqualTypeOf<ResponseEnvelope<unknown>>();
export const untyped: OperationRegistry = mixed;

// Operations that are registered later.
registry.registerAll(FromOpenAPI(document, { namespace: "shop" }));
// @ts-expect-error the compiler does not know it
registry.execute("shop.getPet", {});
expectTypeOf(registry.untyped().execute("shop.getPet", {})).resolves.toEqualTypeOf<
  ResponseEnvelope<unknown>
>();
export const a = registry;
