import { aFunction, aName, oneOf, optionOf } from "../border/options.js";
import { type IdPattern, patternOf } from "../border/pattern.js";
import { nameOf } from "../border/text.js";
import type { ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { checkedRules } from "../imported-access.js";
import type { CallId, OperationById, Query, Signature, StreamId, Subscription } from "../operation-types.js";
import { defaultAdapter, type SchemaAdapter } from "../schema/adapters.js";
import { copyOf } from "../schema/lazy.js";
import type { AnySchema } from "../schema-types.js";
import type {
  AccessControl,
  AnyOperation,
  CallContext,
  OperationContext,
  OperationHandler,
  OperationSpec,
  OperationType,
  SubscriptionHandler,
} from "../types.js";
import { admit, refuseEnded } from "./admit.js";
import { accessReport, type Decision, told } from "./audit.js";
import { authorise, type CustomAuth, holdsScopes, identityIn } from "./authorise.js";
import { assertMayReplace } from "./claims.js";
import { isAhead, refuseLate, withinDeadline } from "./deadline.js";
import { type AnyHandler, Entry, type RegistryMode } from "./entry.js";
import { traitsOf } from "./handler-traits.js";
import { Limiter, operationLimiter, type RegistryStats } from "./limits.js";
import { NativeTwin } from "./native-twin.js";
import { notCallable } from "./not-callable.js";
import { answerOf, envelopeOf } from "./output.js";
import { admitWithOwnChecks, callWithOwnChecks, ownStream } from "./own-checks.js";
import { granted, isFromOutside, type Manner, WITHIN, within } from "./protocol-context.js";
import {
  adapted,
  apart,
  type RegisteredOperation,
  type Registrable,
  refuseCollision,
  together,
} from "./registration.js";
import { type RegistryOptions, registryOptions } from "./registry-options.js";
import { frozenRules } from "./rules.js";
import { assertHandler, assertSpec, operationId } from "./spec-check.js";
import { handlerOf, inFiles, spillsOf, then } from "./spilling.js";
import { Spills } from "./spills.js";
import { subscribe } from "./subscribe.js";
import { isTold } from "./told.js";
import { NOBODY, type Observer, Watch } from "./watch.js";
import type { AccessReport, Middleware, RegistryEvents } from "./watch-types.js";
import { watchedCall } from "./watched-call.js";

const anEvent = oneOf("call", "denied", "registered", "unregistered");

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
  readonly #output: RegistryMode;
  readonly #spills: Spills | undefined;
  /** Every call of this registry goes through these limits. */
  readonly #limiter: Limiter | undefined;
  #revision = 0;
  readonly #changed = new Set<() => void>();
  /** What `protect` added. */
  readonly #protections = new Set<Protection>();
  /** Those who watch, while there are any. */
  #watch: Watch | undefined;

  constructor(options?: RegistryOptions);
  /** @internal */
  constructor(options: RegistryOptions, defaultOutput: RegistryMode);
  constructor(options: RegistryOptions = {}, defaultOutput: RegistryMode = "normalise") {
    const checked = registryOptions(options);
    const { schemaAdapter } = checked;
    this.#adapter = schemaAdapter === defaultAdapter ? undefined : schemaAdapter;
    this.#customAuth = { ...checked.customAuth };
    this.#trustDirectCalls = checked.trustDirectCalls === true;
    this.#output = checked.output ?? defaultOutput;
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
    this.#twin?.set(entry);
    this.#tellChanged();
    this.#tellRegistered(entry, false);
  }

  /** Removes an operation. Returns whether it existed. Running calls continue. */
  unregister(id: string): boolean {
    this.#twin?.remove(id);
    const wasThere = this.#entries.delete(id);
    this.#tellChanged();
    if (wasThere) this.#watch?.tell("unregistered", { operationId: id });
    return wasThere;
  }

  #add(original: OperationSpec, handler: AnyHandler | undefined): void {
    const id = operationId(original);
    const spec = adapted(id, original, this.#adapter);
    assertSpec(spec);
    refuseCollision(id, spec, this.#entries.get(id)?.spec);
    if (handler !== undefined) assertHandler(id, spec, handler);
    const limiter = operationLimiter(id, spec.limits, this.#entries.get(id)?.limiter);
    const entry = new Entry(id, spec, handler, limiter, this.#limiter);
    entry.protect(this.#addedRules(id));
    const isNew = !this.#entries.has(id);
    this.#entries.set(id, entry);
    this.#twin?.set(entry);
    this.#tellChanged();
    this.#tellRegistered(entry, isNew);
  }

  #tellChanged(): void {
    this.#revision += 1;
    for (const listener of this.#changed) listener();
  }

  /** Calls a function after each registration and each change of rules. @internal */
  onChange(listener: () => void): () => void {
    this.#changed.add(listener);
    return () => void this.#changed.delete(listener);
  }

  /**
   * Adds access rules to operations: to those that are registered, and to those that will be. An operation can be called
   * only if these rules are met as well as its own. `pattern` is an id, or has `*` for any text. Returns a function that
   * removes these rules again.
   *
   * @example
   * ```ts
   * const remove = registry.protect("files.write_*", { requiredScopes: ["files:write"] });
   * ```
   */
  protect(pattern: string, rules: AccessControl): () => void {
    const expression = patternOf(aName(pattern, "protect: pattern") as string);
    const protection: Protection = { expression, rules: frozenRules(checkedRules(rules, "protect: rules")) };
    this.#protections.add(protection);
    this.#applyProtections(expression);
    return () => {
      if (this.#protections.delete(protection)) this.#applyProtections(expression);
    };
  }

  #addedRules(id: string): AccessControl[] {
    if (this.#protections.size === 0) return [];
    return Array.from(this.#protections)
      .filter(({ expression }) => expression.test(id))
      .map(({ rules }) => rules);
  }

  #applyProtections(expression: IdPattern): void {
    for (const entry of this.#entries.values()) {
      if (!expression.test(entry.id)) continue;
      entry.protect(this.#addedRules(entry.id));
      this.#twin?.set(entry);
    }
    this.#tellChanged();
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
        throw notCallable(this.#entries.values(), entry, id, context, isServed);
      }
      const isUsual = by === undefined && this.#spills === undefined;
      const spills = isUsual ? undefined : this.#spillsFor(entry, by);
      const handler = isUsual ? (entry.run as OperationHandler) : handlerOf(entry, by, spills);
      const isTrusted = by?.isGranted === true || (!isServed && this.#isTrusted(context));
      // Looked at here first, because these scopes are all that most operations ask for.
      if (!isTrusted && !holdsScopes(entry.rules, identityIn(context))) {
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
      by?.assertOutput,
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
    const { rules } = entry;
    try {
      const asked = this.#audited(entry, input, context, by.isServed);
      if (asked === undefined) return this.execute(id, input, context, now);
      return asked.then(() => {
        const isSame = this.#entries.get(id) === entry && entry.rules === rules;
        // A grant holds for the rules that were asked.
        return isSame ? this.execute(id, input, context, now) : this.#executeAudited(id, input, context, by);
      });
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
    return told(entry.rules, () => this.#authorise(entry, input, context), tell);
  }

  /** Whether the work of an operation ends, and says how, once its signal is aborted. @internal */
  endsItself(id: string): boolean {
    return traitsOf(this.#entries.get(id)?.handler).endsItself === true;
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
    // What the native side does by itself is imported.
    const output = this.#output === "strict-own" ? "normalise" : this.#output;
    this.#twin ??= new NativeTwin(output, this.#entries, this.#watch, this.#spills);
    return this.#twin;
  }

  /** Whether `subscribe` is the way to call it. @internal */
  isSubscription(id: string): boolean {
    return this.#entries.get(id)?.isSubscription === true;
  }

  /** What `subscribe()` needs: the checked way to the handler, and from its values to envelopes. @internal */
  async openSubscription(
    id: string,
    input: unknown,
    context: OperationContext,
    isServed: boolean,
  ): Promise<OpenSubscription> {
    const entry = this.#entries.get(id);
    if (entry === undefined || !entry.isCallable(true, isServed)) {
      throw notCallable(this.#entries.values(), entry, id, context, isServed);
    }
    if (this.#watch?.isAuditing === true) await this.#audited(entry, input, context, isServed);
    else if (isServed || !this.#isTrusted(context)) await this.#authorise(entry, input, context);
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

  /** Rejects where the caller may not call an operation. Nothing is called. @internal */
  async authorize(id: string, input: unknown, context: OperationContext): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry !== undefined) await this.#authorise(entry, input, context);
  }

  #isTrusted(context: OperationContext): boolean {
    return (
      (context.trusted === true && optionOf(context, "trusted") === true) ||
      (this.#trustDirectCalls && !isFromOutside(context))
    );
  }

  /** Throws when the caller may not. A promise only if the application has to be asked. */
  #authorise(entry: Entry, input: unknown, context: OperationContext): Promise<void> | undefined {
    return authorise(entry.rules, { operationId: entry.id, input, context }, this.#customAuth);
  }
}

interface Protection {
  readonly expression: IdPattern;
  readonly rules: AccessControl;
}

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
  mode: RegistryMode,
): Promise<ResponseEnvelope<TOutput>> {
  await asked;
  if (entry.own !== undefined) {
    return callWithOwnChecks(entry, entry.own, handler, input, context, mode) as never;
  }
  admit(entry, input);
  refuseEnded(entry, context);
  return envelopeOf(entry, await handler(input, context), mode) as ResponseEnvelope<TOutput>;
}
