import { AsyncLocalStorage } from "node:async_hooks";
// biome-ignore lint/suspicious/noTsIgnore: for the declarations: where the peer is not installed, its types are `any`
/** @ts-ignore */
import {
  type Attributes,
  type Context,
  context as contexts,
  createContextKey,
  defaultTextMapGetter,
  defaultTextMapSetter,
  type Histogram,
  isSpanContextValid,
  type Meter,
  metrics,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  type TextMapPropagator,
  TraceFlags,
  type Tracer,
  trace as traces,
} from "@opentelemetry/api";
import type { ResponseEnvelope } from "../envelope.js";
import { invalid, mapError } from "../errors.js";
import { aBoolean, anObject, checkedOptions, type Fields, group } from "../interop/options.js";
import { messageOf } from "../interop/text.js";
import {
  addTraceSource,
  type DecisionNote,
  type Sent,
  type Stream,
  type TraceContext,
  type TracedWork,
  type TraceSource,
  traceIn,
} from "../interop/trace.js";
import { assertRegistry } from "../registry/assert-registry.js";
import { traitsOf } from "../registry/handler-traits.js";
import type { NativeSpans } from "../registry/native-reports.js";
import type { CallReport, Middleware, MiddlewareCall } from "../registry/observer-types.js";
import type { Observer } from "../registry/observers.js";
import type { OperationRegistry } from "../registry/registry.js";
import type { OperationContext, OperationSpec } from "../types.js";
import { ATTR, CONVENTIONS, OWN } from "./conventions.js";
import { type Described, describe, type Ended, sentRpc } from "./describe.js";

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

/** Registries that have spans already. */
const instrumented = new WeakMap<OperationRegistry, Instruments>();

/** The span of the request that is made right now. */
const REQUEST_SPAN = createContextKey("@alkdev/operations: request");

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
 * continues it in served calls. Returns a function that stops it. Until then, a second call for the same registry is
 * refused.
 *
 * @example
 * ```ts
 * const stop = instrument(registry);
 * ```
 */
export function instrument(registry: OperationRegistry, options: InstrumentOptions = {}): () => void {
  assertRegistry(registry, "instrument");
  const checked = checkedOptions<InstrumentOptions>(options, FIELDS, { prefix: "instrument: " });
  if (instrumented.has(registry)) {
    throw invalid(
      "instrument: this registry is instrumented already, and a second time would double its spans. Stop the first with the function that it returned",
    );
  }
  const instruments = new Instruments(registry, checked);
  const stops = [registry.observe(instruments), addTraceSource(instruments)];
  instrumented.set(registry, instruments);
  return () => {
    for (const stop of stops) stop();
    // It may be instrumented again by now.
    if (instrumented.get(registry) === instruments) instrumented.delete(registry);
  };
}

class Instruments implements Observer, TraceSource {
  readonly #registry: OperationRegistry;
  readonly #tracer: Tracer;
  readonly #meter: Meter;
  readonly #propagator: Pick<TextMapPropagator, "inject" | "extract" | "fields">;
  readonly #record: NonNullable<InstrumentOptions["record"]>;
  readonly #histograms = new Map<string, Histogram>();
  /** Whether spans can be given the ids that were chosen for them. */
  #canName = true;
  /** Whether the sampler drops traces. Then it is consulted before one begins. */
  decidesRoots = false;

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

  sendsTo(url: string): void {
    const span = current().getValue(REQUEST_SPAN) as Span | undefined;
    span?.setAttribute(ATTR.URL_FULL, url);
  }

  decided({ operationId, isGranted, approvalId, decidedBy }: DecisionNote): void {
    const attributes = {
      [OWN.ID]: operationId,
      [`${OWN.APPROVAL}.granted`]: isGranted,
      ...(approvalId !== undefined && { [`${OWN.APPROVAL}.id`]: approvalId }),
      ...(decidedBy !== undefined && { [`${OWN.APPROVAL}.by`]: decidedBy }),
    };
    const context = current();
    const span = traces.getSpan(context);
    if (span !== undefined) span.addEvent(OWN.APPROVAL, attributes);
    else this.#tracer.startSpan(OWN.APPROVAL, { attributes }, context).end();
  }

  readonly middleware: Middleware = async (call, next) => {
    const watched = this.#begin(call);
    try {
      const answer = await run(watched.context, next);
      if (Symbol.asyncIterator in answer)
        return new TracedStream(answer[Symbol.asyncIterator](), () => watched);
      watched.answered(answer);
      return answer;
    } catch (error) {
      watched.failed(error);
      throw error;
    }
  };

  async send<T extends ResponseEnvelope>(to: Sent, send: () => Promise<T>): Promise<T> {
    if (typeof to.operationId !== "string") return send();
    const traced = this.#sending(to);
    try {
      const envelope = await run(traced.context, send);
      traced.answered(envelope);
      return envelope;
    } catch (error) {
      traced.failed(error);
      throw error;
    }
  }

