import type { ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import type { InputById, OutputById, StreamId } from "../operation-types.js";
import type { CallContext, OperationContext } from "../types.js";
import type { OpenSubscription, OperationRegistry } from "./registry.js";

type Step = IteratorResult<ResponseEnvelope, void>;
const DONE: Step = { done: true, value: undefined };

/**
 * Calls a SUBSCRIPTION: an async generator of envelopes. Nothing happens before the first `next()`, and
 * nothing is fetched ahead of the consumer.
 */
export function subscribe<
  TInput = unknown,
  TOutput = unknown,
  // biome-ignore lint/suspicious/noExplicitAny: a registry that knows nothing about the types of its operations
  TOperations = any,
  TId extends StreamId<TOperations> = StreamId<TOperations>,
>(
  registry: OperationRegistry<TOperations>,
  operationId: TId,
  input: InputById<TOperations, TId, TInput>,
  context: CallContext = {},
): AsyncGenerator<ResponseEnvelope<OutputById<TOperations, TId, TOutput>>, void, unknown> {
  const subscription = new Subscription(registry, operationId, input, context as OperationContext);
  return subscription as AsyncGenerator<ResponseEnvelope<never>, void, unknown>;
}

/**
 * Written by hand because a generator function would queue `return()` behind a pending `next()`: a consumer
 * that leaves while it waits must be let go at once, and the handler told.
 */
class Subscription implements AsyncGenerator<ResponseEnvelope, void, unknown> {
  readonly #open: () => Promise<OpenSubscription>;
  readonly #operationId: string;
  #opened:
    | Promise<{ iterator: AsyncIterator<unknown>; envelope(value: unknown): ResponseEnvelope }>
    | undefined;
  /** The answers that consumers wait for; all are told when one of them leaves. */
  readonly #waiting = new Set<(step: Step) => void>();
  #finished = false;
  #cleanup: Promise<void> | undefined;

  constructor(registry: OperationRegistry, operationId: string, input: unknown, context: OperationContext) {
    this.#operationId = operationId;
    this.#open = () => registry.openSubscription(operationId, input, context);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  get [Symbol.toStringTag](): string {
    return "AsyncGenerator";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async next(): Promise<Step> {
    if (this.#finished) return DONE;
    return new Promise<Step>((resolve, reject) => {
      this.#waiting.add(resolve);
      this.#pull().then(
        (step) => this.#settle(resolve, step),
        (error) => {
          // The consumer may have left already; then nobody is told.
          if (this.#waiting.delete(resolve)) reject(error);
        },
      );
    });
  }

  #settle(resolve: (step: Step) => void, step: Step): void {
    if (this.#waiting.delete(resolve)) resolve(step);
  }

  async #pull(): Promise<Step> {
    try {
      this.#opened ??= this.#start();
      const { iterator, envelope } = await this.#opened;
      if (this.#finished) return DONE;
      const { done, value } = await iterator.next();
      if (done === true) {
        this.#finished = true;
        return DONE;
      }
      return { done: false, value: envelope(value) };
    } catch (error) {
      // Like a generator: the first who waits is told, for the others it is over.
      if (this.#finished) return DONE;
      // A generator that threw has run its own cleanup.
      this.#finished = true;
      throw error;
    }
  }

  async #start() {
    const { source, envelope } = await this.#open();
    const iterator = asyncIteratorOf(source);
    if (iterator === undefined) {
      // It may be the promise of an async function. If that fails later, nobody is left to be told, and
      // an unhandled rejection would end the process.
      new Promise((resolve) => resolve(source)).catch(() => {});
      throw new CallError(
        InfrastructureErrorCode.EXECUTION_ERROR,
        `The handler of subscription ${this.#operationId} must return an async iterable`,
        { operationId: this.#operationId },
      );
    }
    return { iterator, envelope };
  }

  async return(): Promise<Step> {
    await this.#leave();
    return DONE;
  }

  async throw(error?: unknown): Promise<Step> {
    await this.#leave();
    throw error;
  }

  /** Ends the subscription, once: lets every waiting consumer go, and runs the handler's cleanup. */
  #leave(): Promise<void> {
    if (!this.#finished) {
      this.#finished = true;
      for (const resolve of this.#waiting) resolve(DONE);
      this.#waiting.clear();
      this.#cleanup = this.#close();
    }
    return this.#cleanup ?? Promise.resolve();
  }

  async #close(): Promise<void> {
    if (this.#opened === undefined) return;
    const opened = await this.#opened.catch(() => undefined);
    await opened?.iterator.return?.();
  }
}

function asyncIteratorOf(source: unknown): AsyncIterator<unknown> | undefined {
  if (typeof source !== "object" || source === null) return undefined;
  const make: unknown = (source as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator];
  return typeof make === "function" ? (make.call(source) as AsyncIterator<unknown>) : undefined;
}
