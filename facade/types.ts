// `await using` in the declarations, for users whose `lib` does not have it.
/// <reference lib="esnext.disposable" preserve="true" />

import type { AccessCondition } from "./access-condition.js";
import type { ResponseEnvelope } from "./envelope.js";
import type { TraceContext } from "./interop/trace.js";
import type { Literal, UsedEnv } from "./operation-types.js";
import type { ApprovalQuestion } from "./registry/approval-types.js";
import type { OutputMode } from "./registry/entry.js";
import type { CallLimits } from "./registry/limits.js";
import type {
  AnySchema,
  HandlerInput,
  HandlerOutput,
  SchemaOf,
  ValueAfter,
  ValueBefore,
} from "./schema-types.js";

/**
 * The type of an operation: query, mutation or subscription.
 *
 * @example
 * ```ts
 * registry.list().filter(({ type }) => type === OperationType.QUERY);
 * ```
 */
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

/**
 * Who may call an operation. Without any requirement, it is open to everyone.
 *
 * @example
 * ```ts
 * const rules: AccessControl = { requiredScopes: ["tasks:write"], resourceType: "task", resourceAction: "edit" };
 * ```
 */
export interface AccessControl {
  /** The caller needs all of these. */
  requiredScopes: string[];
  /** The caller needs at least one of these, if the list is not empty. */
  requiredScopesAny?: string[];
  /** Together with `resourceAction`: one of the caller's resources `<resourceType>:<id>` must list that action. */
  resourceType?: string;
  resourceAction?: string;
  /** What the call must be like: its input, and who makes it. Of a list, one must hold. */
  when?: AccessCondition | readonly AccessCondition[];
  /** The name of a function in `RegistryOptions.customAuth`. It is called after the scopes were checked. */
  customAuth?: string;
}

/**
 * The identity of a caller.
 *
 * @example
 * ```ts
 * const identity: Identity = { id: "ada", scopes: ["tasks:read"], resources: { "task:7": ["edit"] } };
 * ```
 */
export interface Identity {
  id: string;
  scopes: string[];
  /** `<type>:<id>` to the actions allowed on it. */
  resources?: Record<string, string[]>;
  /** What else is known of them and `when` may compare, such as a tenant. */
  claims?: Readonly<Record<string, unknown>>;
}

/**
 * An error that an operation declares.
 *
 * @example
 * ```ts
 * const notFound: ErrorDefinition = { code: "NOT_FOUND", description: "No such task", httpStatus: 404 };
 * ```
 */
export interface ErrorDefinition {
  code: string;
  description?: string;
  /** The shape of the error's details. */
  schema?: unknown;
  /** The HTTP status of this error when the operation is served over HTTP. */
  httpStatus?: number;
}

/**
 * Properties that your application adds to every context. Empty by default. Declare yours once, by declaration merging.
 *
 * @example
 * ```ts
 * declare module "@alkdev/operations" {
 *   interface OperationContextExtensions {
 *     tenant?: string;
 *   }
 * }
 * ```
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is there to be merged with
export interface OperationContextExtensions {}

/**
 * Functions with which a handler talks to the client of its call. A function exists only if the client supports it. At
 * present, only clients of an MCP server (`serve`, `serveStdio`) do.
 *
 * Clients of MCP revision 2026-07-28 are asked by ending the call: `elicit`, `sample` and `listRoots` then reject with
 * `ABORTED`. When the answers are there, the handler runs again from its beginning. So everything that it does before its
 * last question must be safe to repeat.
 *
 * @example
 * ```ts
 * const confirm = async (context: CallerLine) => {
 *   const answer = await context.elicit?.({
 *     message: "Really?",
 *     requestedSchema: { type: "object", properties: { sure: { type: "boolean" } } },
 *   });
 *   return answer?.action === "accept" && answer.content?.["sure"] === true;
 * };
 * ```
 */
