import { isShownTo } from "../access.js";
import {
  aBoolean,
  aFunction,
  anObject,
  checkedOptions,
  type Fields,
  must,
  oneOf,
  optionOf,
} from "../border/options.js";
import { messageOf, nameOf } from "../border/text.js";
import type { ResponseEnvelope } from "../envelope.js";
import { CallError, failed, InfrastructureErrorCode, invalid } from "../errors.js";
import type { CallId, OperationById, Query, Signature, StreamId, Subscription } from "../operation-types.js";
import { defaultAdapter, fromStandard, type SchemaAdapter } from "../schema/adapters.js";
import { isTypeBoxSchema } from "../schema/guards.js";
import { copyOf, isLazySchema, SCHEMA_FIELDS } from "../schema/lazy.js";
import { rememberOriginal, type SchemaMode, validatorOf } from "../schema/standard.js";
import { schemaNode } from "../schema/typebox-kinds.js";
import type { AnySchema } from "../schema-types.js";
import type {
  AnyOperation,
  CallContext,
  OperationContext,
  OperationDraft,
  OperationHandler,
  OperationSpec,
  SubscriptionHandler,
} from "../types.js";
import { OperationType } from "../types.js";
import { admit, refuseEnded } from "./admit.js";
import { type AuthorisedCall, authorise, type CustomAuth, holdsScopes, identityIn } from "./authorise.js";
import { assertMayReplace } from "./claims.js";
import { isAhead, isEndingItself, refuseLate, withinDeadline } from "./deadline.js";
import { type AnyHandler, Entry, type OutputMode } from "./entry.js";
import { NativeTwin } from "./native-twin.js";
import { operationNotFound } from "./nearest.js";
import { answerOf, envelopeOf } from "./output.js";
import { admitWithOwnChecks, callWithOwnChecks, ownStream } from "./own-checks.js";
import { isDirect, SERVED, SERVED_FILES, type Served, WATCHED } from "./protocol-context.js";
import { assertHandler, assertSpec, operationId } from "./spec-check.js";
import { spilledIfLarge } from "./spill-result.js";
import { spillsOf, withFiles, withoutFiles } from "./spilling.js";
import { aSpill, type SpillOptions, Spills } from "./spills.js";
import { subscribe } from "./subscribe.js";

/**
 * How a registry treats schemas, access and outputs.
 *
 * @example
 * ```ts
 * const options: RegistryOptions = { output: "keep", customAuth: { isOwner: (identity) => identity?.id === "ada" } };
 * ```
 */
export interface RegistryOptions {
  /** Turns schemas into TypeBox schemas at registration. Libraries that follow Standard Schema and have a JSON Schema
   * export (Zod 4, Valibot 1, ArkType) need none. */
  schemaAdapter?: SchemaAdapter;
  /** Functions that `accessControl.customAuth` names. */
  customAuth?: Record<string, CustomAuth>;
  /** Direct calls of `execute` and `subscribe` skip access control. Calls through the call protocol never do. */
  trustDirectCalls?: boolean;
  /** What happens to outputs. `"normalise"` (default): they are brought into the declared shape. `"keep"`: the same, but nothing is
   * removed. `"off"`: they are only checked. `"strict"`: what does not fit rejects the call, and nothing is made up. */
  output?: OutputMode;
  /** Large results go to files: `data` is the beginning then, and `meta.spill` names the file. Without it, and for callers that
   * cannot be handed a file, results stay in memory. */
  spill?: SpillOptions;
}

const FIELDS: Fields<RegistryOptions> = {
  schemaAdapter: must("a SchemaAdapter", (value) => typeof value === "object" || typeof value === "function"),
  customAuth: (value, path) => {
    for (const [name, rule] of Object.entries(anObject(value, path) as object)) {
      if (rule !== undefined) aFunction(rule, `${path}.${name}`);
    }
    return value;
  },
  trustDirectCalls: aBoolean,
  output: oneOf("normalise", "keep", "off", "strict"),
  spill: aSpill,
};

/**
 * What `register` takes: what `defineOperation` takes. Only where the type of operation is not known, as with what
 * `get` and the adapters return, may there be no handler.
 */
export type Registrable<
  TType extends OperationType,
  TInput extends AnySchema,
  TOutput extends AnySchema,
  TContext extends OperationContext,
> = [OperationType] extends [TType]
  ? Omit<OperationDraft<string, string, TType, TInput, TOutput, TContext>, "handler"> &
      Partial<Pick<OperationDraft<string, string, TType, TInput, TOutput, TContext>, "handler">>
  : OperationDraft<string, string, TType, TInput, TOutput, TContext>;

