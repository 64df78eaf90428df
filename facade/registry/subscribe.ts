import { DONE, EventIterator, type Step } from "../border/event-iterator.js";
import type { ResponseEnvelope } from "../envelope.js";
import type { OperationById, Signature, Subscription as Stream, StreamId } from "../operation-types.js";
import type { CallContext, OperationContext } from "../types.js";
import { DeadlineWatch, isAhead } from "./deadline.js";
import { envelopeFrom, type Innermost, streamFrom, through } from "./middleware.js";
import type { OpenSubscription, OperationRegistry } from "./registry.js";
import { asyncIteratorOf, noAsyncIterable } from "./stream-source.js";
import { Clocked, type Watch } from "./watch.js";

/**
 * Calls a SUBSCRIPTION: an async generator of envelopes. Nothing happens before the first `next()`, and
 * nothing is fetched ahead of the consumer.
 *
 * @example
 * ```ts
 * for await (const { data } of subscribe(registry, "demo.ticks", { every: 1_000 }, { identity })) {
 *   console.log(data);
 * }
 * ```
 */
export function subscribe<
  TInput = unknown,
  TOutput = unknown,
  // biome-ignore lint/suspicious/noExplicitAny: a registry that knows nothing about the types of its operations
  TOperations = any,
  TId extends StreamId<TOperations> = StreamId<TOperations>,
  TOperation extends Signature = OperationById<TOperations, TId, Stream<TInput, TOutput>>,
>(
  registry: OperationRegistry<TOperations>,
  operationId: TId,
  input: TOperation["input"],
  context: CallContext = {},
): AsyncGenerator<ResponseEnvelope<TOperation["output"]>, void, unknown> {
  const events = streamOf(registry, operationId, input, context as OperationContext, false);
  return events as AsyncGenerator<ResponseEnvelope<never>, void, unknown>;
}

/** The same for the package itself: `isServed` says that the call came through the call protocol, whose handler sees to the
 * deadline. */
export function streamOf(
  registry: OperationRegistry,
  operationId: string,
  input: unknown,
  context: OperationContext,
  isServed: boolean,
): AsyncGenerator<ResponseEnvelope> {
  const { watcher } = registry;
  return watcher === undefined
    ? new Subscription(registry, operationId, input, context, isServed)
    : new WatchedSubscription(registry, watcher, operationId, input, context, isServed);
}

/** What an iterator gives that is opened when the first event is asked for, as envelopes. */
abstract class Pulled extends EventIterator<ResponseEnvelope> {
  #opening: Promise<void> | undefined;
  #iterator: AsyncIterator<unknown> | undefined;
  /** What the iterator answered last, until it is taken. */
  #answer: IteratorResult<unknown> | undefined;
  #hasAnswer = false;
  /** The iterator is at its end, or has thrown: it has run its own cleanup. */
  #isEnded = false;

  protected abstract open(): Promise<AsyncIterator<unknown>>;
  protected abstract envelope(value: unknown): ResponseEnvelope;
  /** What the consumer is told of a failure. */
  protected failure(error: unknown): unknown {
    return error;
  }
  /** There will be no more events, because of an error or without one. It may be said again. */
  protected ended(_error?: { readonly error: unknown }): void {}

  /** Opens it before anybody asks for an event. Rejects if it cannot be opened. */
  async opened(): Promise<void> {
    this.#opening ??= this.#start();
    try {
      await this.#opening;
    } catch (error) {
      throw this.failure(error);
    }
  }

  protected override take(): Step<ResponseEnvelope> | undefined {
    if (!this.#hasAnswer) return this.#takeNow();
    this.#hasAnswer = false;
    // Until the answer proves otherwise: one that cannot be read is the end too.
    this.#isEnded = true;
    const { done, value } = this.#answer as IteratorResult<unknown>;
    this.#answer = undefined;
    if (done === true) return DONE;
    this.#isEnded = false;
    return this.#step(value);
  }

  /** From a stream of ours: what it has ready. */
  #takeNow(): Step<ResponseEnvelope> | undefined {
    const iterator = this.#iterator;
    if (!(iterator instanceof EventIterator)) return undefined;
    let step: Step<unknown> | undefined;
    try {
      step = iterator.now();
    } catch (thrown) {
      this.#isEnded = true;
      const error = this.failure(thrown);
      this.ended({ error });
      throw error;
    }
    if (step === undefined) return undefined;
    if (step.done !== true) return this.#step(step.value);
    this.#isEnded = true;
    return DONE;
  }

  #step(value: unknown): Step<ResponseEnvelope> {
    try {
      return { done: false, value: this.envelope(value) };
    } catch (error) {
      this.ended({ error });
      throw error;
    }
  }

  protected override wait(): void {
    if (this.#iterator === undefined) {
      this.#opening ??= this.#start();
      this.#opening.then(this.#pull, this.#onError);
    } else {
      this.#pull();
    }
  }

  /** Once it is open: a consumer that left while it was being opened waits for that, then closes it. */
  protected override async close(): Promise<void> {
    this.ended();
    if (this.#isEnded || this.#opening === undefined) return;
    try {
      await this.#opening;
    } catch {
      return;
    }
    await this.#iterator?.return?.();
  }

  async #start(): Promise<void> {
    this.#iterator = await this.open();
  }

  readonly #pull = (): void => {
    if (this.isOver) return;
    try {
      // An iterator that was written by hand may answer without a promise.
      Promise.resolve((this.#iterator as AsyncIterator<unknown>).next()).then(this.#onAnswer, this.#onError);
    } catch (error) {
      this.#onError(error);
    }
  };

  readonly #onAnswer = (answer: IteratorResult<unknown>): void => {
    this.#answer = answer;
    this.#hasAnswer = true;
    this.ready();
  };

  readonly #onError = (thrown: unknown): void => {
    if (this.isOver) return;
    this.#isEnded = true;
    const error = this.failure(thrown);
    this.ended({ error });
    this.fail(error);
  };
}