export interface CallerLine {
  /** Says how far the call is: `onProgress(1, 2, "half")`, or `onProgress({ progress: 1, total: 2 })`. */
  onProgress?(
    progress: number | { progress: number; total?: number; message?: string },
    total?: number,
    message?: string,
  ): void;
  /** Writes a line to the client's log, if it wants to see lines of this level. */
  log?(
    level: "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency",
    data: unknown,
  ): void;
  /** Asks the user. `key` names the question in the client's answers (by default `elicit-1` and so on). */
  elicit?(
    request: { message: string; requestedSchema?: unknown; [more: string]: unknown },
    options?: { key?: string },
  ): Promise<{ action: "accept" | "decline" | "cancel"; content?: Record<string, unknown> }>;
  /** Asks the client's model. */
  sample?(
    request: { messages: readonly unknown[]; maxTokens: number; [more: string]: unknown },
    options?: { key?: string },
  ): Promise<{ role: string; content: unknown; model?: string; stopReason?: string }>;
  /** Asks where the client works: the addresses of its folders. */
  listRoots?(options?: { key?: string }): Promise<{ roots: { uri: string; name?: string }[] }>;
}

/**
 * The context of a call, which its handler receives. Declare properties of your own in `OperationContextExtensions`.
 *
 * @example
 * ```ts
 * const context: OperationContext = { identity, deadline: Date.now() + 5_000, metadata: { trace: "t-1" } };
 * ```
 */
export interface OperationContext extends OperationContextExtensions, CallerLine {
  requestId?: string;
  parentRequestId?: string;
  identity?: Identity;
  /** Skips access control. Never read from, or sent in, a call protocol event. */
  trusted?: boolean;
  metadata?: CallMetadata;
  /** Other operations, by namespace and name. */
  env?: OperationEnv;
  /** Milliseconds since 1970. */
  deadline?: number;
  /** A deadline from now, in milliseconds: the caller's word for it. Handlers see the deadline. */
  timeout?: number;
  signal?: AbortSignal;
  /** Asks whether a call that needs an approval may be made. Nested calls use it too. Only `true` approves. */
  approve?(question: ApprovalQuestion): boolean | Promise<boolean>;
  /** The id of an approval that was granted for this call. */
  approval?: string;
  /** The trace context that the caller of a served call sent. */
  trace?: TraceContext;
}

/**
 * Other operations, ready to be called: `env.namespace.name(input)`.
 *
 * @example
 * ```ts
 * const total = async (env: OperationEnv) => (await env["cart"]!["total"]!({ id: 7 })).data;
 * ```
 */
export type OperationEnv = Record<
  string,
  // biome-ignore lint/suspicious/noExplicitAny: what an operation takes is known to its schema only
  Record<string, (input?: any) => Promise<ResponseEnvelope<any>>>
>;

/**
 * What `_meta` of an operation may hold. A misspelt key of these is refused at registration; other keys are your own. Add
 * types for them by declaration merging.
 *
 * @example
 * ```ts
 * const _meta: OperationMeta = { mcp: { task: true }, output: "strict", "acme.com/cost": 3 };
 * ```
 */
export interface OperationMeta {
  /** How the operation appears to MCP clients. */
  mcp?: MCPMeta;
  /** What happens to outputs that do not match the schema. */
  output?: OutputMode;
  [key: string]: unknown;
}

/**
 * What `metadata` of a call may hold: data for the handler, and a few settings. A key that is one letter away from these is
 * refused; other keys are your own. Add types for them by declaration merging.
 *
 * @example
 * ```ts
 * const metadata: CallMetadata = { headers: { "x-tenant": "acme" }, tenant: "acme" };
 * ```
 */
export interface CallMetadata {
  /** Headers of the HTTP request, for imported HTTP operations. */
  headers?: Record<string, string>;
  /** For HTTP and MCP operations, instead of the source's own timeout. In milliseconds. */
  timeout?: number;
  /** For MCP tools: whether a sign of progress begins `timeout` anew. */
  resetTimeoutOnProgress?: boolean;
  /** Of a stream that is read on: the id of the last event that the caller has. */
  lastEventId?: string;
  [key: string]: unknown;
}

