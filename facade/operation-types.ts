// The types of a registry that knows its operations. Everything here is about `TOperations`, operations by namespace and
// name: `{ demo: { greet: Query<{ name: string }, string> } }`. It is `any` where nothing is known, and every type below
// then gives what an untyped registry has always had.

import type { CallEventType } from "./call/events.js";
import type { CallOptions, SubscribeOptions } from "./call/options.js";
import type { RemoteCallMap } from "./call/transport.js";
import type { ResponseEnvelope } from "./envelope.js";
import type { IsAny, ValueAfter, ValueBefore } from "./schema-types.js";
import type { OperationEnv } from "./types.js";

/**
 * An operation that reads, described by its input and its result.
 *
 * @example
 * ```ts
 * type Remote = { demo: { greet: Query<{ name: string }, { greeting: string }> } };
 * const { data } = await nats.callMap.typed<Remote>().call("demo.greet", { name: "Ada" });
 * data.greeting; // a string
 * ```
 */
export interface Query<TInput = unknown, TOutput = unknown> {
  readonly type: "query";
  readonly input: TInput;
  readonly output: TOutput;
}

/**
 * An operation that changes something, described by its input and its result.
 *
 * @example
 * ```ts
 * type Remote = { tasks: { create: Mutation<{ title: string }, { id: number }> } };
 * const { data } = await nats.callMap.typed<Remote>().call("tasks.create", { title: "Write" });
 * data.id; // a number
 * ```
 */
export interface Mutation<TInput = unknown, TOutput = unknown> {
  readonly type: "mutation";
  readonly input: TInput;
  readonly output: TOutput;
}

/**
 * An operation that yields many results, described by its input and by each result.
 *
 * @example
 * ```ts
 * type Remote = { clock: { ticks: Subscription<{ every: number }, number> } };
 * for await (const { data } of nats.callMap.typed<Remote>().subscribe("clock.ticks", { every: 1_000 })) {
 *   data.toFixed(); // a number
 * }
 * ```
 */
export interface Subscription<TInput = unknown, TOutput = unknown> {
  readonly type: "subscription";
  readonly input: TInput;
  readonly output: TOutput;
}

/** How a defined operation is called. */
export type SignatureOf<TOperation> = TOperation extends {
  type: infer TType;
  inputSchema: infer TInput;
  outputSchema: infer TOutput;
}
  ? TType extends "query"
    ? Query<ValueBefore<TInput>, ValueAfter<TOutput>>
    : TType extends "mutation"
      ? Mutation<ValueBefore<TInput>, ValueAfter<TOutput>>
      : Subscription<ValueBefore<TInput>, ValueAfter<TOutput>>
  : never;

/**
 * Operations by namespace and name. A conditional type, so that an editor shows the operations and not the formula.
 * Operations whose ids the compiler does not know, such as those of an adapter, are `UntypedOperations`.
 *
 * @example
 * ```ts
 * type Operations = OperationsOf<typeof greet>; // { demo: { greet: Query<...> } }
 * const remote = nats.callMap.typed<Operations>();
 * ```
 */
export type OperationsOf<TOperation extends { namespace: string; name: string }> =
  HasUnknownIds<TOperation> extends false
    ? {
        [N in TOperation["namespace"]]: {
          [K in Extract<TOperation, { namespace: N }>["name"]]: SignatureOf<
            Extract<Extract<TOperation, { namespace: N }>, { name: K }>
          >;
        };
      }
    : {
        [N in KnownOf<TOperation>["namespace"]]: {
          [K in Extract<KnownOf<TOperation>, { namespace: N }>["name"]]: SignatureOf<
            Extract<Extract<KnownOf<TOperation>, { namespace: N }>, { name: K }>
          >;
        };
      } & UntypedOperations<UnknownOf<TOperation>["namespace"]>;

/** Whether there are operations whose ids are not known to the compiler, such as those of an adapter. */
type HasUnknownIds<TOperation extends { namespace: string; name: string }> =
  string extends TOperation["namespace"] ? true : string extends TOperation["name"] ? true : false;

/** The operations whose ids are known to the compiler. */
type KnownOf<TOperation extends { namespace: string; name: string }> = TOperation extends unknown
  ? HasUnknownIds<TOperation> extends true
    ? never
    : TOperation
  : never;

