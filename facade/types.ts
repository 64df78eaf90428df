import type { ResponseEnvelope } from "./envelope.js";
import type { AnySchema, InputOf, OutputOf, SchemaOf } from "./schema-types.js";

/** What calling an operation means. */
export const OperationType = {
  /** Reads. */
  QUERY: "query",
  /** Changes something. */
  MUTATION: "mutation",
  /** Yields many results. */
  SUBSCRIPTION: "subscription",
} as const;

export type OperationType = (typeof OperationType)[keyof typeof OperationType];

// So that `OperationType.QUERY` can be used as a type, as with an enum.
export declare namespace OperationType {
  type QUERY = "query";
  type MUTATION = "mutation";
  type SUBSCRIPTION = "subscription";
}

/** Who may call an operation. Without any requirement it is open to everyone. */
export interface AccessControl {
  /** The caller needs all of these. */
  requiredScopes: string[];
  /** The caller needs one of these, when there are any. */
  requiredScopesAny?: string[];
  /** Together with `resourceAction`: some resource of the caller's, `<resourceType>:<id>`, must list the action. */
  resourceType?: string;
  resourceAction?: string;
  /** The name of a function in `RegistryOptions.customAuth`, asked after the scopes. */
  customAuth?: string;
}

/** Who calls. */
export interface Identity {
  id: string;
  scopes: string[];
  /** `<type>:<id>` to the actions allowed on it. */
  resources?: Record<string, string[]>;
}

/** An error that an operation announces. */
export interface ErrorDefinition {
  code: string;
  description?: string;
  /** The shape of the error's details. */
  schema?: AnySchema;
  /** The HTTP status that stands for it, where operations are served over HTTP. */
  httpStatus?: number;
}

/** What a handler learns about its call. Callers may add properties of their own. */
export interface OperationContext {
  requestId?: string;
  parentRequestId?: string;
  identity?: Identity;
  /** Skips access control. Never read from, or sent in, a call protocol event. */
  trusted?: boolean;
  metadata?: Record<string, unknown>;
  /** Other operations, by namespace and name. */
  env?: OperationEnv;
  /** Absolute time in milliseconds. */
  deadline?: number;
  signal?: AbortSignal;
  [key: string]: unknown;
}

/** Other operations, ready to be called: `env.namespace.name(input)`. */
export type OperationEnv = Record<
  string,
  // biome-ignore lint/suspicious/noExplicitAny: what an operation takes is known to its schema only
  Record<string, (input?: any) => Promise<ResponseEnvelope<any>>>
>;

/**
 * An operation without its handler. The type arguments are the types of the two schemas (or, as
 * some prefer to write it, of the values that they describe).
 */
// biome-ignore lint/suspicious/noExplicitAny: a spec that says nothing about its types
export interface OperationSpec<TInput = any, TOutput = any> {
  name: string;
  namespace: string;
  version: string;
  type: OperationType;
  title?: string;
  description: string;
  tags?: string[];
  inputSchema: SchemaOf<TInput>;
  outputSchema: SchemaOf<TOutput>;
  accessControl: AccessControl;
  errorSchemas?: ErrorDefinition[];
  /** What an adapter wants to remember. */
  _meta?: Record<string, unknown>;
}

/** The work of a QUERY or a MUTATION. What is no envelope is wrapped in one. */
export type OperationHandler<
  // biome-ignore lint/suspicious/noExplicitAny: an untyped handler must compile
  TInput = any,
  // biome-ignore lint/suspicious/noExplicitAny: an untyped handler must compile
  TOutput = any,
  TContext extends OperationContext = OperationContext,
> = (
  input: TInput,
  context: TContext,
) => TOutput | ResponseEnvelope<TOutput> | Promise<TOutput | ResponseEnvelope<TOutput>>;

/** The work of a SUBSCRIPTION: an async generator function. */
export type SubscriptionHandler<
  // biome-ignore lint/suspicious/noExplicitAny: an untyped handler must compile
  TInput = any,
  // biome-ignore lint/suspicious/noExplicitAny: an untyped handler must compile
  TOutput = any,
  TContext extends OperationContext = OperationContext,
> = (input: TInput, context: TContext) => AsyncGenerator<TOutput | ResponseEnvelope<TOutput>, void, unknown>;

/** An operation with its handler, whose input and output follow from the schemas. */
export type IOperationDefinition<
  // biome-ignore lint/suspicious/noExplicitAny: a definition that says nothing about its types
  TInput = any,
  // biome-ignore lint/suspicious/noExplicitAny: a definition that says nothing about its types
  TOutput = any,
  TContext extends OperationContext = OperationContext,
> =
  | (OperationSpec<TInput, TOutput> & {
      type: "query" | "mutation";
      handler: OperationHandler<InputOf<TInput>, OutputOf<TOutput>, TContext>;
    })
  | (OperationSpec<TInput, TOutput> & {
      type: "subscription";
      handler: SubscriptionHandler<InputOf<TInput>, OutputOf<TOutput>, TContext>;
    });

/**
 * Returns the operation as it is. It is there for the types: the handler's input and output are
 * inferred from the schemas, without an annotation.
 */
export function defineOperation<TInput extends AnySchema, TOutput extends AnySchema>(
  operation: IOperationDefinition<TInput, TOutput>,
): IOperationDefinition<TInput, TOutput> {
  return operation;
}