/**
 * An operation as `get` and `list` return it.
 *
 * @example
 * ```ts
 * const operation: RegisteredOperation | undefined = registry.get("demo.greet");
 * if (operation?.handler === undefined) console.log("nobody does the work");
 * ```
 */
export type RegisteredOperation = OperationSpec & { handler?: OperationHandler | SubscriptionHandler };

/**
 * Operations by id (`namespace.name`), and the way to call them. `createRegistry` makes one that knows their types.
 *
 * @example
 * ```ts
 * const registry = new OperationRegistry();
 * registry.register(greet);
 * const { data, meta } = await registry.execute("demo.greet", { name: "Ada" }, { identity });
 * ```
 */
// biome-ignore lint/suspicious/noExplicitAny: a registry that knows nothing about the types of its operations
export class OperationRegistry<TOperations = any> {
  /** For the type checker only: at run time there is no such property. */
  declare readonly "~operations": TOperations;
  readonly #entries = new Map<string, Entry>();
  /** The same operations on the native side, once they are served. */
  #twin: NativeTwin | undefined;
  readonly #adapter: SchemaAdapter | undefined;
  readonly #customAuth: Record<string, CustomAuth>;
  readonly #trustDirectCalls: boolean;
  readonly #output: OutputMode;
  readonly #spills: Spills | undefined;
  #revision = 0;

  constructor(options: RegistryOptions = {}) {
    const checked = checkedOptions<RegistryOptions>(options, FIELDS, { prefix: "RegistryOptions." });
    const { schemaAdapter } = checked;
    this.#adapter = schemaAdapter === defaultAdapter ? undefined : schemaAdapter;
    this.#customAuth = { ...checked.customAuth };
    this.#trustDirectCalls = checked.trustDirectCalls === true;
    this.#output = checked.output ?? "normalise";
    this.#spills = Spills.of(checked.spill);
  }

  /** Registers an operation, or registers it again. */
  register<
    TType extends OperationType,
    TInput extends AnySchema,
    TOutput extends AnySchema,
    TContext extends OperationContext = OperationContext,
  >(operation: Registrable<TType, TInput, TOutput, TContext>): void {
    this.#register(operation);
  }

  /** Registers operations in order; stops at the first that is refused. */
  registerAll(operations: Iterable<AnyOperation>): void {
    for (const operation of operations) this.#register(operation);
  }

  #register(operation: unknown): void {
    if (typeof operation !== "object" || operation === null) assertSpec(operation);
    const { handler, spec } = apart(operation as RegisteredOperation);
    const id = operationId(spec);
    assertMayReplace(id, handler, this.#entries.get(id));
    this.#add(spec, handler);
  }

  /** The same registry, to the type checker one that knows no operations: every id can be called, and results are `unknown`.
   * For operations that were registered after `createRegistry`: `registry.untyped().execute("shop.getPet", input)`. */
  untyped(): OperationRegistry {
    return this;
  }

  /** Registers a spec; a handler that is there stays. */
  registerSpec(spec: AnyOperation): void {
    const { spec: bare } = apart(spec as RegisteredOperation);
    this.#add(bare, this.#entries.get(operationId(bare))?.handler);
  }

