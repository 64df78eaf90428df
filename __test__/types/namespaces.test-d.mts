// `defineNamespace`, declared errors and ports of the web. This file is compiled, not run.

import { createRegistry, defineNamespace, defineOperation, isDeclaredError } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { expectTypeOf } from "expect-type";
import { z } from "zod";

const defineTask = defineNamespace("tasks", { accessControl: { requiredScopes: ["tasks"] }, tags: ["work"] });
const create = defineTask({
  name: "create",
  type: "mutation",
  description: "Creates a task",
  inputSchema: z.object({ title: z.string() }),
  outputSchema: z.object({ ok: z.literal(true) }),
  errorSchemas: [
    { code: "FULL", schema: Type.Object({ most: Type.Integer() }) },
    { code: "CLOSED", description: "Not now" },
  ],
  handler: async ({ title }) => {
    expectTypeOf(title).toEqualTypeOf<string>();
    return { ok: true };
  },
});
const twice = defineTask({
  name: "twice",
  type: "mutation",
  description: "Creates two",
  inputSchema: z.object({}),
  outputSchema: z.array(z.object({ ok: z.literal(true) })),
  uses: { tasks: { create } },
  handler: async (_input, { env }) => [(await env.tasks.create({ title: "a" })).data],
});
const registry = createRegistry([create, twice]);
expectTypeOf((await registry.execute("tasks.create", { title: "a" })).data).toEqualTypeOf<{ ok: true }>();

declare const error: unknown;
if (isDeclaredError(error, create, "FULL")) expectTypeOf(error.details).toEqualTypeOf<{ most: number }>();
if (isDeclaredError(error, create, "CLOSED")) expectTypeOf(error.details).toEqualTypeOf<unknown>();
// @ts-expect-error it declares no such code
isDeclaredError(error, create, "FUL");

// Nothing but the version and the rules of the namespace becomes optional.
const bare = defineNamespace("bare");
const draft = {
  name: "a",
  type: "query",
  description: "",
  inputSchema: z.object({}),
  outputSchema: z.string(),
} as const;
bare({ ...draft, accessControl: { requiredScopes: [] }, handler: () => "x" });
// @ts-expect-error who may call it has to be said somewhere
bare({ ...draft, handler: () => "x" });
// @ts-expect-error the schema says string
defineTask({ ...draft, handler: () => 1 });
void defineOperation;
