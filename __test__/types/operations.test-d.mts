// Types are part of the API. This file is compiled, not run.

import {
  type AccessControl,
  buildEnv,
  checkAccess,
  defineOperation,
  enforceAccess,
  type Identity,
  type IOperationDefinition,
  type OperationContext,
  type OperationEnv,
  type OperationHandler,
  OperationRegistry,
  type OperationSpec,
  OperationType,
  type ResponseEnvelope,
  type SubscriptionHandler,
} from "@alkdev/operations";
import { type TSchema, Type } from "@sinclair/typebox";
import { expectTypeOf } from "expect-type";
import * as v from "valibot";
import { z } from "zod";
import { ObjectSchema, StringSchema } from "./foreign-typebox.mjs";

const common = {
  namespace: "test",
  version: "1.0.0",
  description: "for the types",
  accessControl: { requiredScopes: [] },
};

// The handler's input and output follow from TypeBox schemas.
defineOperation({
  ...common,
  name: "typebox",
  type: OperationType.QUERY,
  inputSchema: Type.Object({ name: Type.String(), age: Type.Optional(Type.Number()) }),
  outputSchema: Type.Object({ greeting: Type.String() }),
  handler: async (input, context) => {
    expectTypeOf(input).toEqualTypeOf<{ name: string; age?: number }>();
    expectTypeOf(context).toEqualTypeOf<OperationContext>();
    return { greeting: `Hello, ${input.name}` };
  },
});

// What a handler returns is held against the output schema, envelope or not, promise or not.
defineOperation({
  ...common,
  name: "sync",
  type: "mutation",
  inputSchema: Type.Object({}),
  outputSchema: Type.Object({ ok: Type.Boolean() }),
  handler: () => ({ ok: true }),
});
defineOperation({
  ...common,
  name: "envelope",
  type: "mutation",
  inputSchema: Type.Object({}),
  outputSchema: Type.Object({ ok: Type.Boolean() }),
  handler: async (): Promise<ResponseEnvelope<{ ok: boolean }>> => {
    throw new Error("only for its type");
  },
});
defineOperation({
  ...common,
  name: "wrong",
  type: "mutation",
  inputSchema: Type.Object({}),
  outputSchema: Type.Object({ ok: Type.Boolean() }),
  // @ts-expect-error the output schema says boolean
  handler: async () => ({ ok: "yes" }),
});
defineOperation({
  ...common,
  name: "wrongInput",
  type: "query",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.Unknown(),
  // @ts-expect-error the input schema has no such property
  handler: async (input) => input.nickname,
});

// A fork of TypeBox, with another `Kind` symbol.
defineOperation({
  ...common,
  name: "fork",
  type: "query",
  inputSchema: ObjectSchema({ id: StringSchema() }),
  outputSchema: StringSchema(),
  handler: (input) => {
    expectTypeOf(input).toEqualTypeOf<{ id: string }>();
    return input.id;
  },
});

// Zod and Valibot, through Standard Schema.
defineOperation({
  ...common,
  name: "zod",
  type: "query",
  inputSchema: z.object({ id: z.number() }),
  outputSchema: z.array(z.string()),
  handler: (input) => {
    expectTypeOf(input).toEqualTypeOf<{ id: number }>();
    return [String(input.id)];
  },
});
defineOperation({
  ...common,
  name: "valibot",
  type: "query",
  inputSchema: v.object({ id: v.number() }),
  outputSchema: v.string(),
  handler: (input) => {
    expectTypeOf(input).toEqualTypeOf<{ id: number }>();
    return String(input.id);
  },
});

// Recursive TypeBox schemas.
defineOperation({
  ...common,
  name: "recursive",
  type: "query",
  inputSchema: Type.Recursive((This) => Type.Object({ id: Type.String(), children: Type.Array(This) })),
  outputSchema: Type.Number(),
  handler: (input) => {
    expectTypeOf(input.children[0]?.children[0]?.id).toEqualTypeOf<string | undefined>();
    return input.children.length;
  },
});

