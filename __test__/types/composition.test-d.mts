// `uses` gives a handler a typed `env`. This file is compiled, not run.

import {
  createRegistry,
  defineOperation,
  type OperationContext,
  type OperationEnv,
  OperationRegistry,
} from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { expectTypeOf } from "expect-type";

const common = { version: "1.0.0", description: "for the types", accessControl: { requiredScopes: [] } };

const get = defineOperation({
  ...common,
  namespace: "users",
  name: "get",
  type: "query",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.Object({ email: Type.String() }),
  handler: ({ name }, context) => {
    expectTypeOf(context.env).toEqualTypeOf<OperationEnv | undefined>();
    return { email: `${name}@example.com` };
  },
});

const assign = defineOperation({
  ...common,
  namespace: "tasks",
  name: "assign",
  type: "mutation",
  inputSchema: Type.Object({ to: Type.String() }),
  outputSchema: Type.Object({ done: Type.Literal(true), email: Type.String() }),
  uses: { users: { get } },
  handler: async ({ to }, { env, identity }) => {
    expectTypeOf(identity).toEqualTypeOf<OperationContext["identity"]>();
    const { data } = await env.users.get({ name: to });
    expectTypeOf(data).toEqualTypeOf<{ email: string }>();
    // @ts-expect-error it takes a name
    env.users.get({ nme: to });
    // @ts-expect-error there is no such operation
    env.users.remove;
    return { done: true, email: data.email };
  },
});

const registry = createRegistry([get, assign]);
expectTypeOf((await registry.execute("tasks.assign", { to: "ada" })).data).toEqualTypeOf<{
  done: true;
  email: string;
}>();

new OperationRegistry().register({
  ...common,
  namespace: "tasks",
  name: "all",
  type: "subscription",
  inputSchema: Type.Object({}),
  outputSchema: Type.String(),
  uses: { users: { get } },
  handler: async function* (_input, { env }) {
    yield (await env.users.get({ name: "ada" })).data.email;
  },
});

new OperationRegistry().register({
  ...common,
  namespace: "tasks",
  name: "any",
  type: "query",
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  uses: true,
  handler: (_input, { env }) => {
    expectTypeOf(env).toEqualTypeOf<OperationEnv>();
    return env["users"]?.["get"]?.({ name: "ada" });
  },
});
