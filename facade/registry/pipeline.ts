// The way of a call, from its id to its envelope. Outermost is the report of its end, then comes the middleware, then the
// deadline, then the steps:
//
//   1. look up the operation      5. run the handler
//   2. authorize the caller       6. make an envelope of its result, in the declared shape
//   3. check the input            7. put a large result into a file
//   4. ask for an approval
//
// Streams take the same way, with step 6 for each event.

import type { ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { optionOf } from "../interop/options.js";
import { isLimit } from "../schema/compiled.js";
import { validationError } from "../schema/validation.js";
import type { OperationContext, OperationHandler, OperationSpec, SubscriptionHandler } from "../types.js";
import type { ApprovalGate, Recheck } from "./approval-gate.js";
import { type Decision, decisionReport, reportDecision } from "./audit.js";
import { authorise, type CustomAuth, holdsScopes, identityIn } from "./authorise.js";
import { Call, type CallOrigin, DIRECT } from "./call.js";
import { hasSubscribers } from "./call-diagnostics.js";
import { assertInTime, isAhead, withinDeadline } from "./deadline.js";
import type { Entry, RegistryMode } from "./entry.js";
import { traitsOf } from "./handler-traits.js";
import { withoutApproval } from "./metadata.js";
import { asMiddlewareCall, assertEnvelope, passThrough } from "./middleware.js";
import { notCallable } from "./not-callable.js";
import { CallTimer, NO_OBSERVERS, type Observers } from "./observers.js";
import { withUsedEnv } from "./offered-env.js";
import { isForOutside, runForOutside, scopeForOutside } from "./origin.js";
import { envelopeOf } from "./output.js";
import type { OperationRegistry } from "./registry.js";
import { handlerFor, spillIfLarge, spillsOf } from "./spill-result.js";
import type { Spills } from "./spills.js";
import { standardEnvelope, standardInput, standardIterator } from "./standard-schema.js";
import { ObservedStream, OperationStream } from "./stream.js";
import { asyncIteratorOf, noAsyncIterable } from "./stream-source.js";

/** The language's own, as `await` has it: a promise may have been given another. */
const { then } = Promise.prototype;

export interface PipelineSettings {
  readonly customAuth: Readonly<Record<string, CustomAuth>>;
  readonly trustDirectCalls: boolean;
  readonly output: RegistryMode;
  readonly spills: Spills | undefined;
  /** Whose operations handlers call. */
  readonly registry: OperationRegistry;
  readonly approvals: ApprovalGate;
}

/** What is done with a call whose input was accepted. */
type Run<T> = (call: Call, entry: Entry, input: unknown, recheck?: Recheck) => T;

/** What a handler yields, and how it becomes envelopes. */
export interface OpenStream {
  readonly iterator: AsyncIterator<unknown>;
  readonly toEnvelope: (value: unknown) => ResponseEnvelope;
}

export class Pipeline {
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #customAuth: PipelineSettings["customAuth"];
  readonly #trustDirectCalls: boolean;
  readonly #output: RegistryMode;
  readonly #spills: Spills | undefined;
  readonly #registry: OperationRegistry;
  readonly #approvals: ApprovalGate;
  /** Those of the registry, while there are any. */
  observers: Observers | undefined = undefined;

  constructor(entries: ReadonlyMap<string, Entry>, settings: PipelineSettings) {
    this.#entries = entries;
    this.#customAuth = settings.customAuth;
    this.#trustDirectCalls = settings.trustDirectCalls;
    this.#output = settings.output;
    this.#spills = settings.spills;
    this.#registry = settings.registry;
    this.#approvals = settings.approvals;
  }

  /** Makes a call; may throw. A plain one takes the steps right here: what `await` does, without an async function around it,
   * whose suspended frame would cost more than all the checks of a small operation. */
  execute(
    id: string,
    input: unknown,
    context: OperationContext,
    origin: CallOrigin | undefined,
  ): Promise<ResponseEnvelope> {
    const entry = this.#entries.get(id);
    if (
      entry === undefined ||
      !entry.isPlain ||
      origin !== undefined ||
      this.observers !== undefined ||
      this.#spills !== undefined ||
      hasSubscribers() ||
      isAhead(context.deadline) ||
      !(this.#isTrusted(context) || holdsScopes(entry.rules, identityIn(context)))
    ) {
      return this.#start(new Call(id, "call", input, context, origin ?? DIRECT));
    }
    checkInput(entry, input);
    if (context.signal?.aborted === true) throw aborted(id);
    if (context.deadline !== undefined) assertInTime(id, context.deadline);
    const mode = this.#output;
    const result: Promise<unknown> = Promise.resolve((entry.run as OperationHandler)(input, context));
    // From here on only built-ins run, as with `await`: were the stack full here, a rejection would be unhandled.
    return then.call(result, (value) => envelopeOf(entry, value, mode)) as Promise<ResponseEnvelope>;
  }

  /** Opens a stream, when its first event is requested. */
  subscribe(
    id: string,
    input: unknown,
    context: OperationContext,
    origin: CallOrigin | undefined,
  ): AsyncGenerator<ResponseEnvelope> {
    const call = new Call(id, "subscription", input, context, origin ?? DIRECT);
    const observers = this.#observersNow();
    return observers === undefined
      ? new OperationStream(this, call)
      : new ObservedStream(this, call, observers);
  }

  #start(call: Call): Promise<ResponseEnvelope> {
    const scope = call.origin.isOutside ? scopeForOutside() : undefined;
    return scope === undefined ? this.#observed(call) : scope.run(true, () => this.#observed(call));
  }

  #observed(call: Call): Promise<ResponseEnvelope> {
    const observers = this.#observersNow();
    return observers === undefined ? this.#inTime(call) : this.#reported(call, observers);
  }

  #observersNow(): Observers | undefined {
    return this.observers ?? (hasSubscribers() ? NO_OBSERVERS : undefined);
  }

  /** Reports the end of the call. */
  #reported(call: Call, observers: Observers): Promise<ResponseEnvelope> {
    if (!observers.isReporting) return this.#throughMiddleware(call, observers);
    const timer = new CallTimer(observers, call, this.specOf(call.id));
    const { assertOutput } = call.origin;
    const fail = (error: unknown): never => {
      timer.failed(error);
      throw error;
    };
    return this.#throughMiddleware(call, observers).then((envelope) => {
      try {
        assertOutput?.(envelope);
      } catch (error) {
        fail(error);
      }
      timer.answered(envelope);
      return envelope;
    }, fail);
  }

  /** Passes the call through the middleware. One that waits for too long is ended too. */
  #throughMiddleware(call: Call, { middleware }: Observers): Promise<ResponseEnvelope> {
    const entry = this.callable(call);
    if (middleware.length === 0 || entry === undefined) return this.#inTime(call);
    const pass = async (given: Call): Promise<ResponseEnvelope> => {
      const answer = await passThrough(middleware, asMiddlewareCall(given, entry), (input, context) =>
        this.#inTime(given.with(input, context)),
      );
      return assertEnvelope(call.id, answer);
    };
    return call.hasDeadline ? endInTime(call, true, pass) : pass(call);
  }

  /** Ends the call at its deadline. */
  #inTime(call: Call): Promise<ResponseEnvelope> {
    if (!call.hasDeadline) return this.#perform(call);
    return endInTime(call, this.endsItself(call.id), (given) => this.#perform(given));
  }

  /** The steps of a call. */
  #perform(call: Call): Promise<ResponseEnvelope> {
    try {
      return this.#admit(call, this.#runHandler);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** The steps of a stream up to its handler. */
  async openStream(call: Call): Promise<OpenStream> {
    return this.#admit(call, this.#openSource);
  }

  /** Steps 1 to 3. Waits only where the application's own rules or checks do. */
  #admit<T>(call: Call, run: Run<T>): T | Promise<Awaited<T>> {
    const entry = this.#lookUp(call);
    const { rules } = entry;
    const authorized = this.#authorize(call, entry);
    if (authorized === undefined) return this.#checkInput(call, entry, run, false);
    return authorized.then(() => {
      // A grant holds for the rules that were checked.
      const isSame = this.#entries.get(call.id) === entry && entry.rules === rules;
      return isSame ? this.#checkInput(call, entry, run, true) : this.#admit(call, run);
    }) as Promise<Awaited<T>>;
  }

  // 1. Look up the operation

  #lookUp(call: Call): Entry {
    const entry = this.callable(call);
    if (entry === undefined) throw notCallable(this.#entries, call);
    return entry;
  }

  /** The operation, if there is one that can be called this way. */
  callable({ id, kind, origin }: Call): Entry | undefined {
    const entry = this.#entries.get(id);
    return entry?.isCallable(kind, origin) === true ? entry : undefined;
  }

  specOf(id: string): OperationSpec | undefined {
    return this.#entries.get(id)?.spec;
  }

  // 2. Authorize the caller

  /** Throws when the caller may not. A promise only if a rule of the application has to be called. */
  #authorize(call: Call, entry: Entry): Promise<void> | undefined {
    const { input, context, origin } = call;
    const isTrusted = !origin.isOutside && this.#isTrusted(context);
    const { observers } = this;
    if (observers?.isAuditing === true) {
      const trustedBy = context.trusted === true ? "trusted" : "trustDirectCalls";
      const report = (decision: Decision) => observers.decided(decisionReport(call, decision));
      const decide = () => (isTrusted ? undefined : this.#decide(entry, input, context));
      return reportDecision(entry.rules, isTrusted ? trustedBy : undefined, decide, report);
    }
    return isTrusted ? undefined : this.#decide(entry, input, context);
  }

  #decide(entry: Entry, input: unknown, context: OperationContext): Promise<void> | undefined {
    if (holdsScopes(entry.rules, identityIn(context))) return undefined;
    return authorise(entry.rules, { operationId: entry.id, input, context }, this.#customAuth);
  }

  /** Throws or rejects when a caller from outside may not call an operation. */
  authorize(entry: Entry, input: unknown, context: OperationContext): Promise<void> | undefined {
    return runForOutside(() => this.#decide(entry, input, context));
  }

  #isTrusted(context: OperationContext): boolean {
    return (
      (context.trusted === true && optionOf(context, "trusted") === true) ||
      (this.#trustDirectCalls && !isForOutside(context))
    );
  }

  // 3. Check the input

  #checkInput<T>(call: Call, entry: Entry, run: Run<T>, hasWaited: boolean): T | Promise<Awaited<T>> {
    const validate = entry.standard?.input;
    if (validate === undefined) {
      checkInput(entry, call.input);
      assertNotEnded(call, hasWaited);
      return this.#approve(call, entry, call.input, run);
    }
    const checked = standardInput(entry, validate, call.input);
    const begin = (value: unknown, waited: boolean) => {
      assertNotEnded(call, waited);
      return this.#approve(call, entry, value, run);
    };
    if (!(checked instanceof Promise)) return begin(checked.value, hasWaited);
    return checked.then(({ value }) => begin(value, true)) as Promise<Awaited<T>>;
  }

  // 4. Ask for an approval

  #approve<T>(call: Call, entry: Entry, input: unknown, run: Run<T>): T | Promise<Awaited<T>> {
    if (!entry.isGated) return run(call, entry, input);
    const { rules } = entry;
    return this.#approvals.pass(call, entry).then(({ recheck, approvalId }) => {
      assertNotEnded(call, true);
      if (this.#entries.get(call.id) !== entry || entry.rules !== rules) throw changedMeanwhile(call.id);
      const given = approvalId === undefined ? call : call.with(call.input, withoutApproval(call.context));
      return run(given, entry, input, recheck);
    }) as Promise<Awaited<T>>;
  }

  // 5. Run the handler

  readonly #runHandler: Run<Promise<ResponseEnvelope>> = (call, entry, input, recheck) => {
    const { acceptsFiles } = call.origin;
    const spills = acceptsFiles && this.#spills !== undefined ? this.spillsFor(entry) : undefined;
    const handler = handlerFor(entry, acceptsFiles, spills, recheck);
    const result: Promise<unknown> = Promise.resolve(handler(input, this.#handlerContext(call, entry)));
    // From here on only built-ins run (see `execute`).
    const envelope = then.call(result, (value) =>
      this.#toEnvelope(entry, value),
    ) as Promise<ResponseEnvelope>;
    if (spills === undefined) return envelope;
    return then.call(envelope, (whole) => spillIfLarge(whole as ResponseEnvelope, spills)) as typeof envelope;
  };

  readonly #openSource: Run<OpenStream> = (call, entry, input, recheck) => {
    const open = (recheck === undefined ? entry.run : entry.runAfter(recheck)) as SubscriptionHandler;
    const source: unknown = open(input, this.#handlerContext(call, entry));
    const iterator = asyncIteratorOf(source);
    if (iterator === undefined) throw noAsyncIterable(entry.id, source);
    if (entry.standard?.output === undefined) {
      return { iterator, toEnvelope: (value) => envelopeOf(entry, value, this.#output) };
    }
    return {
      iterator: standardIterator(iterator, (value) => this.#toEnvelope(entry, value)),
      toEnvelope: (envelope) => envelope as ResponseEnvelope,
    };
  };

  /** The caller's own, unless the operation declares what it uses. */
  #handlerContext({ context }: Call, { spec: { uses } }: Entry): OperationContext {
    return uses === undefined ? context : withUsedEnv(this.#registry, context, uses);
  }

  /** Whether the work of an operation ends, and says how, once its signal is aborted. */
  endsItself(id: string): boolean {
    return traitsOf(this.#entries.get(id)?.handler).endsItself === true;
  }

  // 6. Make an envelope

  #toEnvelope(entry: Entry, value: unknown): ResponseEnvelope | Promise<ResponseEnvelope> {
    const validate = entry.standard?.output;
    return validate === undefined
      ? envelopeOf(entry, value, this.#output)
      : standardEnvelope(entry, validate, value, this.#output);
  }

  // 7. Put a large result into a file

  /** Where large results of an operation go, if anywhere. */
  spillsFor(entry: Entry | undefined): Spills | undefined {
    return spillsOf(entry?.handler, this.#spills);
  }
}

/** Does the work of a call until its deadline. */
function endInTime<T>(call: Call, endsItself: boolean, work: (call: Call) => Promise<T>): Promise<T> {
  return withinDeadline(call.id, call.context, endsItself, (context) => work(call.with(call.input, context)));
}

/** Throws unless the input is valid. */
function checkInput(entry: Entry, input: unknown): void {
  if (!entry.prepared) entry.prepare();
  const schema = entry.input;
  if (schema === undefined) return;
  let isValid: boolean;
  try {
    isValid = schema.check(input);
  } catch (error) {
    throw isLimit(error) ? tooMuch(error, entry) : error;
  }
  if (!isValid) throw validationError(schema.errors(input), `input of operation ${entry.id}`);
}

/** An input that is too deep or too much work for the check. */
function tooMuch(error: CallError, { id }: Entry): CallError {
  const message = `The input of operation ${id} cannot be checked: ${error.message}`;
  return new CallError(error.code, message, { ...Object(error.details), operationId: id });
}

/** Throws where no answer is waited for any more. The signal of a served call is made when it is read, and nothing can have
 * aborted it before a step has waited. */
function assertNotEnded({ id, context, origin }: Call, hasWaited: boolean): void {
  if ((hasWaited || !origin.isServed) && context.signal?.aborted === true) throw aborted(id);
  if (context.deadline !== undefined) assertInTime(id, context.deadline);
}

/** What was approved is the operation as it was. */
function changedMeanwhile(id: string): CallError {
  const message = `Operation ${id} or its access rules were changed while its call waited for an approval. Call it again`;
  return new CallError(InfrastructureErrorCode.EXECUTION_ERROR, message, {
    operationId: id,
    reason: "changed",
    delivery: "none",
  });
}

function aborted(id: string): CallError {
  const message = `Operation ${id} was aborted before it started`;
  return new CallError(InfrastructureErrorCode.ABORTED, message, { operationId: id });
}
