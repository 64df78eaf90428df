// The operations of the execute benchmark, and everyone who can run them.

import { OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import {
  BareFloorPipeline,
  CompiledPipeline,
  FloorPipeline,
  ReferencePipeline,
} from "./reference-pipeline.mjs";
import { libraries, sizes, typeboxSchema, values, zodSchema } from "./schema-cases.mjs";

export { libraries, sizes };

/** From nothing to something with `register` and `execute`. */
export const pipelines = {
  "reference (Value.Check, Value.Cast)": () => new ReferencePipeline(),
  "reference on TypeCompiler": () => new CompiledPipeline(),
  "floor (values not checked)": () => new FloorPipeline(),
  "bare floor (access not checked either)": () => new BareFloorPipeline(),
  ours: () => new OperationRegistry(),
};
export const REFERENCE = "reference (Value.Check, Value.Cast)";
export const COMPILED = "reference on TypeCompiler";
export const CLOSED = "reference on TypeCompiler, closed";
export const FLOOR = "floor (values not checked)";

/** The reference on TypeCompiler, which also refuses undeclared properties of the output. From a copy of its module, because V8
 * would compile code that two pipelines share for both of them. */
export async function closedPipeline() {
  const { CompiledPipeline: Copy } = await import("./reference-pipeline.mjs?closed");
  return new (class extends Copy {
    register(operation) {
      super.register({ ...operation, outputSchema: closedSchema(operation.outputSchema) });
    }
  })();
}

/** The schema with `additionalProperties: false` on each object in it. */
function closedSchema(schema) {
  if (Array.isArray(schema)) return schema.map(closedSchema);
  if (typeof schema !== "object" || schema === null) return schema;
  const copy = {};
  for (const key of Reflect.ownKeys(schema)) copy[key] = closedSchema(schema[key]);
  return copy.type === "object" ? { ...copy, additionalProperties: false } : copy;
}

export const context = {
  requestId: "r-1",
  identity: { id: "ada", scopes: ["orders:write", "orders:read", "items:read"] },
};

/** An operation whose input and output are both checked. */
export function operation(name, inputSchema, outputSchema = inputSchema) {
  return {
    namespace: "bench",
    name,
    version: "1.0.0",
    type: "query",
    description: `Returns what it is given: ${name}`,
    inputSchema,
    outputSchema,
    accessControl: { requiredScopes: ["orders:read", "items:read"] },
    handler: async (input) => input,
  };
}

export const sizedOperation = (size, name = size) =>
  operation(name, typeboxSchema(size), typeboxSchema(size));

/** Values as they come off a wire: no two the same object. */
export const inputsOf = (value, count = 8) =>
  Array.from({ length: count }, () => JSON.parse(JSON.stringify(value)));
export const inputsOfSize = (size) => inputsOf(values[size]);

/** Sixty operations that share neither schemas nor property names. */
export function distinctOperations(count = 60) {
  const kinds = [
    (i) => [{ [`id${i}`]: Type.Integer(), [`name${i}`]: Type.String(), [`active${i}`]: Type.Boolean() }],
    (i) => [
      {
        [`key${i}`]: Type.String(),
        [`score${i}`]: Type.Number(),
        [`note${i}`]: Type.Optional(Type.String()),
      },
    ],
    (i) => [
      { [`tags${i}`]: Type.Array(Type.String()), [`at${i}`]: Type.Object({ [`x${i}`]: Type.Number() }) },
    ],
  ];
  const examples = [
    (i) => ({ [`id${i}`]: i, [`name${i}`]: "Ada", [`active${i}`]: true }),
    (i) => ({ [`key${i}`]: "k", [`score${i}`]: 1.5, [`note${i}`]: "n" }),
    (i) => ({ [`tags${i}`]: ["a", "b"], [`at${i}`]: { [`x${i}`]: 1.5 } }),
  ];
  return Array.from({ length: count }, (_, i) => {
    const make = () => Type.Object(kinds[i % 3](i)[0]);
    return {
      id: `bench.op${i}`,
      operation: operation(`op${i}`, make(), make()),
      inputs: inputsOf(examples[i % 3](i)),
    };
  });
}

/** The peers, on the small operation. Neither checks access; Moleculer does not check outputs. They are
 * installed for the benchmark only, so they are loaded here and nowhere else. */
export async function peers() {
  const { call, os } = await import("@orpc/server");
  const { ServiceBroker } = (await import("moleculer")).default;
  const procedure = orpcProcedure(os, "small");
  const broker = new ServiceBroker({ logger: false });
  broker.createService({
    name: "bench",
    actions: {
      small: {
        params: { id: { type: "number", integer: true }, name: "string", active: "boolean" },
        handler: async ({ params }) => params,
      },
    },
  });
  await broker.start();
  return {
    contestants: {
      "oRPC call() with Zod": {
        execute: (_, input, options) => call(procedure, input, { context: options }),
      },
      "Moleculer broker.call": { execute: (id, input, meta) => broker.call(id, input, { meta }) },
    },
    stop: () => broker.stop(),
  };
}

const orpcProcedure = (os, size) =>
  os
    .$context()
    .input(zodSchema(size))
    .output(zodSchema(size))
    .handler(async ({ input }) => input);

export const plainName = (library) => `plain ${library}: parse, handler, parse`;

/** Who takes the schemas of a library for input and output. The library alone is the floor; of these, only ours checks access. */
export async function standardPipelines(library, size) {
  const { schema, parse } = libraries[library];
  const [input, output] = [parse(schema(size)), parse(schema(size))];
  const handler = async (value) => value;
  const ours = new OperationRegistry();
  ours.register(operation(size, schema(size), schema(size)));
  const { call, os } = await import("@orpc/server");
  const procedure = os
    .$context()
    .input(schema(size))
    .output(schema(size))
    .handler(async ({ input }) => input);
  return {
    [plainName(library)]: { execute: async (_, value) => output(await handler(input(value))) },
    [`oRPC call() with ${library}`]: {
      execute: (_, value, options) => call(procedure, value, { context: options }),
    },
    [`ours with ${library}`]: ours,
  };
}