/** What a handler yields, as envelopes. */
class Subscription extends Pulled {
  readonly #registry: OperationRegistry;
  readonly #operationId: string;
  readonly #input: unknown;
  readonly #context: OperationContext;
  readonly #isServed: boolean;
  /** Where the context has a deadline, and no one else sees to it. */
  #watch: DeadlineWatch | undefined;
  #envelope: OpenSubscription["envelope"] | undefined;

  constructor(
    registry: OperationRegistry,
    operationId: string,
    input: unknown,
    context: OperationContext,
    isServed: boolean,
  ) {
    super();
    this.#registry = registry;
    this.#operationId = operationId;
    this.#input = input;
    this.#context = context;
    this.#isServed = isServed;
  }

  protected override envelope(value: unknown): ResponseEnvelope {
    return (this.#envelope as OpenSubscription["envelope"])(value);
  }

  protected override failure(error: unknown): unknown {
    return this.#watch === undefined ? error : this.#watch.failure(error);
  }

  protected override ended(): void {
    this.#watch?.stop();
  }

  protected override async open(): Promise<AsyncIterator<unknown>> {
    const { source, envelope } = await this.#registry.openSubscription(
      this.#operationId,
      this.#input,
      this.#watched(this.#context),
      this.#isServed,
    );
    const iterator = asyncIteratorOf(source);
    if (iterator === undefined) throw noAsyncIterable(this.#operationId, source);
    this.#envelope = envelope;
    return iterator;
  }

  /** What the handler gets. A deadline counts from here on; the call handler sees to those of the calls that it serves. */
  #watched(context: OperationContext): OperationContext {
    const { deadline } = context;
    if (!isAhead(deadline) || this.#isServed) return context;
    const endsItself = this.#registry.endsItself(this.#operationId);
    // What ends itself is heard when it is asked next.
    this.#watch = new DeadlineWatch(
      this.#operationId,
      context as OperationContext & { deadline: number },
      (error) => {
        if (!endsItself) this.fail(error);
      },
    );
    return this.#watch.context;
  }
}

/** The same for those who watch: it goes through the middleware, and its end is reported. */
class WatchedSubscription extends Pulled {
  readonly #registry: OperationRegistry;
  readonly #watch: Watch;
  readonly #operationId: string;
  readonly #input: unknown;
  readonly #context: OperationContext;
  readonly #isServed: boolean;
  /** The handlers' own streams. A middleware may have asked for more than one. */
  readonly #inner: Subscription[] = [];
  #clocked: Clocked | undefined;
  #last: ResponseEnvelope | undefined;
  #events = 0;

  constructor(
    registry: OperationRegistry,
    watch: Watch,
    operationId: string,
    input: unknown,
    context: OperationContext,
    isServed: boolean,
  ) {
    super();
    this.#registry = registry;
    this.#watch = watch;
    this.#operationId = operationId;
    this.#input = input;
    this.#context = context;
    this.#isServed = isServed;
  }

  protected override async open(): Promise<AsyncIterator<unknown>> {
    const id = this.#operationId;
    const watch = this.#watch;
    const context = this.#context;
    const isServed = this.#isServed;
    const entry = this.#registry.entry(id);
    if (watch.isReporting) {
      this.#clocked = new Clocked(watch, id, entry?.spec, "subscription", context, isServed);
    }
    if (entry === undefined || watch.middleware.length === 0 || !entry.isCallable(true, isServed)) {
      return streamFrom(id, await this.#innermost(this.#input, context));
    }
    const call = {
      operationId: id,
      operation: entry.spec,
      kind: "subscription" as const,
      isServed,
      input: this.#input,
      context,
    };
    return streamFrom(id, await through(watch.middleware, call, this.#innermost));
  }

  readonly #innermost: Innermost = async (input, context) => {
    const stream = new Subscription(this.#registry, this.#operationId, input, context, this.#isServed);
    this.#inner.push(stream);
    await stream.opened();
    return stream;
  };

  protected override envelope(value: unknown): ResponseEnvelope {
    this.#last = envelopeFrom(this.#operationId, value);
    this.#events += 1;
    return this.#last;
  }

  protected override ended(error?: { readonly error: unknown }): void {
    const clocked = this.#clocked;
    this.#clocked = undefined;
    if (error === undefined) clocked?.answered(this.#last, this.#events);
    else clocked?.failed(error.error, this.#events);
  }

  /** A middleware that is a generator would wait for the next event before it lets go. */
  protected override async close(): Promise<void> {
    const closing = super.close();
    await Promise.all([closing, ...this.#inner.map((stream) => stream.return())]);
  }
}
