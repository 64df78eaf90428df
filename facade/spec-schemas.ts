import type { ForBoth } from "./schema-types.js";
import { Type } from "./type-builder.js";

const accessControlSchema = Type.Object(
  {
    requiredScopes: Type.Array(Type.String(), { description: "Scopes of which the caller needs all" }),
    requiredScopesAny: Type.Optional(
      Type.Array(Type.String(), { description: "Scopes of which the caller needs one" }),
    ),
    resourceType: Type.Optional(
      Type.String({ description: "Kind of resource; goes together with resourceAction" }),
    ),
    resourceAction: Type.Optional(
      Type.String({ description: "What the caller must be allowed to do with such a resource" }),
    ),
    when: Type.Optional(Type.Unknown({ description: "What the call must be like" })),
    customAuth: Type.Optional(
      Type.String({ description: "Name of a function given in RegistryOptions.customAuth" }),
    ),
  },
  { description: "What an operation demands of its caller" },
);

/**
 * Who may call an operation.
 *
 * @example
 * ```ts
 * Value.Check(AccessControlSchema, { requiredScopes: ["tasks:read"] }); // true
 * ```
 */
export const AccessControlSchema: ForBoth<typeof accessControlSchema> = accessControlSchema;

export const IdentitySchema = Type.Object(
  {
    id: Type.String({ description: "Who it is" }),
    scopes: Type.Array(Type.String(), { description: "What they may do in general" }),
    resources: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.String()), {
        description: "What they may do with which resource: type:id to actions",
      }),
    ),
    claims: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: "What else is known of them" }),
    ),
  },
  { description: "Who calls" },
);

/** A schema of any library: which ones are understood is for the registry's adapter to say. */
const schema = (description: string) => Type.Object({}, { description });

const errorDefinitionSchema = Type.Object(
  {
    code: Type.String({ minLength: 1, description: "The code that callers branch on" }),
    description: Type.Optional(Type.String({ description: "When it happens" })),
    schema: Type.Optional(Type.Unknown({ description: "The shape of the error's details" })),
    httpStatus: Type.Optional(Type.Number({ description: "The HTTP status that stands for it" })),
  },
  { description: "An error that an operation announces" },
);

/**
 * An error that an operation declares.
 *
 * @example
 * ```ts
 * Value.Check(ErrorDefinitionSchema, { code: "NOT_FOUND", httpStatus: 404 });
 * ```
 */
export const ErrorDefinitionSchema: ForBoth<typeof errorDefinitionSchema> = errorDefinitionSchema;

const specProperties = {
  name: Type.String({ minLength: 1, description: "Name within the namespace" }),
  namespace: Type.String({ minLength: 1, description: "Namespace" }),
  version: Type.String({ description: "Version of the operation" }),
  type: Type.Union([Type.Literal("query"), Type.Literal("mutation"), Type.Literal("subscription")], {
    description: "What calling the operation means",
  }),
  title: Type.Optional(Type.String({ description: "A title for people" })),
  description: Type.String({ description: "What the operation does" }),
  tags: Type.Optional(Type.Array(Type.String(), { description: "Words to find it by" })),
  inputSchema: schema("What the operation takes"),
  outputSchema: schema("What the operation gives"),
  accessControl: accessControlSchema,
  errorSchemas: Type.Optional(
    Type.Array(errorDefinitionSchema, { description: "How the operation may fail" }),
  ),
  visibility: Type.Optional(
    Type.Union([Type.Literal("external"), Type.Literal("internal")], {
      description: "Whether it can be called through the call protocol and through servers",
    }),
  ),
  limits: Type.Optional(
    Type.Object(
      {
        concurrency: Type.Optional(Type.Integer({ minimum: 1, description: "Calls that run at a time" })),
        queue: Type.Optional(Type.Integer({ minimum: 0, description: "Calls that wait" })),
        timeout: Type.Optional(
          Type.Number({
            exclusiveMinimum: 0,
            description: "How long a call may wait or run, in milliseconds",
          }),
        ),
        rate: Type.Optional(
          Type.Object(
            {
              calls: Type.Integer({ minimum: 1 }),
              per: Type.Number({ exclusiveMinimum: 0, description: "In milliseconds" }),
            },
            { description: "Calls that begin in a stretch of time" },
          ),
        ),
      },
      { description: "How many calls of it run, wait and begin" },
    ),
  ),
  approval: Type.Optional(
    Type.Union([Type.Literal("never"), Type.Literal("always")], {
      description: "Whether a call needs the approval of a person",
    }),
  ),
  _meta: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: "What an adapter wants to remember" }),
  ),
};

const operationSpecSchema = Type.Object(specProperties, {
  description: "An operation without its handler",
});

/**
 * An operation without its handler.
 *
 * @example
 * ```ts
 * Value.Check(OperationSpecSchema, registry.getSpec("demo.greet")); // true
 * ```
 */
export const OperationSpecSchema: ForBoth<typeof operationSpecSchema> = operationSpecSchema;

const operationDefinitionSchema = Type.Object(
  { ...specProperties, handler: Type.Unknown({ description: "The function that does the work" }) },
  { description: "An operation with its handler" },
);

/**
 * An operation with its handler.
 *
 * @example
 * ```ts
 * Value.Check(OperationDefinitionSchema, registry.get("demo.greet")); // true
 * ```
 */
export const OperationDefinitionSchema: ForBoth<typeof operationDefinitionSchema> = operationDefinitionSchema;

const operationContextSchema = Type.Object(
  {
    requestId: Type.Optional(Type.String({ description: "Id of this call" })),
    parentRequestId: Type.Optional(Type.String({ description: "Id of the call that made this one" })),
    identity: Type.Optional(IdentitySchema),
    trusted: Type.Optional(Type.Boolean({ description: "Access control is skipped" })),
    metadata: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: "Whatever the caller adds" }),
    ),
    env: Type.Optional(Type.Unknown({ description: "Other operations, by namespace and name" })),
    deadline: Type.Optional(Type.Number({ description: "Absolute time in Unix milliseconds" })),
    signal: Type.Optional(Type.Unknown({ description: "AbortSignal of the call" })),
    approve: Type.Optional(Type.Unknown({ description: "Function that asks for an approval" })),
    approval: Type.Optional(Type.String({ description: "Id of an approval that was granted for the call" })),
  },
  { description: "What a handler learns about its call" },
);

/**
 * The context of a call.
 *
 * @example
 * ```ts
 * Value.Check(OperationContextSchema, { requestId: "r-1" }); // true
 * ```
 */
export const OperationContextSchema: ForBoth<typeof operationContextSchema> = operationContextSchema;
