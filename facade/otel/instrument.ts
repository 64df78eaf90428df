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
import type { NativeSpans } from "../registry/native-reports.js";
import { markVia } from "../registry/protocol-context.js";
import { OperationRegistry } from "../registry/registry.js";
import { sourceAbout } from "../registry/source-about.js";
import type { Observer } from "../registry/watch.js";
import type { CallReport, Middleware, MiddlewareCall } from "../registry/watch-types.js";
import type { OperationContext, OperationSpec } from "../types.js";
import { ATTR, CONVENTIONS, OWN } from "./conventions.js";
import { type Described, describe } from "./describe.js";

/**
 * How a registry is instrumented.
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
  /** What of a call is put into its spans. Nothing by default: inputs and outputs may hold secrets. */
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
 * Makes spans and metrics of every call and every subscription of a registry, by the semantic conventions of OpenTelemetry, and
 * carries the trace on: through HTTP requests and event streams, MCP, the call protocol, NATS and Redis, and into what is
 * served. Returns a function that ends it.
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
  const stops = [registry.observe(instruments), askForTrace(instruments.outgoing)];
  return () => {
    for (const stop of stops) stop();
  };
}

class Instruments implements Observer {
  readonly #registry: OperationRegistry;
  readonly #tracer: Tracer;
  readonly #meter: Meter;
  readonly #propagator: Pick<TextMapPropagator, "inject" | "extract" | "fields">;
  readonly #record: NonNullable<InstrumentOptions["record"]>;
  readonly #histograms = new Map<string, Histogram>();
  /** Whether spans can be given the ids that were chosen for them. */
  #canName = true;

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

  /** Inputs and outputs of calls that are done without JavaScript never come here. */
  get takesNative(): boolean {
    return this.#canName && this.#record.inputs !== true && this.#record.outputs !== true;
  }

  get sendsTraces(): boolean {
    return this.#propagator.fields().includes("traceparent");
  }

  /** The spans of a call that was done without JavaScript, made afterwards: with the times that were taken, and the ids that were
   * sent on. */
  ended(report: CallReport, native: NativeSpans): void {
    const { operationId, kind, requestId, duration, events, error } = report;
    const entry = this.#registry.entry(operationId);
    // It may have been unregistered meanwhile; then less is known of it.
    if (entry === undefined) return;
    const given: OperationContext = {
      ...(requestId !== undefined && { requestId }),
      ...(native.trace !== undefined && { trace: native.trace }),
    };
    if (native.via !== undefined) markVia(given, native.via);
    const call = {
      operationId,
      operation: entry.spec,
      kind,
      isServed: true,
      input: undefined,
      context: given,
    };
    const found: Attributes = {
      ...(events !== undefined && { [OWN.EVENTS]: events }),
      ...(native.statusCode !== undefined && { [ATTR.HTTP_RESPONSE_STATUS_CODE]: native.statusCode }),
    };
    const failure = error === undefined ? toolFailure(report.code) : failureOf(error, call.operation, found);
    let context = this.#propagator.extract(ROOT_CONTEXT, { ...native.trace }, defaultTextMapGetter);
    const ids = [native.incoming, native.outgoing];
    const times = [[0, duration] as const, native.worked];
    const ends: (() => void)[] = [];
    for (const [at, described] of describe(call, sourceAbout(entry.handler)).entries()) {
      const time = times[at];
      // What was refused has sent nothing on.
      if (time === undefined) break;
      const [began, ended] = [native.startedAt + time[0], native.startedAt + time[1]];
      const { name, kind: spanKind, attributes } = described;
      const span = this.#tracer.startSpan(name, { kind: spanKind, attributes, startTime: began }, context);
      if (!nameSpan(span, native.traceId, ids[at] as string)) this.#canName = false;
      context = traces.setSpan(context, span);
      ends.push(() =>
        endSpan(span, described, found, failure, (ended - began) / 1_000, this.#measure, ended),
      );
    }
    for (const end of ends.reverse()) end();
  }

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
    this.#end(found, toolFailure(isToolError ? "TOOL_ERROR" : undefined));
  }

  failed(error: unknown, events?: number): void {
    const found: Attributes = events === undefined ? {} : { [OWN.EVENTS]: events };
    this.#end(found, failureOf(error, this.#call.operation, found));
  }

  #end(found: Attributes, failure: SpanFailure | undefined): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const seconds = (performance.now() - this.#began) / 1_000;
    for (const [span, described] of this.#spans.toReversed()) {
      endSpan(span, described, found, failure, seconds, this.#measure);
    }
  }
}

interface SpanFailure {
  readonly type: string;
  readonly message: string;
}

function toolFailure(code: string | undefined): SpanFailure | undefined {
  return code === "TOOL_ERROR" ? { type: "tool_error", message: "The tool says that it failed" } : undefined;
}

/** What a span says of an error. The status of a response that it tells goes to `found`. */
function failureOf(error: unknown, operation: OperationSpec, found: Attributes): SpanFailure {
  const { code, message, details } = mapError(error, operation.errorSchemas);
  const status: unknown = Object(details).statusCode;
  if (typeof status === "number") found[ATTR.HTTP_RESPONSE_STATUS_CODE] = status;
  return { type: code, message };
}

/** Ends a span with what was found out in its course, and measures it. */
function endSpan(
  span: Span,
  described: Described,
  found: Attributes,
  failure: SpanFailure | undefined,
  seconds: number,
  measure: Measure,
  endedAt?: number,
): void {
  const { [ATTR.HTTP_RESPONSE_STATUS_CODE]: status, ...others } = found;
  // The status is that of the request that was sent; what a client of ours is told is decided later.
  const isRequest = described.attributes[ATTR.URL_TEMPLATE] !== undefined;
  const own: Attributes = isRequest ? { ...found } : others;
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
  measure(described.metric, seconds, Object.fromEntries(measured));
  span.end(endedAt);
}

/** Gives a span the ids that the call has sent on already. OpenTelemetry has no way to ask for an id, but what a span says about
 * itself may be changed. Where that has no effect, this says no, and calls pass through JavaScript from then on. */
function nameSpan(span: Span, traceId: string, spanId: string): boolean {
  if (!span.isRecording()) return true;
  try {
    Object.assign(span.spanContext(), { traceId, spanId });
  } catch {
    return false;
  }
  const now = span.spanContext();
  return now.traceId === traceId && now.spanId === spanId;
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