  /** Registers the handler of an operation whose spec is there. */
  registerHandler(id: string, handler: OperationHandler | SubscriptionHandler): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) {
      throw new CallError(
        InfrastructureErrorCode.OPERATION_NOT_FOUND,
        `Cannot register handler for unknown operation: ${nameOf(id)}`,
        { operationId: id },
      );
    }
    assertHandler(id, entry.spec, handler);
    entry.handler = handler;
    this.#revision += 1;
    this.#twin?.set(entry);
  }

  /** Forgets an operation. Returns whether there was one. Calls that are under way go on. */
  unregister(id: string): boolean {
    this.#revision += 1;
    this.#twin?.remove(id);
    return this.#entries.delete(id);
  }

  #add(original: OperationSpec, handler: AnyHandler | undefined): void {
    const id = operationId(original);
    const spec = this.#adapted(id, original);
    assertSpec(spec);
    refuseCollision(id, spec, this.#entries.get(id)?.spec);
    if (handler !== undefined) assertHandler(id, spec, handler);
    const entry = new Entry(id, spec, handler);
    this.#entries.set(id, entry);
    this.#twin?.set(entry);
    this.#revision += 1;
  }

  /** Counts what was registered and forgotten: for what is derived from the operations and kept. @internal */
  get revision(): number {
    return this.#revision;
  }

  /** What is registered, as it is: one object for each registration. @internal */
  entries(): IterableIterator<Entry> {
    return this.#entries.values();
  }

  /** One of them. @internal */
  entry(id: string): Entry | undefined {
    return this.#entries.get(id);
  }

  /** The spec with its schemas as TypeBox schemas. Those that are not made yet will be. */
  #adapted(id: string, spec: OperationSpec): OperationSpec {
    const fields = SCHEMA_FIELDS.filter((field) => !isLazySchema(spec, field));
    if (fields.some((field) => spec[field] === undefined)) return spec;
    for (const field of fields) spec[field] = this.#adapt(spec, id, field);
    return spec;
  }

  #adapt(spec: OperationSpec, id: string, field: "inputSchema" | "outputSchema"): AnySchema {
    try {
      return this.#toTypeBox(spec[field], field === "inputSchema" ? "input" : "output", spec.visibility);
    } catch (error) {
      const reason = messageOf(error);
      throw invalid(`Cannot register operation ${id}: ${field}: ${reason}`, {
        operationId: id,
        field,
        reason,
      });
    }
  }

  /** The schema as a TypeBox schema; one that its own library checks can be asked for that. */
  #toTypeBox(schema: unknown, mode: SchemaMode, visibility: OperationSpec["visibility"]): AnySchema {
    const convert = this.#adapter;
    if (isTypeBoxSchema(schema) || validatorOf(schema) === undefined) {
      return (convert ?? defaultAdapter).toTypeBox(schema, mode) as AnySchema;
    }
    try {
      const converted = convert === undefined ? fromStandard(schema, mode) : convert.toTypeBox(schema, mode);
      return isTypeBoxSchema(converted) ? rememberOriginal(converted, schema) : converted;
    } catch (error) {
      // Nobody outside sees it, so nobody needs its JSON Schema.
      if (visibility === "internal") return rememberOriginal(schemaNode("Unknown"), schema) as never;
      throw error;
    }
  }

  /** Spec and handler. */
  get(id: string): RegisteredOperation | undefined {
    const entry = this.#entries.get(id);
    return entry && together(entry);
  }

  getByName(namespace: string, name: string): RegisteredOperation | undefined {
    return this.get(`${namespace}.${name}`);
  }

  getSpec(id: string): OperationSpec | undefined {
    const entry = this.#entries.get(id);
    return entry && copyOf(entry.spec);
  }

  getHandler(id: string): OperationHandler | SubscriptionHandler | undefined {
    return this.#entries.get(id)?.handler;
  }

  /** Every operation, in the order of registration. */
  list(): RegisteredOperation[] {
    return Array.from(this.#entries.values(), together);
  }

  getAllSpecs(): OperationSpec[] {
    return Array.from(this.#entries.values(), ({ spec }) => copyOf(spec));
  }

  /** Calls a QUERY or a MUTATION. Resolves to an envelope, or rejects. */
  // What `await` does, without an async function around it, whose suspended frame would cost more than all
  // the checks of a small operation. After the handler only built-ins run, as with `await`: were the stack
  // full there, its promise would be left with nobody to handle its rejection.
  execute<
    TInput = unknown,
    TOutput = unknown,
    TId extends CallId<TOperations> = CallId<TOperations>,
    TOperation extends Signature = OperationById<TOperations, TId, Query<TInput, TOutput>>,
  >(
    id: TId,
    input: TOperation["input"],
    context?: CallContext,
  ): Promise<ResponseEnvelope<TOperation["output"]>>;
  /** @internal */
  execute(
    id: string,
    input: unknown,
    context: OperationContext,
    by: Served,
  ): Promise<ResponseEnvelope>;
  execute(
    id: string,
    input: unknown,
    context: OperationContext = {},
    by?: Served,
  ): Promise<ResponseEnvelope> {
    const called = this.#execute(id, input, context, by);
    if (this.#spills === undefined || by === SERVED) return called;
    const spills = spillsOf(this.#entries.get(id)?.handler, this.#spills) as Spills;
    return then.call(called, (envelope) =>
      spilledIfLarge(envelope as ResponseEnvelope, spills),
    ) as Promise<ResponseEnvelope>;
  }

  #execute(
    id: string,
    input: unknown,
    context: OperationContext,
    by: Served | typeof WATCHED | undefined,
  ): Promise<ResponseEnvelope> {
    try {
      if (by === undefined && isAhead(context.deadline)) return this.#executeInTime(id, input, context);
      const entry = this.#entries.get(id);
      const isServed = by === SERVED || by === SERVED_FILES;
      if (
        entry === undefined ||
        entry.handler === undefined ||
        entry.isSubscription ||
        (isServed && entry.isInternal)
      ) {
        throw this.#notCallable(entry, id, isServed ? context : undefined);
      }
      const isTrusted = !isServed && this.#isTrusted(context);
      // Looked at here first, because these scopes are all that most operations ask for.
      if (!isTrusted && !holdsScopes(entry.spec.accessControl, identityIn(context))) {
        const asked = this.#authorise(entry, input, context);
        if (asked !== undefined) {
          return callAfter(asked, entry, this.#handlerOf(entry, by), input, context, this.#output);
        }
      }
      const mode = this.#output;
      const handler = this.#handlerOf(entry, by);
      if (entry.own !== undefined) return callWithOwnChecks(entry, entry.own, handler, input, context, mode);
      admit(entry, input);
      if (!isServed) refuseEnded(entry, context);
      else if (context.deadline !== undefined) refuseLate(id, context.deadline);
      const result: Promise<unknown> = Promise.resolve(handler(input, context));
      return then.call(result, (value) => envelopeOf(entry, value, mode)) as Promise<ResponseEnvelope>;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #executeInTime(id: string, input: unknown, context: OperationContext): Promise<ResponseEnvelope> {
    const limited = context as OperationContext & { deadline: number };
    return withinDeadline(id, limited, this.endsItself(id), (watched) =>
      this.#execute(id, input, watched, WATCHED),
    );
  }

  /** What does the work of a call, with large results in files or not. */
  #handlerOf(entry: Entry, by: Served | typeof WATCHED | undefined): OperationHandler {
    const handler = entry.handler as OperationHandler;
    if (by === SERVED) return withoutFiles(handler);
    if (this.#spills === undefined) return handler;
    return withFiles(handler, entry.id, spillsOf(handler, this.#spills) as Spills);
  }

  /** Whether a large result of an operation may be in a file. @internal */
  spills(id: string): boolean {
    return spillsOf(this.#entries.get(id)?.handler, this.#spills) !== undefined;
  }

  /** Whether the work of an operation ends, and says how, once its signal is aborted. @internal */
  endsItself(id: string): boolean {
    const handler = this.#entries.get(id)?.handler;
    return handler !== undefined && isEndingItself(handler);
  }

  /** Calls a SUBSCRIPTION: an async generator of envelopes. Nothing happens before the first `next()`. */
  subscribe<
    TInput = unknown,
    TOutput = unknown,
    TId extends StreamId<TOperations> = StreamId<TOperations>,
    TOperation extends Signature = OperationById<TOperations, TId, Subscription<TInput, TOutput>>,
  >(
    id: TId,
    input: TOperation["input"],
    context?: CallContext,
  ): AsyncGenerator<ResponseEnvelope<TOperation["output"]>, void, unknown> {
    return subscribe<TInput, TOutput, TOperations, TId, TOperation>(this, id, input, context);
  }

  /** An answer of somebody else, who may say anything, held against the spec that is registered here. @internal */
  answered(id: string, envelope: ResponseEnvelope): ResponseEnvelope {
    const entry = this.#entries.get(id);
    return entry === undefined ? envelope : answerOf(entry, envelope, this.#output);
  }

  /** The registry on the native side, for whatever serves it. @internal */
  nativeTwin(): NativeTwin {
    this.#twin ??= new NativeTwin(this.#output, this.#entries.values(), this.#spills);
    return this.#twin;
  }

  /** Whether `subscribe` is the way to call it. @internal */
  isSubscription(id: string): boolean {
    return this.#entries.get(id)?.isSubscription === true;
  }

  /** What `subscribe()` needs: the checked way to the handler, and from its values to envelopes. @internal */
  async openSubscription(id: string, input: unknown, context: OperationContext): Promise<OpenSubscription> {
    const entry = this.#entries.get(id);
    const isServed = !isDirect(context);
    if (
      entry === undefined ||
      entry.handler === undefined ||
      !entry.isSubscription ||
      (isServed && entry.isInternal)
    ) {
      throw this.#notCallable(entry, id, isServed ? context : undefined);
    }
    if (!this.#isTrusted(context)) await this.#authorise(entry, input, context);
    const handler = entry.handler as SubscriptionHandler;
    const mode = this.#output;
    if (entry.own !== undefined) {
      const admitted = await admitWithOwnChecks(entry, entry.own, input);
      refuseEnded(entry, context);
      const source = ownStream(entry, entry.own, handler(admitted, context), mode);
      return { source, envelope: (value) => value as ResponseEnvelope };
    }
    admit(entry, input);
    refuseEnded(entry, context);
    return {
      source: handler(input, context),
      envelope: (value) => envelopeOf(entry, value, mode),
    };
  }

  /** Why an operation cannot be called this way. Somebody from outside (`served` is their context) is not told about
   * operations that they may not call. */
  #notCallable(entry: Entry | undefined, id: unknown, served: OperationContext | undefined): CallError {
    if (entry !== undefined && !(served !== undefined && entry.isInternal)) {
      return entry.handler === undefined ? noHandler(entry) : wrongWay(entry);
    }
    return operationNotFound(id, this.#idsFor(served));
  }

  #idsFor(served: OperationContext | undefined): string[] {
    const entries = Array.from(this.#entries.values());
    const seen =
      served === undefined
        ? entries
        : entries.filter(
            ({ isInternal, spec }) => !isInternal && isShownTo(served.identity, () => spec.accessControl),
          );
    return seen.map(({ id }) => id);
  }

  #isTrusted(context: OperationContext): boolean {
    return (
      (context.trusted === true && optionOf(context, "trusted") === true) ||
      (this.#trustDirectCalls && isDirect(context))
    );
  }

  /** Throws when the caller may not. A promise only if the application has to be asked. */
  #authorise(entry: Entry, input: unknown, context: OperationContext): Promise<void> | undefined {
    return authorise(entry.spec.accessControl, { operationId: entry.id, input, context }, this.#customAuth);
  }
}

/** The language's own, as `await` has it: a promise may have been given another. */
const { then } = Promise.prototype;

export interface OpenSubscription {
  readonly source: unknown;
  envelope(value: unknown): ResponseEnvelope;
}

/** A call that had to wait for the application's own rule. */
async function callAfter<TOutput>(
  asked: Promise<void>,
  entry: Entry,
  handler: OperationHandler,
  input: unknown,
  context: OperationContext,
  mode: OutputMode,
): Promise<ResponseEnvelope<TOutput>> {
  await asked;
  if (entry.own !== undefined) {
    return callWithOwnChecks(entry, entry.own, handler, input, context, mode) as never;
  }
  admit(entry, input);
  refuseEnded(entry, context);
  return envelopeOf(entry, await handler(input, context), mode) as ResponseEnvelope<TOutput>;
}

function wrongWay({ id, spec }: Entry): CallError {
  const message =
    spec.type === OperationType.SUBSCRIPTION
      ? `Operation ${id} is a subscription: use subscribe() instead of execute()`
      : `Operation ${id} is a ${spec.type}: use execute() instead of subscribe()`;
  return failed(message, { operationId: id });
}

function noHandler({ id }: Entry): CallError {
  return new CallError(
    InfrastructureErrorCode.OPERATION_NOT_FOUND,
    `No handler registered for operation: ${id}`,
    { operationId: id },
  );
}

/** Two pairs of namespace and name that make one id would overwrite each other unseen. */
function refuseCollision(id: string, spec: OperationSpec, present: OperationSpec | undefined): void {
  if (present === undefined || present.namespace === spec.namespace) return;
  const words = ({ namespace, name }: OperationSpec) =>
    `${JSON.stringify(name)} in namespace ${JSON.stringify(namespace)}`;
  throw invalid(
    `Cannot register operation ${words(spec)}: its id is ${id}, and so is that of operation ${words(present)}, ` +
      "which is registered already. Rename one of them",
    { operationId: id },
  );
}

/** Copies of the spec, whose schemas are not made by it, and of the handler. */
function apart(operation: RegisteredOperation): { handler: AnyHandler | undefined; spec: OperationSpec } {
  const copy = copyOf(Object(operation) as RegisteredOperation);
  const { handler } = copy;
  if (Object.hasOwn(copy, "handler")) delete copy.handler;
  // Once more, because an object that lost a property is a slow one.
  return { handler, spec: copyOf(copy) };
}

function together({ spec, handler }: Entry): RegisteredOperation {
  const operation: RegisteredOperation = copyOf(spec);
  if (handler !== undefined) operation.handler = handler;
  return operation;
}

export type { AuthorisedCall };
