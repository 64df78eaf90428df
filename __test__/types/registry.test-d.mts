// What `register` infers, and what it lets through.

import { OperationRegistry, type ResponseEnvelope, subscribe, unwrap } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { expectTypeOf } from "expect-type";
import { z } from "zod";

const registry = new OperationRegistry({ customAuth: { owner: async (identity) => identity?.id === "ada" } });
const common = { namespace: "t", version: "1", description: "", accessControl: { requiredScopes: [] } };

registry.register({
  ...common,
  name: "typebox",
  type: "query",
  inputSchema: Type.Object({ id: Type.Integer() }),
  outputSchema: Type.Object({ name: Type.String() }),
  handler: async (input, context) => {
    expectTypeOf(input).toEqualTypeOf<{ id: number }>();
    expectTypeOf(context.signal).toEqualTypeOf<AbortSignal | undefined>();
    return { name: String(input.id) };
  },
});
registry.register({
  ...common,
  name: "zod",
  type: "subscription",
  inputSchema: z.object({ from: z.number() }),
  outputSchema: z.number(),
  handler: async function* (input) {
    expectTypeOf(input).toEqualTypeOf<{ from: number }>();
    yield input.from;
  },
});

// Results are as typed as the caller says.
const envelope = await registry.execute<{ id: number }, { name: string }>("t.typebox", { id: 1 }, {});
expectTypeOf(envelope).toEqualTypeOf<ResponseEnvelope<{ name: string }>>();
expectTypeOf(unwrap(envelope).name).toEqualTypeOf<string>();
for await (const each of subscribe(registry, "t.zod", { from: 1 }, {})) {
  expectTypeOf(each).toEqualTypeOf<ResponseEnvelope>();
}

// @ts-expect-error there is no such mode
new OperationRegistry({ output: "strip" });