/**
 * How an operation appears to MCP clients.
 *
 * @example
 * ```ts
 * const mcp: MCPMeta = { resource: { uri: "notes://pages/{number}" } };
 * ```
 */
export interface MCPMeta {
  /** Whether it is a tool, and under which name. */
  tool?: boolean | { name?: string };
  prompt?: boolean;
  resource?: false | { uri: string; mimeType?: string };
  /** Whether and when a call of it is a task. `after` is in milliseconds. */
  task?: boolean | "optional" | "required" | { required?: boolean; after?: number };
  /** What the client must be able to do. */
  requires?: readonly string[];
  /** By argument: words, or the id of an operation that has them. */
  complete?: Readonly<Record<string, string | readonly string[]>>;
}

/**
 * An operation without its handler. The type arguments are the types of the two schemas (or, as
 * some prefer to write it, of the values that they describe).
 *
 * @example
 * ```ts
 * const spec: OperationSpec = {
 *   namespace: "demo",
 *   name: "greet",
 *   version: "1.0.0",
 *   type: OperationType.QUERY,
 *   description: "Says hello",
 *   inputSchema: Type.Object({ name: Type.String() }),
 *   outputSchema: Type.String(),
 *   accessControl: { requiredScopes: [] },
 * };
 * registry.registerSpec(spec);
 * ```
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
  /**
   * `"internal"` operations can be called directly and through `env`, but not through the call protocol or a server.
   * `"external"` is the default.
   */
  visibility?: "external" | "internal";
  /** Limits for this operation. */
  limits?: CallLimits;
  /** What its handler calls. Clients do not see it. */
  uses?: Uses | undefined;
  /** `"always"`: each call needs the approval of a person, unless `RegistryOptions.approvals.decide` says otherwise. */
  approval?: "never" | "always";
  /** Further settings and information, such as `_meta.mcp` and `_meta.output`. */
  _meta?: OperationMeta;
}

/**
 * The handler of a QUERY or a MUTATION. Its result is wrapped in an envelope, if it is not one already.
 *
 * @example
 * ```ts
 * const handler: OperationHandler<{ name: string }, string> = async ({ name }, { signal }) => `Hello, ${name}`;
 * ```
 */
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

/**
 * The handler of a SUBSCRIPTION: an async generator function.
 *
 * @example
 * ```ts
 * const handler: SubscriptionHandler<{ to: number }, number> = async function* ({ to }) {
 *   for (let i = 1; i <= to; i++) yield i;
 * };
 * ```
 */
export type SubscriptionHandler<
  // biome-ignore lint/suspicious/noExplicitAny: an untyped handler must compile
  TInput = any,
  // biome-ignore lint/suspicious/noExplicitAny: an untyped handler must compile
  TOutput = any,
  TContext extends OperationContext = OperationContext,
> = (input: TInput, context: TContext) => AsyncGenerator<TOutput | ResponseEnvelope<TOutput>, void, unknown>;

/**
 * An operation with its handler, whose input and output follow from the schemas. An interface, so that it can be
 * extended. `defineOperation` is stricter: it also checks that the handler fits `type`.
 *
 * @example
 * ```ts
 * interface AuditedOperation extends IOperationDefinition {
 *   owner: string;
 * }
 * const owners = (operations: AuditedOperation[]) => operations.map(({ owner }) => owner);
 * ```
 */
export interface IOperationDefinition<
  // biome-ignore lint/suspicious/noExplicitAny: a definition that says nothing about its types
  TInput = any,
  // biome-ignore lint/suspicious/noExplicitAny: a definition that says nothing about its types
  TOutput = any,
  TContext extends OperationContext = OperationContext,
> extends OperationSpec<TInput, TOutput> {
  handler:
    | OperationHandler<ValueAfter<TInput>, ValueBefore<TOutput>, TContext>
    | SubscriptionHandler<ValueAfter<TInput>, ValueBefore<TOutput>, TContext>;
}