/** The others. */
type UnknownOf<TOperation extends { namespace: string; name: string }> = TOperation extends unknown
  ? HasUnknownIds<TOperation> extends true
    ? TOperation
    : never
  : never;

declare const untyped: unique symbol;

/**
 * Operations whose names the compiler does not know, in the given namespaces or in any namespace. They can be called,
 * and their data is `unknown`.
 *
 * @example
 * ```ts
 * type Remote = { demo: { greet: Query<{ name: string }, string> } } & UntypedOperations<"shop">;
 * const remote = nats.callMap.typed<Remote>();
 * await remote.call("shop.getPet", { petId: 7 }); // nothing is known about it, so nothing is checked
 * ```
 */
export interface UntypedOperations<TNamespace extends string = string> {
  /** For the type checker only: at run time there is no such property. */
  readonly [untyped]: TNamespace;
}

/** Whether there are operations that the compiler does not know. */
type HasUntyped<TOperations> = TOperations extends UntypedOperations ? true : false;

/** Their namespaces. */
type UntypedNamespace<TOperations> =
  TOperations extends UntypedOperations<infer TNamespace> ? TNamespace : never;

/** A registry that knows its operations. `typed` has two signatures, for this and for the rest: of several, the compiler compares no
 * instantiation but that with `any`, and so the call maps of the two module formats fit each other. */
export interface WithOperations {
  readonly "~operations": unknown;
}

/** What a type argument says about operations: `typeof registry`, or operations by namespace and name. */
export type OperationsIn<T> = T extends { readonly "~operations": infer TOperations } ? TOperations : T;

/** The ids of calls, or of streams. */
type IdsOf<TOperations, TType> = {
  [N in keyof TOperations & string]: {
    [K in keyof TOperations[N] & string]: TOperations[N][K] extends { readonly type: TType }
      ? `${N}.${K}`
      : never;
  }[keyof TOperations[N] & string];
}[keyof TOperations & string];

/**
 * The ids that `execute` and `call` accept.
 *
 * @example
 * ```ts
 * const typed = createRegistry([greet]);
 * const id: CallId<(typeof typed)["~operations"]> = "demo.greet";
 * ```
 */
export type CallId<TOperations> =
  IsAny<TOperations> extends true ? string : IdsOf<TOperations, "query" | "mutation"> | OtherId<TOperations>;

/**
 * The ids that `subscribe` accepts.
 *
 * @example
 * ```ts
 * type Remote = { clock: { ticks: Subscription<{ every: number }, number> } };
 * const id: StreamId<Remote> = "clock.ticks";
 * ```
 */
export type StreamId<TOperations> =
  IsAny<TOperations> extends true ? string : IdsOf<TOperations, "subscription"> | OtherId<TOperations>;

/** The ids of operations that the compiler does not know. Not a plain `string`, so that editors still offer the known ids. */
type OtherId<TOperations> =
  HasUntyped<TOperations> extends true
    ? string extends UntypedNamespace<TOperations>
      ? string & {}
      : `${UntypedNamespace<TOperations>}.${string}`
    : never;

/** The operation that an id names. A namespace may have dots in it, so it is not enough to split the id. */
type ById<TOperations, TId> = {
  [N in keyof TOperations & string]: TId extends `${N}.${infer K}`
    ? K extends keyof TOperations[N]
      ? TOperations[N][K]
      : never
    : never;
}[keyof TOperations & string];

/** What a call takes and gives. */
export interface Signature {
  readonly input: unknown;
  readonly output: unknown;
}

/**
 * The operation that an id names; `TOtherwise` where nothing is known. Methods have it as the default of a type parameter, and take
 * what they need from there: so the compiler substitutes an id in the type of the whole registry once for each call, and
 * not once for each place where the signature would mention it.
 */
export type OperationById<TOperations, TId extends string, TOtherwise extends Signature> =
  IsAny<TOperations> extends true
    ? TOtherwise
    : HasUntyped<TOperations> extends true
      ? OtherId<TOperations> extends TId
        ? TOtherwise
        : [ById<TOperations, TId>] extends [infer TOperation extends Signature]
          ? [TOperation] extends [never]
            ? TOtherwise
            : TOperation
          : never
      : ById<TOperations, TId> extends infer TOperation extends Signature
        ? TOperation
        : never;

