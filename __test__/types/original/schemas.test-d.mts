// Written for the TypeScript package: schemas of specs are handed to TypeBox.

import {
  FromOpenAPI,
  type IOperationDefinition,
  OperationRegistry,
  type OperationSpec,
} from "@alkdev/operations";
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { Value } from "@sinclair/typebox/value";
import { ObjectSchema, StringSchema, Value as ValueOfFork } from "../foreign-typebox.mjs";

const registry = new OperationRegistry();
const spec = registry.getSpec("tasks.create");
if (spec !== undefined) {
  const valid: boolean = Value.Check(spec.inputSchema, { title: "x" });
  const compiled = TypeCompiler.Compile(spec.outputSchema).Check({ id: "1" });
  const page = Type.Object({ items: Type.Array(spec.outputSchema), next: Type.Optional(Type.String()) });
  const list: TSchema[] = [spec.inputSchema, spec.outputSchema];
  void [valid, compiled, page, list];
}

for (const { inputSchema, outputSchema } of registry.list()) {
  Value.Errors(inputSchema, {});
  Value.Create(outputSchema);
}
for (const each of registry.getAllSpecs()) Type.Intersect([each.inputSchema, Type.Object({})]);
const found = registry.getByName("tasks", "create");
if (found?.handler !== undefined) Value.Check(found.inputSchema, {});

/** A helper over any spec. */
export function describeInput(spec: OperationSpec): string {
  const schema: TSchema = spec.inputSchema;
  return JSON.stringify(schema);
}
export function accepts(operation: IOperationDefinition, input: unknown): boolean {
  return Value.Check(operation.inputSchema, input);
}

// The fork that the package was written with, whose `Kind` is another symbol to the compiler: both ways.
const written: OperationSpec = {
  name: "create",
  namespace: "tasks",
  version: "1.0.0",
  type: "mutation",
  description: "Creates a task",
  inputSchema: ObjectSchema({ title: StringSchema() }),
  outputSchema: StringSchema(),
  accessControl: { requiredScopes: [] },
};
registry.registerSpec(written);
ValueOfFork.Check(written.inputSchema, {});

// Where the types are given, they stay.
const Input = Type.Object({ title: Type.String() });
declare const typed: OperationSpec<typeof Input, TSchema>;
const input: Static<typeof typed.inputSchema> = { title: "x" };
void input;

for (const { inputSchema } of FromOpenAPI({ openapi: "3.1.0", paths: {} }, { namespace: "pets" })) {
  Value.Check(inputSchema, {});
}
