import type { ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { checkedRules } from "../imported-access.js";
import { aFunction, aName, oneOf } from "../interop/options.js";
import { type IdPattern, patternOf } from "../interop/pattern.js";
import { nameOf } from "../interop/text.js";
import { traceDecision } from "../interop/trace.js";
import { logger } from "../logging.js";
import type {
  CallId,
  Literal,
  OperationById,
  Query,
  Signature,
  StreamId,
  Subscription,
} from "../operation-types.js";
import { defaultAdapter, type SchemaAdapter } from "../schema/adapters.js";
import { copyOf } from "../schema/lazy.js";
import type { AnySchema } from "../schema-types.js";
import type {
  AccessControl,
  AnyOperation,
  CallContext,
  HandlerlessDraft,
  OperationContext,
  OperationDraft,
  OperationHandler,
  OperationSpec,
  OperationType,
  SubscriptionHandler,
  Uses,
} from "../types.js";
import { ApprovalGate } from "./approval-gate.js";
import type { Approval } from "./approval-types.js";
import { ApprovalRequests, type Approvals } from "./approvals.js";
import { personReport } from "./audit.js";
import type { CallOrigin } from "./call.js";
import { withTimeout } from "./deadline.js";
import { type AnyHandler, Entry, outputMode, type RegistryMode } from "./entry.js";
import { assertMayReplace } from "./id-ownership.js";
import { Limiter, operationLimiter, type RegistryStats } from "./limits.js";
import { refuseMisspelt } from "./metadata.js";
import { NativeMirror } from "./native-mirror.js";
import type { AccessReport, Middleware, RegistryEvents } from "./observer-types.js";
import { type Observer, Observers } from "./observers.js";
import { beginTrackingOrigin } from "./origin.js";
import { answerOf } from "./output.js";
import { Pipeline } from "./pipeline.js";
import { type Protection, warnAboutUnused } from "./protections.js";
import {
  adapted,
  type RegisteredOperation,
  refuseCollision,
  splitOperation,
  toRegistered,
} from "./registration.js";
import { type RegistryOptions, registryOptions } from "./registry-options.js";
import { frozenRules } from "./rules.js";
import { assertHandler, assertSpec, operationId } from "./spec-check.js";
import { Spills } from "./spills.js";

const log = logger("registry");
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
  #twin: NativeMirror | undefined;
  readonly #adapter: SchemaAdapter | undefined;
  readonly #pipeline: Pipeline;
  readonly #output: RegistryMode;
  readonly #spills: Spills | undefined;
  /** Every call of this registry goes through these limits. */
  readonly #limiter: Limiter | undefined;
  /** Calls that need a person. */
  readonly approvals: Approvals;
  /** Decides which calls these are. @internal */
  readonly gate: ApprovalGate;
  /** Whether every call is decided by a function of the application. */
  readonly #hasDecide: boolean;
  #revision = 0;
  readonly #changed = new Set<() => void>();
  /** What `protect` added. */
  readonly #protections = new Set<Protection>();

  constructor(options?: RegistryOptions);
  /** @internal */
  constructor(options: RegistryOptions, defaultOutput: RegistryMode);
  constructor(options: RegistryOptions = {}, defaultOutput: RegistryMode = "normalise") {
    const checked = registryOptions(options);
    const { schemaAdapter } = checked;
    this.#adapter = schemaAdapter === defaultAdapter ? undefined : schemaAdapter;
    this.#output = outputMode(checked.output) ?? defaultOutput;
    this.#spills = Spills.of(checked.spill);
    const trustDirectCalls = checked.trustDirectCalls === true;
    if (trustDirectCalls) beginTrackingOrigin();
    const { decide } = checked.approvals ?? {};
    this.#hasDecide = decide !== undefined;
    const approvals = new ApprovalRequests(checked.approvals ?? {}, (approval) =>
      this.#decidedByPerson(approval),
    );
    this.approvals = approvals;
    this.gate = new ApprovalGate(approvals, decide, () => this.#pipeline.observers);
    this.#pipeline = new Pipeline(this.#entries, {
      approvals: this.gate,
      customAuth: { ...checked.customAuth },
      trustDirectCalls,
      output: this.#output,
      spills: this.#spills,
      registry: this,
    });
    this.#limiter = checked.limits && new Limiter("registry", "", checked.limits);
  }

  /** Registers an operation. An operation with the same id is replaced. */
  register<
    TType extends OperationType,
    TInput extends AnySchema,
    TOutput extends AnySchema,
    TContext extends OperationContext = OperationContext,
    TUses extends Uses = never,
    TLiteral extends Literal = never,
  >(
    operation: HandlerlessDraft<string, string, TType, TInput, TOutput, TUses> & {
      handler?:
        | OperationDraft<string, string, TType, TInput, TOutput, TContext, TUses, TLiteral>["handler"]
        | undefined;
      // What `get` and the adapters return, whose type of operation is not known, may have none.
    } & ([OperationType] extends [TType] ? unknown : { handler: unknown }),
  ): void {
    this.#register(operation);
  }

  /** Registers operations in order; stops at the first that is refused. */
  registerAll(operations: Iterable<AnyOperation>): void {
    for (const operation of operations) this.#register(operation);
  }

  #register(operation: unknown): void {
    if (typeof operation !== "object" || operation === null) assertSpec(operation);
    const { handler, spec } = splitOperation(operation as RegisteredOperation);
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
    const { handler, spec: bare } = splitOperation(spec as RegisteredOperation);
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
    this.#notifyChanged();
    this.#notifyRegistered(entry, false);
  }

  /** Removes an operation. Returns whether it existed. Running calls continue. */
  unregister(id: string): boolean {
    this.#twin?.remove(id);
    const wasThere = this.#entries.delete(id);
    this.#notifyChanged();
    if (wasThere) this.#pipeline.observers?.notify("unregistered", { operationId: id });
    return wasThere;
  }

  #add(original: OperationSpec, handler: AnyHandler | undefined): void {
    const id = operationId(original);
    const spec = adapted(id, original, this.#adapter);
    assertSpec(spec);
    refuseCollision(id, spec, this.#entries.get(id)?.spec);
    if (handler !== undefined) assertHandler(id, spec, handler);
    const limiter = operationLimiter(id, spec.limits, this.#entries.get(id)?.limiter);
    const entry = new Entry(id, spec, handler, limiter, this.#limiter, this.#hasDecide);
    entry.protect(this.#addedRules(id));
    const isNew = !this.#entries.has(id);
    this.#entries.set(id, entry);
    this.#twin?.set(entry);
    this.#notifyChanged();
    this.#notifyRegistered(entry, isNew);
  }

  #notifyChanged(): void {
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
    const frozen = frozenRules(checkedRules(rules, "protect: rules"));
    const protection: Protection = { pattern, expression, rules: frozen };
    this.#protections.add(protection);
    const covered = this.#applyProtections(expression);
    // No warning: what it covers may be registered later.
    if (covered === 0) log.debug(`protect: ${pattern} covers no operation yet`, { pattern });
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

  /** Returns how many operations a pattern covers. */
  #applyProtections(expression: IdPattern): number {
    let covered = 0;
    for (const entry of this.#entries.values()) {
      if (!expression.test(entry.id)) continue;
      covered += 1;
      entry.protect(this.#addedRules(entry.id));
      this.#twin?.set(entry);
    }
    this.#notifyChanged();
    return covered;
  }

  #decidedByPerson(approval: Approval): void {
    const { observers } = this.#pipeline;
    if (observers?.isAuditing === true) observers.decided(personReport(approval));
    traceDecision(() => personReport(approval));
  }

  #notifyRegistered({ id, spec }: Entry, isNew: boolean): void {
    this.#pipeline.observers?.notify("registered", { operationId: id, operation: copyOf(spec), isNew });
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
    return this.#addObserver((observers) => observers.use(middleware));
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
    return this.#addObserver((observers) => observers.on(name, listener));
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
    return this.#addObserver((observers) => observers.audit(listener));
  }

  /** Adds middleware that changes nothing: calls may be done without JavaScript. @internal */
  observe(observer: Observer): () => void {
    return this.#addObserver((observers) => observers.observe(observer));
  }

  #addObserver(add: (observers: Observers) => () => void): () => void {
    const pipeline = this.#pipeline;
    pipeline.observers ??= new Observers();
    const { observers } = pipeline;
    const remove = add(observers);
    this.#twin?.observedBy(observers);
    return () => {
      // What has happened until now is still reported.
      this.#twin?.flush();
      remove();
      if (pipeline.observers === observers && observers.isIdle) pipeline.observers = undefined;
      this.#twin?.observedBy(pipeline.observers);
    };
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
    return entry && toRegistered(entry);
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
    return Array.from(this.#entries.values(), toRegistered);
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
    origin: CallOrigin,
  ): Promise<ResponseEnvelope>;
  execute(
    id: string,
    input: unknown,
    context: OperationContext = {},
    origin?: CallOrigin,
  ): Promise<ResponseEnvelope> {
    try {
      const given = asGiven(id, context, origin);
      return this.#pipeline.execute(id, input, given, origin);
    } catch (error) {
      return Promise.reject(error);
    }
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
  ): AsyncGenerator<ResponseEnvelope<TOperation["output"]>, void, unknown>;
  /** @internal */
  subscribe(
    id: string,
    input: unknown,
    context: OperationContext,
    origin: CallOrigin,
  ): AsyncGenerator<ResponseEnvelope>;
  subscribe(
    id: string,
    input: unknown,
    context: OperationContext = {},
    origin?: CallOrigin,
  ): AsyncGenerator<ResponseEnvelope> {
    return this.#pipeline.subscribe(id, input, asGiven(id, context, origin), origin);
  }

  /** Whether a large result of an operation may be in a file. @internal */
  spills(id: string): boolean {
    return this.#pipeline.spillsFor(this.#entries.get(id)) !== undefined;
  }

  /** The answer of a peer, checked against the spec that is registered here. @internal */
  answered(id: string, envelope: ResponseEnvelope): ResponseEnvelope {
    const entry = this.#entries.get(id);
    return entry === undefined ? envelope : answerOf(entry, envelope, this.#output);
  }

  /** The registry on the native side, for servers. @internal */
  nativeMirror(): NativeMirror {
    this.warnAboutUnusedProtections();
    // What the native side does by itself is imported.
    const output = this.#output === "strict-own" ? "normalise" : this.#output;
    this.#twin ??= new NativeMirror(output, this.#entries, this.#pipeline.observers, this.#spills);
    return this.#twin;
  }

  /** Called when operations are about to be served. @internal */
  warnAboutUnusedProtections(): void {
    if (this.#protections.size > 0) warnAboutUnused(this.#protections, Array.from(this.#entries.keys()));
  }

  /** Whether `subscribe` is the way to call it. @internal */
  isSubscription(id: string): boolean {
    return this.#entries.get(id)?.isSubscription === true;
  }

  /** Rejects where a caller from outside may not call an operation. Nothing is called. @internal */
  async authorize(id: string, input: unknown, context: OperationContext): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry !== undefined) await this.#pipeline.authorize(entry, input, context);
  }
}

/** The context of a call: `timeout` is a deadline, and a caller in this process may have misspelt something. */
function asGiven(id: string, context: OperationContext, origin: CallOrigin | undefined): OperationContext {
  const { metadata, timeout } = context;
  if (origin === undefined && typeof metadata === "object" && metadata !== null) refuseMisspelt(id, metadata);
  return timeout === undefined ? context : withTimeout(context);
}
