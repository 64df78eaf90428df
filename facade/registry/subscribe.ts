import { DONE, EventIterator, type Step } from "../border/event-iterator.js";
import type { ResponseEnvelope } from "../envelope.js";
import type { OperationById, Signature, Subscription as Stream, StreamId } from "../operation-types.js";
import type { CallContext, OperationContext } from "../types.js";
import { DeadlineWatch, isAhead } from "./deadline.js";
import { isWatchedElsewhere } from "./protocol-context.js";
import type { OpenSubscription, OperationRegistry } from "./registry.js";
import { asyncIteratorOf, noAsyncIterable } from "./stream-source.js";

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
  const subscription = new Subscription(registry, operationId, input, context as OperationContext);
  return subscription as AsyncGenerator<ResponseEnvelope<never>, void, unknown>;
}

/** What a handler yields, as envelopes. */
class Subscription extends EventIterator<ResponseEnvelope> {
  readonly #registry: OperationRegistry;
  readonly #operationId: string;
  readonly #input: unknown;
  readonly #context: OperationContext;
  /** Where the context has a deadline, and no one else sees to it. */
  #watch: DeadlineWatch | undefined;
  #opening: Promise<void> | undefined;
  #iterator: AsyncIterator<unknown> | undefined;
  #envelope: OpenSubscription["envelope"] | undefined;
  /** What the handler's generator answered last, until it is taken. */
  #answer: IteratorResult<unknown> | undefined;
  #hasAnswer = false;
  /** The handler's generator is at its end, or has thrown: it has run its own cleanup. */
  #isEnded = false;

  constructor(registry: OperationRegistry, operationId: string, input: unknown, context: OperationContext) {
    super();
    this.#registry = registry;
    this.#operationId = operationId;
    this.#input = input;
    this.#context = context;
  }

  protected override take(): Step<ResponseEnvelope> | undefined {
    if (!this.#hasAnswer) return undefined;
    this.#hasAnswer = false;
    // Until the answer proves otherwise: one that cannot be read is the end too.
    this.#isEnded = true;
    const { done, value } = this.#answer as IteratorResult<unknown>;
    this.#answer = undefined;
    if (done === true) return DONE;
    this.#isEnded = false;
    return { done: false, value: (this.#envelope as OpenSubscription["envelope"])(value) };
  }

  protected override wait(): void {
    if (this.#iterator === undefined) {
      this.#opening = this.#start();
      this.#opening.then(this.#pull, this.#onError);
    } else {
      this.#pull();
    }
  }

  /** Once it is started: a consumer that left while it was starting waits for that, then closes it. */
  protected override async close(): Promise<void> {
    this.#watch?.stop();
    if (this.#isEnded || this.#opening === undefined) return;
    try {
      await this.#opening;
    } catch {
      return;
    }
    await this.#iterator?.return?.();
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

  readonly #onError = (error: unknown): void => {
    if (this.isOver) return;
    this.#isEnded = true;
    this.fail(this.#watch === undefined ? error : this.#watch.failure(error));
  };

  async #start(): Promise<void> {
    const { source, envelope } = await this.#registry.openSubscription(
      this.#operationId,
      this.#input,
      this.#watched(this.#context),
    );
    const iterator = asyncIteratorOf(source);
    if (iterator === undefined) throw noAsyncIterable(this.#operationId, source);
    this.#iterator = iterator;
    this.#envelope = envelope;
  }

  /** What the handler gets. A deadline counts from here on; the call handler sees to those of the calls that it serves. */
  #watched(context: OperationContext): OperationContext {
    const { deadline } = context;
    if (!isAhead(deadline) || isWatchedElsewhere(context)) return context;
    const endsItself = this.#registry.endsItself(this.#operationId);
    // What ends itself is heard in `#onError`, when it is asked next.
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