// Subscriptions are async generators.
defineOperation({
  ...common,
  name: "stream",
  type: OperationType.SUBSCRIPTION,
  inputSchema: Type.Object({ count: Type.Integer() }),
  outputSchema: Type.Number(),
  handler: async function* (input) {
    expectTypeOf(input).toEqualTypeOf<{ count: number }>();
    for (let i = 0; i < input.count; i++) yield i;
  },
});
defineOperation({
  ...common,
  name: "noStream",
  type: OperationType.SUBSCRIPTION,
  inputSchema: Type.Object({}),
  outputSchema: Type.Number(),
  // @ts-expect-error a subscription's handler is an async generator function
  handler: async () => 1,
});

// Nobody is forced: untyped specs and handlers compile.
const untyped: OperationHandler = async (input) => input.anything.at.all;
export const definition = {
  ...common,
  name: "untyped",
  type: OperationType.QUERY,
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.Object({ result: Type.String() }),
  handler: async (input) => ({ result: `Hello, ${input.name}` }),
} satisfies IOperationDefinition;
defineOperation(definition);
defineOperation({ ...definition, handler: untyped });

declare const anySchema: TSchema;
const loose: OperationSpec = {
  ...common,
  name: "loose",
  type: OperationType.MUTATION,
  inputSchema: anySchema,
  outputSchema: Type.Unknown(),
};
defineOperation({ ...loose, type: "mutation", handler: async (input: { x: number }) => input.x });

// What adapters return is accepted as a definition.
declare const imported: Array<OperationSpec & { handler: OperationHandler }>;
export const definitions: IOperationDefinition[] = imported;

// Specs and handlers may also be written in terms of values.
declare const valueTyped: OperationSpec<{ id: string }, { ok: boolean }>;
export const accepted: OperationSpec = valueTyped;
export const typedHandler: OperationHandler<{ id: string }, { ok: boolean }> = async ({ id }) => ({
  ok: id.length > 0,
});
export const typedStream: SubscriptionHandler<{ id: string }, number> = async function* ({ id }) {
  yield id.length;
};

// OperationType can be used as a value, as a type, and by its members.
expectTypeOf(OperationType.QUERY).toEqualTypeOf<"query">();
expectTypeOf<OperationType>().toEqualTypeOf<"query" | "mutation" | "subscription">();
expectTypeOf<OperationType.SUBSCRIPTION>().toEqualTypeOf<"subscription">();

// A context has the properties that are declared, and no others.
export const context: OperationContext = {
  requestId: "1",
  identity: { id: "u", scopes: [] },
  tenant: "acme",
};
// @ts-expect-error misspelt
export const misspelt: OperationContext = { requestID: "1" };

declare module "@alkdev/operations" {
  interface OperationContextExtensions {
    /** The application's own. */
    tenant?: string;
  }
}
defineOperation({
  ...common,
  name: "extended",
  type: "query",
  inputSchema: Type.Object({}),
  outputSchema: Type.String(),
  handler: (_input, context) => {
    expectTypeOf(context.tenant).toEqualTypeOf<string | undefined>();
    return context.tenant ?? "none";
  },
});

// A handler may ask for a context of its own.
interface HubContext extends OperationContext {
  database: { find(id: string): string };
}
const own = defineOperation({
  ...common,
  name: "own",
  type: "query",
  inputSchema: Type.Object({ id: Type.String() }),
  outputSchema: Type.String(),
  handler: (input, context: HubContext) => context.database.find(input.id),
});
new OperationRegistry().register(own);
new OperationRegistry().registerAll([own]);

// Lists that are `as const`.
const rules = { requiredScopes: ["tasks:write"], requiredScopesAny: ["a", "b"] } as const;
const constant = defineOperation({
  ...common,
  name: "constant",
  type: "query",
  tags: ["one", "two"] as const,
  accessControl: rules,
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  handler: () => 1,
});
const identity = { id: "ada", scopes: ["tasks:write"], resources: { "task:1": ["read"] } } as const;
checkAccess(rules, identity);
enforceAccess(rules, identity, "a.b");
new OperationRegistry().register(constant);
new OperationRegistry().execute("test.constant", {}, { identity });
buildEnv({ registry: new OperationRegistry(), context: { identity }, allowedNamespaces: ["a"] as const });
expectTypeOf<Identity["resources"]>().toEqualTypeOf<Record<string, string[]> | undefined>();
expectTypeOf<AccessControl["requiredScopes"]>().toEqualTypeOf<string[]>();
declare const env: OperationEnv;
expectTypeOf(env.tasks?.create?.({ title: "x" })).resolves.toHaveProperty("data");