  sendStream<T extends ResponseEnvelope>(to: Sent, events: Stream<T>): Stream<T> {
    if (typeof to.operationId !== "string") return events;
    const given = current();
    return new TracedStream<T>(events, () => this.#sending(to, given)) as Stream<T>;
  }

  async work<T>(name: string, trace: TraceContext | undefined, work: TracedWork<T>): Promise<T> {
    const active = current();
    const isPart = traces.getSpan(active) !== undefined || trace === undefined;
    const context = isPart ? active : this.#propagator.extract(active, { ...trace }, defaultTextMapGetter);
    const span = this.#tracer.startSpan(name, {}, context);
    const failed = ({ code, message }: { code: unknown; message: unknown }) => {
      span.setAttribute(ATTR.ERROR_TYPE, String(code));
      span.setStatus({ code: SpanStatusCode.ERROR, message: String(message) });
    };
    try {
      return await run(traces.setSpan(context, span), () =>
        work(({ code, message, ...about }) => {
          for (const [key, value] of Object.entries(about)) span.setAttribute(OWN.RUN + key, value as string);
          if (code !== undefined) failed({ code, message });
        }),
      );
    } catch (error) {
      failed(mapError(error));
      throw error;
    } finally {
      span.end();
    }
  }

  #sending({ operationId, protocol }: Sent, context = current()): TracedCall {
    const described = sentRpc(operationId, protocol);
    const { name, kind, attributes } = described;
    const span = this.#tracer.startSpan(name, { kind, attributes }, context);
    return new TracedCall(
      [[span, described]],
      traces.setSpan(context, span),
      undefined,
      false,
      this.#measure,
    );
  }

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
      ...(report.identityId !== undefined && { identity: { id: report.identityId, scopes: [] } }),
    };
    const call = {
      operationId,
      operation: entry.spec,
      kind,
      isServed: true,
      input: undefined,
      context: given,
      ...(native.via && { via: native.via }),
    };
    const ended: Ended = {
      ...(error !== undefined && { error: mapError(error, call.operation.errorSchemas) }),
      isToolError: report.code === "TOOL_ERROR",
      statusCode: native.statusCode,
      hasData: native.hasData === true,
      events,
    };
    let context = this.#propagator.extract(ROOT_CONTEXT, { ...native.trace }, defaultTextMapGetter);
    const ids = [native.incoming, native.outgoing];
    const times = [[0, duration] as const, native.worked];
    const ends: (() => void)[] = [];
    const described = describe(call, traitsOf(entry.handler).source);
    // A request that is neither HTTP nor MCP went to a peer.
    if (described.length === 1) described.push(sentRpc(operationId, "websocket"));
    for (const [at, each] of described.entries()) {
      const time = times[at];
      // What was refused has sent nothing on.
      if (time === undefined) break;
      const [from, to] = [native.startedAt + time[0], native.startedAt + time[1]];
      const { name, kind: spanKind } = each;
      const attributes = {
        ...each.attributes,
        ...(isRequest(each) && native.target !== undefined && { [ATTR.URL_FULL]: native.target }),
      };
      const span = this.#tracer.startSpan(name, { kind: spanKind, attributes, startTime: from }, context);
      if (at === 0 && native.trace?.traceparent === undefined && isDropped(span)) this.decidesRoots = true;
      if (!nameSpan(span, native.traceId, ids[at] as string)) this.#canName = false;
      context = traces.setSpan(context, span);
      ends.push(() => endSpan(span, each, ended, (to - from) / 1_000, this.#measure, to));
    }
    for (const end of ends.reverse()) end();
  }

  #begin(call: MiddlewareCall): TracedCall {
    const { operationId, isServed, context: given } = call;
    const about = traitsOf(this.#registry.entry(operationId)?.handler).source;
    let context = current();
    // The trace of a served call comes with its request; that of a local call is the active one.
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
      if (isRequest(described)) context = context.setValue(REQUEST_SPAN, span);
    }
    return new TracedCall(
      spans,
      context,
      call.operation.errorSchemas,
      this.#record.outputs === true,
      this.#measure,
    );
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
const NOT_MEASURED: ReadonlySet<string> = new Set([OWN.REQUEST_ID, OWN.EVENTS, ATTR.URL_FULL, ATTR.URL_PATH]);

/** The spans of one call. They end once. */
class TracedCall {
  readonly #spans: readonly [Span, Described][];
  readonly context: Context;
  /** The errors that the operation declares, where that is known. */
  readonly #errors: OperationSpec["errorSchemas"];
  readonly #recordsOutput: boolean;
  readonly #measure: Measure;
  readonly #began = performance.now();
  #isEnded = false;

  constructor(
    spans: readonly [Span, Described][],
    context: Context,
    errors: OperationSpec["errorSchemas"],
    recordsOutput: boolean,
    measure: Measure,
  ) {
    this.#spans = spans;
    this.context = context;
    this.#errors = errors;
    this.#recordsOutput = recordsOutput;
    this.#measure = measure;
  }

  /** With the only answer, or the last of a stream. */
  answered(envelope: ResponseEnvelope | undefined, events?: number): void {
    const meta = envelope?.meta;
    if (this.#recordsOutput && envelope !== undefined && events === undefined) {
      for (const [span, { content }] of this.#spans) span.setAttribute(content[1], contentOf(envelope.data));
    }
    this.#end({
      isToolError: meta?.source === "mcp" && meta.isError,
      statusCode: meta?.source === "http" ? meta.statusCode : undefined,
      hasData: envelope?.data !== undefined,
      events,
    });
  }

  failed(error: unknown, events?: number): void {
    this.#end({ error: mapError(error, this.#errors), events });
  }

  #end(ended: Ended): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const seconds = (performance.now() - this.#began) / 1_000;
    for (const [span, described] of this.#spans.toReversed()) {
      endSpan(span, described, ended, seconds, this.#measure);
    }
  }
}

