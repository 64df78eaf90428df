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
import { accessReport, type Decision, told } from "./audit.js";
import { type AuthorisedCall, authorise, type CustomAuth, holdsScopes, identityIn } from "./authorise.js";
import { assertMayReplace } from "./claims.js";
import { endingItself, isAhead, isEndingItself, refuseLate, withinDeadline } from "./deadline.js";
import { type AnyHandler, Entry, type OutputMode } from "./entry.js";
import { type CallLimits, callLimits, Limiter, operationLimiter, type RegistryStats } from "./limits.js";
import { NativeTwin } from "./native-twin.js";
import { operationNotFound } from "./nearest.js";
import { answerOf, envelopeOf } from "./output.js";
import { admitWithOwnChecks, callWithOwnChecks, ownStream } from "./own-checks.js";
import { granted, isDirect, type Manner, WITHIN, within } from "./protocol-context.js";
import { assertHandler, assertSpec, operationId } from "./spec-check.js";
import { spilledIfLarge } from "./spill-result.js";
import { spillsOf, withFiles, withoutFiles } from "./spilling.js";
import { aSpill, type SpillOptions, Spills } from "./spills.js";
import { subscribe } from "./subscribe.js";
import { isTold } from "./told.js";
import { NOBODY, type Observer, Watch } from "./watch.js";
import type { AccessReport, Middleware, RegistryEvents } from "./watch-types.js";
import { watchedCall } from "./watched-call.js";

/**
 * How a registry treats schemas, access and outputs.
 *
 * @example
 * ```ts
 * const options: RegistryOptions = { output: "keep", customAuth: { isOwner: (identity) => identity?.id === "ada" } };
 * ```
 */
export interface RegistryOptions {
  /**
   * Converts schemas to TypeBox schemas at registration. Libraries that follow Standard Schema and have a JSON Schema
   * export (Zod 4, Valibot 1, ArkType) need no adapter.
   */
  schemaAdapter?: SchemaAdapter;
  /** Functions that `accessControl.customAuth` names. */
  customAuth?: Record<string, CustomAuth>;
  /** Direct calls of `execute` and `subscribe` skip access control. Calls through the call protocol never do. */
  trustDirectCalls?: boolean;
  /**
   * What happens to outputs that do not match their schema. `"normalise"` (default): they are brought into the declared
   * shape. `"keep"`: the same, but nothing is removed. `"off"`: they are only checked. `"strict"`: the call rejects.
   */
  output?: OutputMode;
  /**
   * Large results go to files: `data` is then the beginning, and `meta.spill` names the file. Without it, and for
   * callers over NATS or Redis, results stay in memory.
   */
  spill?: SpillOptions;
  /** Limits for all calls of the registry together. Operations and adapters may have limits of their own. */
  limits?: CallLimits;
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
  limits: callLimits,
};