/**
 * Access rules, with read-only lists allowed.
 *
 * @example
 * ```ts
 * const scopes = ["tasks:read"] as const;
 * const accessControl: AccessRules = { requiredScopes: scopes };
 * ```
 */
export interface AccessRules extends Omit<AccessControl, "requiredScopes" | "requiredScopesAny"> {
  requiredScopes: readonly string[];
  requiredScopesAny?: readonly string[] | undefined;
}

/**
 * An identity, with read-only lists allowed.
 *
 * @example
 * ```ts
 * const caller: CallerIdentity = { id: "ada", scopes: ["tasks:read"] as const };
 * await registry.execute("tasks.list", {}, { identity: caller });
 * ```
 */
export interface CallerIdentity extends Omit<Identity, "scopes" | "resources"> {
  scopes: readonly string[];
  resources?: Readonly<Record<string, readonly string[]>> | undefined;
}

/**
 * The context that a caller passes. The handler gets the same object as its `OperationContext`.
 *
 * @example
 * ```ts
 * const context: CallContext = { identity, deadline: Date.now() + 5_000 };
 * await registry.execute("tasks.list", {}, context);
 * ```
 */
export interface CallContext extends Omit<OperationContext, "identity" | "onProgress"> {
  identity?: CallerIdentity | undefined;
  /**
   * Called with the progress of an MCP tool, if the server reports it. A local handler gets this function as it is, and may also
   * call it with up to three values: `onProgress(1, 2, "half")`.
   */
  onProgress?(progress: { progress: number; total?: number; message?: string }): void;
}

/** What every spec says besides its type, its schemas and its handler, as it may be written. */
interface SpecDraft {
  version: string;
  title?: string | undefined;
  description: string;
  tags?: readonly string[] | undefined;
  accessControl: AccessRules;
  errorSchemas?: readonly ErrorDefinition[] | undefined;
  visibility?: "external" | "internal" | undefined;
  limits?: CallLimits | undefined;
  approval?: "never" | "always" | undefined;
  _meta?: OperationMeta | undefined;
}

/**
 * An operation as it may be written, without its handler.
 *
 * @example
 * ```ts
 * type Draft = HandlerlessDraft<"demo", "greet", "query", typeof greet.inputSchema, typeof greet.outputSchema, never>;
 * const idOf = ({ namespace, name }: Draft) => `${namespace}.${name}`;
 * ```
 */
export interface HandlerlessDraft<
  TNamespace extends string,
  TName extends string,
  TType extends OperationType,
  TInput extends AnySchema,
  TOutput extends AnySchema,
  TUses extends Uses,
  TErrors extends readonly ErrorDefinition[] = readonly ErrorDefinition[],
> extends Omit<SpecDraft, "errorSchemas"> {
  namespace: TNamespace;
  name: TName;
  type: TType;
  inputSchema: TInput;
  outputSchema: TOutput;
  /** The operations that the handler calls, by namespace and name; or `true` for all, without types. Its context then always
   * has `env`. Clients do not see it. */
  uses?: TUses | undefined;
  errorSchemas?: TErrors | undefined;
}

/**
 * An operation as `defineOperation` and `register` accept it: its handler fits its type and its schemas. The last type argument
 * helps the compiler, and is left out.
 *
 * @example
 * ```ts
 * type Draft = OperationDraft<"demo", "greet", "query", typeof greet.inputSchema, typeof greet.outputSchema, OperationContext>;
 * const again = (draft: Draft) => defineOperation(draft);
 * ```
 */
export interface OperationDraft<
  TNamespace extends string,
  TName extends string,
  TType extends OperationType,
  TInput extends AnySchema,
  TOutput extends AnySchema,
  TContext extends OperationContext,
  TUses extends Uses = never,
  TLiteral extends Literal = never,
  TErrors extends readonly ErrorDefinition[] = readonly ErrorDefinition[],
> extends HandlerlessDraft<TNamespace, TName, TType, TInput, TOutput, TUses, TErrors> {
  handler: (
    input: HandlerInput<TInput>,
    context: HandlerContext<TContext, TUses>,
  ) =>
    | Returned<HandlerOutput<TOutput>>[TType]
    | Hidden<TLiteral>
    | AsyncGenerator<Hidden<TLiteral>, void, unknown>;
}

