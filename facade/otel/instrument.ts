import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Attributes,
  type Context,
  context as contexts,
  defaultTextMapGetter,
  defaultTextMapSetter,
  type Histogram,
  type Meter,
  metrics,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  type TextMapPropagator,
  type Tracer,
  trace as traces,
} from "@opentelemetry/api";
import { aBoolean, anObject, checkedOptions, type Fields, group, refusal } from "../border/options.js";
import { kindOf, messageOf } from "../border/text.js";
import { askForTrace, traceIn } from "../border/trace.js";
import type { ResponseEnvelope } from "../envelope.js";
import { mapError } from "../errors.js";
import { OperationRegistry } from "../registry/registry.js";
import { sourceAbout } from "../registry/source-about.js";
import type { Middleware, MiddlewareCall } from "../registry/watch-types.js";
import { ATTR, CONVENTIONS, OWN } from "./conventions.js";
import { type Described, describe } from "./describe.js";

/**
 * Options of `instrument`.
 *
 * @example
 * ```ts
 * const options: InstrumentOptions = { record: { inputs: true } };
 * ```
 */
export interface InstrumentOptions {
  /** Makes the spans. By default that of the global provider, under the name of this package. */
  tracer?: Tracer;
  /** Makes the histograms of durations. By default that of the global provider. */
  meter?: Meter;
  /** Reads and writes `traceparent`, `tracestate` and `baggage`. By default the global one, which an SDK registers. */
  propagator?: TextMapPropagator;
  /**
   * Which values of a call are recorded in its spans. None by default, because inputs and outputs may contain secrets.
   */
  record?: { inputs?: boolean; outputs?: boolean };
}

const FIELDS: Fields<InstrumentOptions> = {
  tracer: anObject,
  meter: anObject,
  propagator: anObject,
  record: group<NonNullable<InstrumentOptions["record"]>>({ inputs: aBoolean, outputs: aBoolean }),
};

/** The name under which spans and metrics are made. */
const SCOPE = "@alkdev/operations";
const SCHEMA_URL = `https://opentelemetry.io/schemas/${CONVENTIONS}`;
/** How much of an input or an output a span holds, in characters. */
const MOST_CONTENT = 4_096;

/** The context of OpenTelemetry within calls: for programs that have registered no context manager. */
const within = new AsyncLocalStorage<Context>();

/** What runs right now belongs to. */
function current(): Context {
  const active = contexts.active();
  return traces.getSpan(active) === undefined ? (within.getStore() ?? active) : active;
}

function run<T>(context: Context, work: () => T): T {
  return within.run(context, () => contexts.with(context, work));
}

/**
 * Creates spans and metrics for every call and every subscription of a registry, by the semantic conventions of
 * OpenTelemetry. Passes the trace on through HTTP requests, event streams, MCP, the call protocol, NATS and Redis, and
 * continues it in served calls. Returns a function that stops it.
 *
 * @example
 * ```ts
 * const stop = instrument(registry);
 * ```
 */
export function instrument(registry: OperationRegistry, options: InstrumentOptions = {}): () => void {
  if (!(registry instanceof OperationRegistry)) {
    throw refusal("instrument: registry", `must be an OperationRegistry, not ${kindOf(registry)}`);
  }
  const checked = checkedOptions<InstrumentOptions>(options, FIELDS, { prefix: "instrument: " });
  const instruments = new Instruments(registry, checked);
  const stops = [registry.use(instruments.middleware), askForTrace(instruments.outgoing)];
  return () => {
    for (const stop of stops) stop();
  };
}

class Instruments {
  readonly #registry: OperationRegistry;
  readonly #tracer: Tracer;
  readonly #meter: Meter;
  readonly #propagator: Pick<TextMapPropagator, "inject" | "extract">;
  readonly #record: NonNullable<InstrumentOptions["record"]>;
  readonly #histograms = new Map<string, Histogram>();

  constructor(registry: OperationRegistry, { tracer, meter, propagator, record }: InstrumentOptions) {
    this.#registry = registry;
    this.#tracer =
      tracer ?? traces.getTracerProvider().getTracer(SCOPE, undefined, { schemaUrl: SCHEMA_URL });
    this.#meter = meter ?? metrics.getMeter(SCOPE, undefined, { schemaUrl: SCHEMA_URL });
    this.#propagator = propagator ?? propagation;
    this.#record = record ?? {};
  }

  /** What goes along with a call that leaves. */
  readonly outgoing = () => {
    const carrier: Record<string, string> = {};
    this.#propagator.inject(current(), carrier, defaultTextMapSetter);
    return traceIn(carrier);
  };

  readonly middleware: Middleware = async (call, next) => {
    const watched = this.#begin(call);
    try {
      const answer = await run(watched.context, next);
      if (Symbol.asyncIterator in answer) return new TracedStream(answer, watched);
      watched.answered(answer);
      return answer;
    } catch (error) {
      watched.failed(error);
      throw error;
    }
  };