const anEvent = oneOf("call", "denied", "registered", "unregistered");

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
 * Holds operations by id (`namespace.name`) and calls them. `createRegistry` makes one that knows their types.
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
  /** Every call of this registry goes through these limits. */
  readonly #limiter: Limiter | undefined;
  #revision = 0;
  /** Those who watch, while there are any. */
  #watch: Watch | undefined;

  constructor(options: RegistryOptions = {}) {
    const checked = checkedOptions<RegistryOptions>(options, FIELDS, { prefix: "RegistryOptions." });
    const { schemaAdapter } = checked;
    this.#adapter = schemaAdapter === defaultAdapter ? undefined : schemaAdapter;
    this.#customAuth = { ...checked.customAuth };
    this.#trustDirectCalls = checked.trustDirectCalls === true;
    this.#output = checked.output ?? "normalise";
    this.#spills = Spills.of(checked.spill);
    this.#limiter = checked.limits && new Limiter("registry", "", checked.limits);
  }

  /** Registers an operation. An operation with the same id is replaced. */
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

  /**
   * The same registry without types: every id can be called, and results are `unknown`. For operations that were
   * registered after `createRegistry`: `registry.untyped().execute("shop.getPet", input)`.
   */
  untyped(): OperationRegistry {
    return this;
  }

  /** Registers a spec. A handler that is already registered stays. */
  registerSpec(spec: AnyOperation): void {
    const { handler, spec: bare } = apart(spec as RegisteredOperation);
    const id = operationId(bare);
    const present = this.#entries.get(id);
    assertMayReplace(id, handler, present);
    this.#add(bare, present?.handler);
  }

  /** Registers the handler of an operation whose spec is already registered. */
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
    entry.setHandler(handler);
    this.#revision += 1;
    this.#twin?.set(entry);
    this.#tellRegistered(entry, false);
  }

  /** Removes an operation. Returns whether it existed. Running calls continue. */
  unregister(id: string): boolean {
    this.#revision += 1;
    this.#twin?.remove(id);
    const wasThere = this.#entries.delete(id);
    if (wasThere) this.#watch?.tell("unregistered", { operationId: id });
    return wasThere;
  }

  #add(original: OperationSpec, handler: AnyHandler | undefined): void {
    const id = operationId(original);
    const spec = this.#adapted(id, original);
    assertSpec(spec);
    refuseCollision(id, spec, this.#entries.get(id)?.spec);
    if (handler !== undefined) assertHandler(id, spec, handler);
    const limiter = operationLimiter(id, spec.limits, this.#entries.get(id)?.limiter);
    const entry = new Entry(id, spec, handler, limiter, this.#limiter);
    const isNew = !this.#entries.has(id);
    this.#entries.set(id, entry);
    this.#twin?.set(entry);
    this.#revision += 1;
    this.#tellRegistered(entry, isNew);
  }

  #tellRegistered({ id, spec }: Entry, isNew: boolean): void {
    this.#watch?.tell("registered", { operationId: id, operation: copyOf(spec), isNew });
  }

  /**
   * Adds middleware: a function around every call and every subscription, however it is made: direct, nested (`env`),
   * through the call protocol or through a server. Middleware runs in the order of registration, before access control.
   * Returns a function that removes the middleware. While a registry has middleware, served calls go through
   * JavaScript.
   *
   * @example
   * ```ts
   * const remove = registry.use(async (call, next) => {
   *   const began = performance.now();
   *   try {
   *     return await next();
   *   } finally {
   *     console.log(`${call.operationId}: ${performance.now() - began} ms`);
   *   }
   * });
   * remove();
   * ```
   */
  use(middleware: Middleware): () => void {
    aFunction(middleware, "use: middleware");
    return this.#watched((watch) => watch.use(middleware));
  }

  /**
   * Adds a listener for calls that have ended (`"call"`), denied callers (`"denied"`), and added or removed operations
   * (`"registered"`, `"unregistered"`). Returns a function that removes the listener. Errors that the listener throws
   * are logged and do not affect calls.
   *
   * @example
   * ```ts
   * const stop = registry.on("call", ({ operationId, outcome, duration }) => {
   *   console.log(`${operationId}: ${outcome} after ${duration} ms`);
   * });
   * stop();
   * ```
   */
  on<Name extends keyof RegistryEvents>(
    name: Name,
    listener: (event: RegistryEvents[Name]) => unknown,
  ): () => void {
    anEvent(name, "on: event");
    aFunction(listener, "on: listener");
    return this.#watched((watch) => watch.on(name, listener));
  }

  /**
   * Adds a listener for every access decision, grants included: who called what, and which rule decided. Returns a
   * function that removes the listener.
   *
   * @example
   * ```ts
   * registry.audit(({ operationId, isGranted, identityId, rule, requestId }) => {
   *   console.log({ operationId, isGranted, identityId, rule, requestId });
   * });
   * ```
   */
  audit(listener: (report: AccessReport) => unknown): () => void {
    aFunction(listener, "audit: listener");
    return this.#watched((watch) => watch.audit(listener));
  }

  /** Puts somebody around every call who only looks on: calls may be done without JavaScript. @internal */
  observe(observer: Observer): () => void {
    return this.#watched((watch) => watch.observe(observer));
  }

  /** Lets somebody watch, until the returned function is called. */
  #watched(add: (watch: Watch) => () => void): () => void {
    this.#watch ??= new Watch();
    const watch = this.#watch;
    const remove = add(watch);
    this.#twin?.watchedBy(watch);
    return () => {
      // What has happened until now is told to those who watched.
      this.#twin?.flush();
      remove();
      if (this.#watch === watch && watch.isIdle) this.#watch = undefined;
      this.#twin?.watchedBy(this.#watch);
    };
  }

  /** Those who watch, if anybody does. @internal */
  get watcher(): Watch | undefined {
    return this.#watch ?? (isTold() ? NOBODY : undefined);
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

  /** Returns spec and handler. */
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

  /** Counters of all limits: those of the registry, of its adapters and of its operations. */
  stats(): RegistryStats {
    const limiters = new Set(this.#limiter === undefined ? [] : [this.#limiter]);
    for (const { gate } of this.#entries.values()) {
      for (const limiter of gate?.limiters ?? []) limiters.add(limiter);
    }
    return {
      limits: Array.from(limiters, (limiter) => limiter.stats()),
      unreported: this.#twin?.unreported ?? 0,
    };
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
  execute(id: string, input: unknown, context: OperationContext, by: Manner): Promise<ResponseEnvelope>;
  execute(
    id: string,
    input: unknown,
    context: OperationContext = {},
    by?: Manner,
  ): Promise<ResponseEnvelope> {
    try {
      if (by === undefined || !by.isWithin) {
        if (this.#watch !== undefined || isTold()) return this.#executeWatched(id, input, context, by);
        if (by === undefined && isAhead(context.deadline)) {
          return this.#executeInTime(id, input, context, WITHIN);
        }
      }
      const entry = this.#entries.get(id);
      const isServed = by?.isServed === true;
      if (
        entry === undefined ||
        entry.handler === undefined ||
        entry.isSubscription ||
        (isServed && entry.isInternal)
      ) {
        throw this.#notCallable(entry, id, isServed ? context : undefined);
      }
      const isUsual = by === undefined && this.#spills === undefined;
      const spills = isUsual ? undefined : this.#spillsFor(entry, by);
      const handler = isUsual ? (entry.run as OperationHandler) : handlerOf(entry, by, spills);
      const isTrusted = by?.isGranted === true || (!isServed && this.#isTrusted(context));
      // Looked at here first, because these scopes are all that most operations ask for.
      if (!isTrusted && !holdsScopes(entry.spec.accessControl, identityIn(context))) {
        const asked = this.#authorise(entry, input, context);
        if (asked !== undefined) {
          return inFiles(spills, callAfter(asked, entry, handler, input, context, this.#output));
        }
      }
      const mode = this.#output;
      if (entry.own !== undefined) {
        return inFiles(spills, callWithOwnChecks(entry, entry.own, handler, input, context, mode));
      }
      admit(entry, input);
      if (!isServed) refuseEnded(entry, context);
      else if (context.deadline !== undefined) refuseLate(id, context.deadline);
      const result: Promise<unknown> = Promise.resolve(handler(input, context));
      const answered = then.call(result, (value) => envelopeOf(entry, value, mode));
      return isUsual
        ? (answered as Promise<ResponseEnvelope>)
        : inFiles(spills, answered as Promise<ResponseEnvelope>);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Where the large result of a call goes, if the registry has a say in it. */
  #spillsFor({ handler }: Entry, by: Manner | undefined): Spills | undefined {
    if (this.#spills === undefined || by?.takesFiles === false) return undefined;
    return spillsOf(handler, this.#spills);
  }

  /** Whether a large result of an operation may be in a file. @internal */
  spills(id: string): boolean {
    return spillsOf(this.#entries.get(id)?.handler, this.#spills) !== undefined;
  }

  #executeInTime(
    id: string,
    input: unknown,
    context: OperationContext,
    by: Manner,
  ): Promise<ResponseEnvelope> {
    const limited = context as OperationContext & { deadline: number };
    return withinDeadline(id, limited, this.endsItself(id), (watched) =>
      this.#executeAudited(id, input, watched, by),
    );
  }

  /** A call with those who watch around it. */
  #executeWatched(
    id: string,
    input: unknown,
    context: OperationContext,
    by: Manner | undefined,
  ): Promise<ResponseEnvelope> {
    const isServed = by?.isServed === true;
    return watchedCall(
      this.#watch ?? NOBODY,
      { operationId: id, kind: "call", isServed, input, context },
      this.#entries.get(id),
      (given, now) => this.#executeWithin(id, given, now, by),
    );
  }

  #executeWithin(
    id: string,
    input: unknown,
    context: OperationContext,
    by: Manner | undefined,
  ): Promise<ResponseEnvelope> {
    if (by?.isServed !== true && isAhead(context.deadline)) {
      return this.#executeInTime(id, input, context, WITHIN);
    }
    return this.#executeAudited(id, input, context, within(by));
  }

  /** Tells those who want to know of it who may call, and then calls. */
  #executeAudited(
    id: string,
    input: unknown,
    context: OperationContext,
    by: Manner,
  ): Promise<ResponseEnvelope> {
    const entry = this.#entries.get(id);
    if (this.#watch?.isAuditing !== true || entry === undefined || !entry.isCallable(false, by.isServed)) {
      return this.execute(id, input, context, by);
    }
    const now = granted(by);
    try {
      const asked = this.#audited(entry, input, context, by.isServed);
      if (asked === undefined) return this.execute(id, input, context, now);
      return asked.then(() => this.execute(id, input, context, now));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Access control, told to those who want to know of it. Throws when the caller may not. */
  #audited(
    entry: Entry,
    input: unknown,
    context: OperationContext,
    isServed: boolean,
  ): Promise<void> | undefined {
    const tell = (decision: Decision) =>
      this.#watch?.decided(accessReport(entry.id, context, isServed, decision));
    if (!isServed && this.#isTrusted(context)) {
      tell({ rule: context.trusted === true ? "trusted" : "trustDirectCalls" });
      return undefined;
    }
    return told(entry.spec.accessControl, () => this.#authorise(entry, input, context), tell);
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
    this.#twin ??= new NativeTwin(this.#output, this.#entries, this.#watch, this.#spills);
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
    if (this.#watch?.isAuditing === true) await this.#audited(entry, input, context, isServed);
    else if (!this.#isTrusted(context)) await this.#authorise(entry, input, context);
    const handler = entry.run as SubscriptionHandler;
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

/** What does the work of a call, with large results in files or not. */
function handlerOf(entry: Entry, by: Manner | undefined, spills: Spills | undefined): OperationHandler {
  const handler = entry.handler as OperationHandler;
  const chosen =
    spills !== undefined
      ? withFiles(handler, entry.id, spills)
      : by?.takesFiles === false
        ? withoutFiles(handler)
        : handler;
  if (chosen === handler) return entry.run as OperationHandler;
  // The same work, behind the same limits.
  const marked = isEndingItself(handler) ? endingItself(chosen) : chosen;
  return (entry.gate?.around(marked, false) ?? marked) as OperationHandler;
}

/** The answer, or, if it is large and there is a place for that, one that names a file. */
function inFiles(spills: Spills | undefined, answered: Promise<ResponseEnvelope>): Promise<ResponseEnvelope> {
  if (spills === undefined) return answered;
  return then.call(answered, (envelope) =>
    spilledIfLarge(envelope as ResponseEnvelope, spills),
  ) as Promise<ResponseEnvelope>;
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