/** Nothing is known of the errors of an operation that declares none. */
type DeclaredErrors<TErrors> = [TErrors] extends [never] ? unknown : TErrors;

/** The same type, from which nothing is inferred. */
type Hidden<T> = [T][T extends unknown ? 0 : never];

/**
 * What `uses` holds: operations by namespace and name, or `true` for all of the registry.
 *
 * @example
 * ```ts
 * const uses: Uses = { demo: { greet } };
 * ```
 */
export type Uses = true | { readonly [namespace: string]: { readonly [name: string]: AnyOperation } };

/**
 * The context of a handler whose operation declares what it `uses`.
 *
 * @example
 * ```ts
 * const hello = (context: HandlerContext<OperationContext, { demo: { greet: typeof greet } }>) =>
 *   context.env.demo.greet({ name: "Ada" });
 * ```
 */
export type HandlerContext<TContext extends OperationContext, TUses extends Uses> = [TUses] extends [never]
  ? TContext
  : Omit<TContext, "env"> & { env: UsedEnv<TUses> };

/** What a handler returns, by the type of its operation. A table, because the compiler looks a key up faster than it
 * decides a condition. */
interface Returned<TOutput> {
  query: TOutput | ResponseEnvelope<TOutput> | Promise<TOutput | ResponseEnvelope<TOutput>>;
  mutation: TOutput | ResponseEnvelope<TOutput> | Promise<TOutput | ResponseEnvelope<TOutput>>;
  subscription: AsyncGenerator<TOutput | ResponseEnvelope<TOutput>, void, unknown>;
}

/**
 * Any operation, whatever its types, with or without its handler.
 *
 * @example
 * ```ts
 * const count = (operations: readonly AnyOperation[]) => operations.filter(({ type }) => type === "query").length;
 * count([greet]);
 * ```
 */
export interface AnyOperation extends SpecDraft {
  namespace: string;
  name: string;
  type: OperationType;
  inputSchema: AnySchema;
  outputSchema: AnySchema;
  uses?: Uses | undefined;
  handler?: ((input: never, context: never) => unknown) | undefined;
}

/**
 * The handler that a type of operation needs. If the type is not known: either kind.
 *
 * @example
 * ```ts
 * const handler: HandlerOf<"query", { name: string }, string, OperationContext> = ({ name }) => `Hello, ${name}`;
 * ```
 */
export type HandlerOf<TType extends OperationType, TInput, TOutput, TContext extends OperationContext> = [
  TType,
] extends ["subscription"]
  ? SubscriptionHandler<TInput, TOutput, TContext>
  : "subscription" extends TType
    ? OperationHandler<TInput, TOutput, TContext> | SubscriptionHandler<TInput, TOutput, TContext>
    : OperationHandler<TInput, TOutput, TContext>;

/**
 * An operation that knows its own id: what `defineOperation` returns and `createRegistry` takes.
 *
 * @example
 * ```ts
 * type Greet = DefinedOperation<"demo", "greet", "query", typeof greet.inputSchema, typeof greet.outputSchema>;
 * const operation: Greet = greet;
 * ```
 */
export interface DefinedOperation<
  TNamespace extends string,
  TName extends string,
  TType extends OperationType,
  TInput extends AnySchema,
  TOutput extends AnySchema,
  TContext extends OperationContext = OperationContext,
  TErrors = unknown,
> extends IOperationDefinition<TInput, TOutput, TContext> {
  /** For the type checker only: the errors that it declares. */
  readonly "~errors"?: TErrors;
  namespace: TNamespace;
  name: TName;
  type: TType;
  handler: HandlerOf<TType, ValueAfter<TInput>, ValueBefore<TOutput>, TContext>;
}