  #begin(call: MiddlewareCall): TracedCall {
    const { operationId, isServed, context: given } = call;
    const about = sourceAbout(this.#registry.entry(operationId)?.handler);
    let context = current();
    // What arrives is told by its caller to which trace it belongs; what is called here, by who calls it.
    if (isServed || traces.getSpan(context) === undefined) {
      const from = isServed ? ROOT_CONTEXT : context;
      context = this.#propagator.extract(from, { ...given.trace }, defaultTextMapGetter);
    }
    const spans: [Span, Described][] = [];
    for (const described of describe(call, about)) {
      const { name, kind, attributes, content } = described;
      const span = this.#tracer.startSpan(name, { kind, attributes }, context);
      if (this.#record.inputs === true) span.setAttribute(content[0], contentOf(call.input));
      spans.push([span, described]);
      context = traces.setSpan(context, span);
    }
    return new TracedCall(spans, context, call, this.#record.outputs === true, this.#measure);
  }

  readonly #measure: Measure = (metric, seconds, attributes) => {
    let histogram = this.#histograms.get(metric);
    if (histogram === undefined) {
      histogram = this.#meter.createHistogram(metric, {
        unit: "s",
        advice: { explicitBucketBoundaries: BOUNDARIES },
      });
      this.#histograms.set(metric, histogram);
    }
    histogram.record(seconds, attributes);
  };
}

/** As the conventions advise for durations of requests. */
const BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

type Measure = (metric: string, seconds: number, attributes: Attributes) => void;

/** Attributes that would make a series of each call. */
const NOT_MEASURED: ReadonlySet<string> = new Set([OWN.REQUEST_ID, ATTR.URL_PATH]);

/** The spans of one call. They end once. */
class TracedCall {
  readonly #spans: readonly [Span, Described][];
  readonly context: Context;
  readonly #call: MiddlewareCall;
  readonly #recordsOutput: boolean;
  readonly #measure: Measure;
  readonly #began = performance.now();
  #isEnded = false;

  constructor(
    spans: readonly [Span, Described][],
    context: Context,
    call: MiddlewareCall,
    recordsOutput: boolean,
    measure: Measure,
  ) {
    this.#spans = spans;
    this.context = context;
    this.#call = call;
    this.#recordsOutput = recordsOutput;
    this.#measure = measure;
  }

  /** With the only answer, or the last of a stream. */
  answered(envelope: ResponseEnvelope | undefined, events?: number): void {
    const meta = envelope?.meta;
    const found: Attributes = events === undefined ? {} : { [OWN.EVENTS]: events };
    if (this.#recordsOutput && envelope !== undefined && events === undefined) {
      for (const [span, { content }] of this.#spans) span.setAttribute(content[1], contentOf(envelope.data));
    }
    if (meta?.source === "http") found[ATTR.HTTP_RESPONSE_STATUS_CODE] = meta.statusCode;
    const isToolError = meta?.source === "mcp" && meta.isError;
    this.#end(
      found,
      isToolError ? { type: "tool_error", message: "The tool says that it failed" } : undefined,
    );
  }

  failed(error: unknown, events?: number): void {
    const { code, message, details } = mapError(error, this.#call.operation.errorSchemas);
    const status: unknown = Object(details).statusCode;
    const found: Attributes = events === undefined ? {} : { [OWN.EVENTS]: events };
    if (typeof status === "number") found[ATTR.HTTP_RESPONSE_STATUS_CODE] = status;
    this.#end(found, { type: code, message });
  }

  #end(found: Attributes, failure: { type: string; message: string } | undefined): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const seconds = (performance.now() - this.#began) / 1_000;
    for (const [span, described] of this.#spans.toReversed()) {
      const { [ATTR.HTTP_RESPONSE_STATUS_CODE]: status, ...others } = found;
      // The status is that of the request that was sent; what a client of ours is told is decided later.
      const isRequest = described.attributes[ATTR.URL_TEMPLATE] !== undefined;
      const own: Attributes = isRequest ? found : others;
      if (failure !== undefined) {
        own[ATTR.ERROR_TYPE] = isRequest && status !== undefined ? String(status) : failure.type;
        if (described.attributes[ATTR.RPC_METHOD] !== undefined) {
          own[ATTR.RPC_RESPONSE_STATUS_CODE] = failure.type;
        }
        span.setStatus({ code: SpanStatusCode.ERROR, message: failure.message });
      }
      span.setAttributes(own);
      const all = Object.entries({ ...described.attributes, ...own });
      const measured = all.filter(([name]) => !NOT_MEASURED.has(name) && name !== OWN.EVENTS);
      this.#measure(described.metric, seconds, Object.fromEntries(measured));
      span.end();
    }
  }
}

/** A stream whose handler runs within the context of its span, whoever asks for the next event. By hand, so that `return()` does
 * not wait for an event. */
class TracedStream implements AsyncIterableIterator<ResponseEnvelope> {
  readonly #events: AsyncIterator<ResponseEnvelope>;
  readonly #traced: TracedCall;
  #last: ResponseEnvelope | undefined;
  #count = 0;

  constructor(events: AsyncIterable<ResponseEnvelope>, traced: TracedCall) {
    this.#events = events[Symbol.asyncIterator]();
    this.#traced = traced;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<ResponseEnvelope>> {
    try {
      const step = await run(this.#traced.context, () => this.#events.next());
      if (step.done === true) {
        this.#traced.answered(this.#last, this.#count);
      } else {
        this.#last = step.value;
        this.#count += 1;
      }
      return step;
    } catch (error) {
      this.#traced.failed(error, this.#count);
      throw error;
    }
  }

  async return(): Promise<IteratorResult<ResponseEnvelope>> {
    this.#traced.answered(this.#last, this.#count);
    await run(this.#traced.context, () => this.#events.return?.());
    return { done: true, value: undefined };
  }
}

/** A value as text, or why there is none. */
function contentOf(value: unknown): string {
  try {
    return (JSON.stringify(value) ?? String(value)).slice(0, MOST_CONTENT);
  } catch (error) {
    return `cannot be written: ${messageOf(error)}`;
  }
}