/** Ends a span with what became of its call, and measures it. */
function endSpan(
  span: Span,
  described: Described,
  ended: Ended,
  seconds: number,
  measure: Measure,
  endedAt?: number,
): void {
  const { error, isToolError, events } = ended;
  const own: Attributes = events === undefined ? {} : { [OWN.EVENTS]: events };
  const failure =
    error !== undefined
      ? { type: error.code, message: error.message }
      : isToolError === true
        ? { type: "tool_error", message: "The tool says that it failed" }
        : undefined;
  const isSent = isRequest(described);
  const status = isSent ? statusIn(ended) : described.status?.(ended);
  if (status !== undefined) own[ATTR.HTTP_RESPONSE_STATUS_CODE] = status;
  // Whom a server has refused has made a mistake; the server has not.
  const isTheirs = described.status !== undefined && status !== undefined && status < 500;
  if (failure !== undefined && !isTheirs) {
    own[ATTR.ERROR_TYPE] = isSent && status !== undefined ? String(status) : failure.type;
    span.setStatus({ code: SpanStatusCode.ERROR, message: failure.message });
  }
  if (failure !== undefined && described.attributes[ATTR.RPC_METHOD] !== undefined) {
    own[ATTR.RPC_RESPONSE_STATUS_CODE] = failure.type;
  }
  span.setAttributes(own);
  const all = Object.entries({ ...described.attributes, ...own });
  const measured = all.filter(([name]) => !NOT_MEASURED.has(name));
  measure(described.metric, seconds, Object.fromEntries(measured));
  span.end(endedAt);
}

/** Whether a span is that of a request of HTTP that we send. */
function isRequest({ attributes }: Described): boolean {
  return attributes[ATTR.URL_TEMPLATE] !== undefined;
}

/** Whether a sampler has dropped a span. Without an SDK there is no sampler, and spans have no ids. */
function isDropped(span: Span): boolean {
  const context = span.spanContext();
  return isSpanContextValid(context) && (context.traceFlags & TraceFlags.SAMPLED) === 0;
}

/** The status that a server has answered with. */
function statusIn({ error, statusCode }: Ended): number | undefined {
  if (error === undefined) return statusCode;
  const status: unknown = Object(error.details).statusCode;
  return typeof status === "number" ? status : undefined;
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

/** A stream whose work is done within the context of its span, whatever the context of `next()`. By hand, so that `return()` does
 * not wait for an event. */
class TracedStream<T extends ResponseEnvelope> implements AsyncIterableIterator<T> {
  readonly #events: AsyncIterator<T>;
  readonly #begin: () => TracedCall;
  #traced: TracedCall | undefined;
  #last: T | undefined;
  #count = 0;

  /** `begin` is called when the first event is requested. */
  constructor(events: AsyncIterator<T>, begin: () => TracedCall) {
    this.#events = events;
    this.#begin = begin;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T>> {
    this.#traced ??= this.#begin();
    const traced = this.#traced;
    try {
      const step = await run(traced.context, () => this.#events.next());
      if (step.done === true) {
        traced.answered(this.#last, this.#count);
      } else {
        this.#last = step.value;
        this.#count += 1;
      }
      return step;
    } catch (error) {
      traced.failed(error, this.#count);
      throw error;
    }
  }

  async return(): Promise<IteratorResult<T>> {
    const leave = () => this.#events.return?.();
    this.#traced?.answered(this.#last, this.#count);
    await (this.#traced === undefined ? leave() : run(this.#traced.context, leave));
    return { done: true, value: undefined };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async throw(error?: unknown): Promise<IteratorResult<T>> {
    await this.return();
    throw error;
  }
}

/** A value as text, or why it has no text. */
function contentOf(value: unknown): string {
  try {
    return (JSON.stringify(value) ?? String(value)).slice(0, MOST_CONTENT);
  } catch (error) {
    return `cannot be written: ${messageOf(error)}`;
  }
}
