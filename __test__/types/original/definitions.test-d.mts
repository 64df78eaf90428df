// Written for the TypeScript package: definitions are extended, made in parts, and kept in lists.

import {
  type IOperationDefinition,
  type OperationContext,
  type OperationHandler,
  OperationRegistry,
  type OperationSpec,
  OperationType,
  type SubscriptionHandler,
} from "@alkdev/operations";
import { type Static, Type } from "@sinclair/typebox";

interface AuditedOperation extends IOperationDefinition {
  audit: "always" | "never";
}

const base: IOperationDefinition = {
  name: "create",
  namespace: "tasks",
  version: "1.0.0",
  type: OperationType.MUTATION,
  description: "Creates a task",
  inputSchema: Type.Object({ title: Type.String() }),
  outputSchema: Type.Object({ id: Type.String() }),
  accessControl: { requiredScopes: ["tasks:write"] },
  handler: async (input) => ({ id: input.title }),
};

/** A factory with overrides. */
export function makeOperation(overrides: Partial<IOperationDefinition> = {}): IOperationDefinition {
  return { ...base, ...overrides };
}
const audited: AuditedOperation = { ...base, audit: "always" };

const registry = new OperationRegistry();
registry.register(makeOperation({ name: "other" }));
registry.register(audited);
registry.registerAll([base, audited, makeOperation()]);

// With the types of the schemas.
const Input = Type.Object({ n: Type.Number() });
const Output = Type.Object({ double: Type.Number() });
interface Hub extends OperationContext {
  log(text: string): void;
}
export const typed: IOperationDefinition<typeof Input, typeof Output, Hub> = {
  ...base,
  name: "double",
  type: OperationType.QUERY,
  inputSchema: Input,
  outputSchema: Output,
  handler: async (input, context) => {
    context.log(String(input.n));
    return { double: input.n * 2 };
  },
};
registry.register(typed);

class DoubleOperation implements IOperationDefinition<typeof Input, typeof Output> {
  name = "double";
  namespace = "math";
  version = "1.0.0";
  type = OperationType.QUERY;
  description = "Doubles a number";
  inputSchema = Input;
  outputSchema = Output;
  accessControl = { requiredScopes: [] };
  handler: OperationHandler<Static<typeof Input>, Static<typeof Output>> = async ({ n }) => ({
    double: n * 2,
  });
}
registry.register(new DoubleOperation());

// Specs and handlers, apart.
const spec = {
  name: "ticks",
  namespace: "clock",
  version: "1.0.0",
  type: OperationType.SUBSCRIPTION,
  description: "Ticks",
  inputSchema: Type.Object({}),
  outputSchema: Type.Number(),
  accessControl: { requiredScopes: [] },
} satisfies OperationSpec;
const handler: SubscriptionHandler = async function* () {
  yield 1;
};
registry.registerSpec(spec);
registry.registerHandler("clock.ticks", handler);
registry.register({ ...spec, handler });
const again = registry.get("clock.ticks");
if (again !== undefined) registry.register(again);
registry.registerAll(registry.list());

const byId = new Map<string, OperationSpec & { handler?: OperationHandler | SubscriptionHandler }>();
for (const operation of registry.list()) byId.set(`${operation.namespace}.${operation.name}`, operation);
const scopes: string[] = base.accessControl.requiredScopes;
scopes.push("more");
export const result: Promise<{ id: string }> = registry
  .execute<{ title: string }, { id: string }>(
    "tasks.create",
    { title: "x" },
    { identity: { id: "u", scopes } },
  )
  .then((envelope) => envelope.data);