/**
 * The type of `env`: each QUERY and MUTATION as a function.
 *
 * @example
 * ```ts
 * const typed = createRegistry([greet]);
 * const env: EnvOf<(typeof typed)["~operations"]> = buildEnv({ registry: typed, context: {} });
 * await env.demo.greet({ name: "Ada" });
 * ```
 */
export type EnvOf<TOperations> =
  IsAny<TOperations> extends true
    ? OperationEnv
    : HasUntyped<TOperations> extends true
      ? KnownEnv<Pick<TOperations, keyof TOperations & string>> & {
          readonly [N in UntypedNamespace<TOperations>]: OperationEnv[string];
        }
      : KnownEnv<TOperations>;

/** The names of those that are called, not subscribed to. Mapped types with an `as` clause instead would differ between the two module
 * formats. */
type CalledNames<TOperations> = {
  [K in keyof TOperations]: TOperations[K] extends { readonly type: "subscription" } ? never : K;
}[keyof TOperations];

/** The functions of the operations that are known. */
type KnownEnv<TOperations> = TOperations extends unknown
  ? {
      readonly [N in keyof TOperations]: {
        readonly [K in CalledNames<TOperations[N]>]: TOperations[N][K] extends {
          readonly input: infer TInput;
          readonly output: infer TOutput;
        }
          ? (input: TInput) => Promise<ResponseEnvelope<TOutput>>
          : never;
      };
    }
  : never;

/** For the compiler, which reads a handler before it knows the output schema: with this as an expected result, `true` is not widened
 * to `boolean`. Nothing is inferred for `TLiteral`, so it is `never` by the time that the result is checked. */
export type Literal =
  | ""
  | 0
  | 0n
  | boolean
  | null
  | undefined
  | []
  | readonly Literal[]
  | { [name: string]: Literal };

/** The environment of an operation that declares what it uses. */
export type UsedEnv<TUses> = TUses extends true
  ? OperationEnv
  : KnownEnv<{ [N in keyof TUses]: { [K in keyof TUses[N]]: SignatureOf<TUses[N][K]> } }>;

/**
 * A call map that knows the operations on the other side.
 *
 * @example
 * ```ts
 * const remote: TypedCallMap<OperationsOf<typeof greet>> = nats.callMap.typed<OperationsOf<typeof greet>>();
 * const { data } = await remote.demo.greet({ name: "Ada" }); // or: remote.call("demo.greet", { name: "Ada" })
 * ```
 */
export type TypedCallMap<TOperations> = TypedCalls<TOperations> &
  OperationMethods<TOperations, CallOptions, keyof RemoteCallMap | CallEventType>;

/** Operations as functions: `tasks.create(input, options)`. Streams have `$subscribe`. */
export type OperationMethods<TOperations, TOptions, TTaken = never> =
  IsAny<TOperations> extends true
    ? unknown
    : {
        readonly [N in Exclude<keyof TOperations & string, TTaken>]: {
          readonly [K in CalledNames<TOperations[N]>]: TOperations[N][K] extends {
            readonly input: infer TInput;
            readonly output: infer TOutput;
          }
            ? (input: TInput, options?: TOptions) => Promise<ResponseEnvelope<TOutput>>
            : never;
        };
      };

interface TypedCalls<TOperations> {
  /** Calls an operation. Resolves with its envelope, or rejects. */
  call<
    TId extends CallId<TOperations>,
    TOperation extends Signature = OperationById<TOperations, TId, Signature>,
  >(
    operationId: TId,
    input: TOperation["input"],
    options?: CallOptions,
  ): Promise<ResponseEnvelope<TOperation["output"]>>;
  /** Subscribes to an operation. Nothing is sent before the first `next()`. */
  subscribe<
    TId extends StreamId<TOperations>,
    TOperation extends Signature = OperationById<TOperations, TId, Signature>,
  >(
    operationId: TId,
    input: TOperation["input"],
    options?: SubscribeOptions,
  ): AsyncGenerator<ResponseEnvelope<TOperation["output"]>, undefined, unknown>;
  /** The same as `call`, as the client of `createClient` has it. */
  $call: TypedCalls<TOperations>["call"];
  /** The same as `subscribe`. */
  $subscribe: TypedCalls<TOperations>["subscribe"];
}