/**
 * Returns the operation unchanged. It infers the handler's input and output from the schemas, without an annotation.
 *
 * @example
 * ```ts
 * const greet = defineOperation({
 *   namespace: "demo",
 *   name: "greet",
 *   version: "1.0.0",
 *   type: OperationType.QUERY,
 *   description: "Says hello",
 *   inputSchema: Type.Object({ name: Type.String() }),
 *   outputSchema: Type.Object({ greeting: Type.String() }),
 *   accessControl: { requiredScopes: [] },
 *   handler: async ({ name }) => ({ greeting: `Hello, ${name}` }),
 * });
 * ```
 */
export function defineOperation<
  const TNamespace extends string,
  const TName extends string,
  TType extends OperationType,
  TInput extends AnySchema,
  TOutput extends AnySchema,
  TContext extends OperationContext = OperationContext,
  TUses extends Uses = never,
  TLiteral extends Literal = never,
  const TErrors extends readonly ErrorDefinition[] = never,
>(
  operation: OperationDraft<TNamespace, TName, TType, TInput, TOutput, TContext, TUses, TLiteral, TErrors>,
): DefinedOperation<
  TNamespace,
  TName,
  TType,
  TInput,
  TOutput,
  Extract<HandlerContext<TContext, TUses>, OperationContext>,
  DeclaredErrors<TErrors>
> {
  return operation as never;
}

/**
 * A `defineOperation` for the operations of one namespace. An operation may leave out its `version` (then that of the namespace, or
 * `1.0.0`) and, if the namespace has access rules, its `accessControl`. Tags of both count.
 *
 * @example
 * ```ts
 * const defineTask = defineNamespace("tasks", { accessControl: { requiredScopes: ["tasks"] }, tags: ["work"] });
 * const list = defineTask({
 *   name: "list",
 *   type: "query",
 *   description: "All tasks",
 *   inputSchema: Type.Object({}),
 *   outputSchema: Type.Array(Type.String()),
 *   handler: () => ["write"],
 * });
 * ```
 */
export function defineNamespace<
  const TNamespace extends string,
  TDefaults extends NamespaceDefaults = Record<never, never>,
>(
  namespace: TNamespace,
  defaults?: TDefaults & NamespaceDefaults,
): <
  const TName extends string,
  TType extends OperationType,
  TInput extends AnySchema,
  TOutput extends AnySchema,
  TContext extends OperationContext = OperationContext,
  TUses extends Uses = never,
  TLiteral extends Literal = never,
  const TErrors extends readonly ErrorDefinition[] = never,
>(
  operation: Omit<
    HandlerlessDraft<TNamespace, TName, TType, TInput, TOutput, TUses, TErrors>,
    "namespace" | "version" | "accessControl"
  > &
    Pick<OperationDraft<TNamespace, TName, TType, TInput, TOutput, TContext, TUses, TLiteral>, "handler"> & {
      version?: string | undefined;
    } & (TDefaults extends { accessControl: AccessRules }
      ? { accessControl?: AccessRules | undefined }
      : { accessControl: AccessRules }),
) => DefinedOperation<
  TNamespace,
  TName,
  TType,
  TInput,
  TOutput,
  Extract<HandlerContext<TContext, TUses>, OperationContext>,
  DeclaredErrors<TErrors>
> {
  const { version = "1.0.0", accessControl, tags } = { ...defaults };
  return (operation) => {
    const given = Object.fromEntries(Object.entries(operation).filter(([, value]) => value !== undefined));
    const all = [...new Set([...(tags ?? []), ...(operation.tags ?? [])])];
    return {
      namespace,
      version,
      ...(accessControl && { accessControl }),
      ...given,
      ...(all.length > 0 && { tags: all }),
    } as never;
  };
}

/**
 * What the operations of a namespace have in common.
 *
 * @example
 * ```ts
 * const defaults: NamespaceDefaults = { version: "2.0.0", accessControl: { requiredScopes: ["tasks"] } };
 * const defineTask = defineNamespace("tasks", defaults);
 * ```
 */
export interface NamespaceDefaults {
  version?: string | undefined;
  accessControl?: AccessRules | undefined;
  tags?: readonly string[] | undefined;
}
