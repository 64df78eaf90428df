// Streams of envelopes: how the events of a handler reach the consumer of a subscription.

import type { ResponseEnvelope } from "../envelope.js";
import { DONE, EventIterator, type Step } from "../interop/event-iterator.js";
import type { Call } from "./call.js";
import { DeadlineWatch } from "./deadline.js";
import { asMiddlewareCall, assertEnvelope, assertStream, type Innermost, passThrough } from "./middleware.js";
import { CallTimer, type Observers } from "./observers.js";
import { iterateForOutside, runForOutside } from "./origin.js";
import type { OpenStream, Pipeline } from "./pipeline.js";

/** The events of an iterator that is opened when the first of them is requested, as envelopes. */
abstract class SourceIterator extends EventIterator<ResponseEnvelope> {
  protected readonly call: Call;
  #opening: Promise<void> | undefined;
  #iterator: AsyncIterator<unknown> | undefined;
  /** What the iterator answered last, until it is taken. */
  #answer: IteratorResult<unknown> | undefined;
  #hasAnswer = false;
  /** The iterator is at its end, or has thrown: it has run its own cleanup. */
  #isEnded = false;

  constructor(call: Call) {
    super();
    this.call = call;
  }

  protected abstract open(): Promise<AsyncIterator<unknown>>;
  protected abstract envelope(value: unknown): ResponseEnvelope;
  /** The error that the consumer gets for a failure. */
  protected failure(error: unknown): unknown {
    return error;
  }
  /** There will be no more events, because of an error or without one. May be called again. */
  protected ended(_error?: { readonly error: unknown }): void {}

  /** Opens it before the first event is requested. Rejects if it cannot be opened. */
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
    if (!this.call.origin.isOutside) this.#iterator = await this.open();
    else this.#iterator = iterateForOutside(await runForOutside(() => this.open()));
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
export class OperationStream extends SourceIterator {
  readonly #pipeline: Pipeline;
  #deadline: DeadlineWatch | undefined;
  #toEnvelope: OpenStream["toEnvelope"] | undefined;

  constructor(pipeline: Pipeline, call: Call) {
    super(call);
    this.#pipeline = pipeline;
  }

  protected override envelope(value: unknown): ResponseEnvelope {
    return (this.#toEnvelope as OpenStream["toEnvelope"])(value);
  }

  protected override failure(error: unknown): unknown {
    return this.#deadline === undefined ? error : this.#deadline.failure(error);
  }

  protected override ended(): void {
    this.#deadline?.stop();
  }

  protected override async open(): Promise<AsyncIterator<unknown>> {
    const call = this.call.hasDeadline ? this.#endInTime(this.call) : this.call;
    const { iterator, toEnvelope } = await this.#pipeline.openStream(call);
    this.#toEnvelope = toEnvelope;
    return iterator;
  }

  /** The same call with a signal for its handler. The deadline counts from here on. */
  #endInTime(call: Call): Call {
    const endsItself = this.#pipeline.endsItself(call.id);
    this.#deadline = new DeadlineWatch(call.id, call.context, (error) => {
      // A handler that ends itself fails at the next `next()`.
      if (!endsItself) this.fail(error);
    });
    return call.with(call.input, this.#deadline.context);
  }
}

/** The same with observers: it passes through the middleware, and its end is reported. */
export class ObservedStream extends SourceIterator {
  readonly #pipeline: Pipeline;
  readonly #observers: Observers;
  /** The handlers' own streams. A middleware may have opened more than one. */
  readonly #inner: OperationStream[] = [];
  #timer: CallTimer | undefined;
  #last: ResponseEnvelope | undefined;
  #events = 0;

  constructor(pipeline: Pipeline, call: Call, observers: Observers) {
    super(call);
    this.#pipeline = pipeline;
    this.#observers = observers;
  }

  protected override async open(): Promise<AsyncIterator<unknown>> {
    const { call } = this;
    const { isReporting, middleware } = this.#observers;
    if (isReporting) this.#timer = new CallTimer(this.#observers, call, this.#pipeline.specOf(call.id));
    const entry = this.#pipeline.callable(call);
    const answer =
      entry === undefined || middleware.length === 0
        ? await this.#innermost(call.input, call.context)
        : await passThrough(middleware, asMiddlewareCall(call, entry), this.#innermost);
    return assertStream(call.id, answer);
  }

  readonly #innermost: Innermost = async (input, context) => {
    const stream = new OperationStream(this.#pipeline, this.call.with(input, context));
    this.#inner.push(stream);
    await stream.opened();
    return stream;
  };

  protected override envelope(value: unknown): ResponseEnvelope {
    this.#last = assertEnvelope(this.call.id, value);
    this.#events += 1;
    return this.#last;
  }

  protected override ended(error?: { readonly error: unknown }): void {
    const timer = this.#timer;
    this.#timer = undefined;
    if (error === undefined) timer?.answered(this.#last, this.#events);
    else timer?.failed(error.error, this.#events);
  }

  /** A middleware that is a generator would wait for the next event before it ends. */
  protected override async close(): Promise<void> {
    const closing = super.close();
    await Promise.all([closing, ...this.#inner.map((stream) => stream.return())]);
  }
}
