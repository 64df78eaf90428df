// The trace that a call belongs to, as it travels (W3C Trace Context and Baggage). What is sent comes from the
// instrumentation (`facade/otel/`); without it, nothing is sent. `crates/operations-core/src/trace.rs` has the same
// fields and rules; `crates/operations-core/tests/cases/traces.json` holds the two together.

import type { ResponseEnvelope } from "../envelope.js";
import { isRecord } from "./options.js";

/**
 * The trace that a call belongs to, as its caller sent it: the fields of W3C Trace Context and Baggage.
 *
 * @example
 * ```ts
 * const trace: TraceContext = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
 * ```
 */
export interface TraceContext {
  traceparent?: string;
  tracestate?: string;
  baggage?: string;
}

// Versions to come may have more at the end.
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[!-~]*)?$/;
const LENGTH_OF_00 = 55;
const STATE_MEMBER =
  /^(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})=[ -<>-~]{1,256}$/;
const MOST_MEMBERS = 32;

/** The longest value of each field that is handed on, and what it must be: it becomes a header of other requests. */
const FIELDS: readonly (readonly [keyof TraceContext, number, (value: string) => boolean])[] = [
  ["traceparent", 256, isTraceParent],
  ["tracestate", 2_048, isTraceState],
  // For the application. All that matters here is that it can be a header.
  ["baggage", 8_192, (value) => /^[\t -~]*$/.test(value)],
];

function isTraceParent(value: string): boolean {
  return TRACEPARENT.test(value) && (value.length === LENGTH_OF_00 || !value.startsWith("00"));
}

function isTraceState(value: string): boolean {
  const all = value.split(",").map((member) => member.replace(/^[\t ]+|[\t ]+$/g, ""));
  const members = all.filter((member) => member !== "");
  return members.length <= MOST_MEMBERS && members.every((member) => STATE_MEMBER.test(member));
}

/** The well-formed fields of something that came over a wire; `undefined` without any. */
export function traceIn(value: unknown): TraceContext | undefined {
  if (!isRecord(value)) return undefined;
  let trace: TraceContext | undefined;
  for (const [name, most, holds] of FIELDS) {
    // It belongs to its `traceparent`: without that it means nothing.
    if (name === "tracestate" && trace === undefined) continue;
    const field: unknown = Object.hasOwn(value, name) ? value[name] : undefined;
    if (typeof field !== "string" || field.length > most || !holds(field)) continue;
    trace ??= {};
    trace[name] = field;
  }
  return trace;
}

/** Knows the trace of the current work, and makes spans for calls that are sent to others. */
export interface TraceSource {
  /** What goes along with a call that leaves. */
  outgoing(): TraceContext | undefined;
  /** The request that is sent right now goes to this URL, which holds no secrets. */
  sendsTo(url: string): void;
  /** It was decided about an approval: a part of the current work, if there is any. */
  decided(about: DecisionNote): void;
  /** Sends a call to others, within a span. */
  send<T extends ResponseEnvelope>(to: Sent, send: () => Promise<T>): Promise<T>;
  /** Sends a subscription to others, within a span. It opens when the first event is requested. */
  sendStream<T extends ResponseEnvelope>(to: Sent, events: Stream<T>): Stream<T>;
  /** Works within a span, as a part of `trace`, or of the current work without it. */
  work<T>(name: string, trace: TraceContext | undefined, work: TracedWork<T>): Promise<T>;
}

/** A decision about an approval. */
export interface DecisionNote {
  readonly operationId: string;
  readonly isGranted: boolean;
  readonly approvalId?: string;
  readonly decidedBy?: string;
}

/** What is known of a piece of work when it has ended. With `code`, it has failed. */
export type WorkNote = Readonly<Record<string, unknown>>;
export type TracedWork<T> = (note: (about: WorkNote) => void) => Promise<T>;

/** What is sent to others. */
export interface Sent {
  readonly operationId: string;
  /** Such as `nats`. */
  readonly protocol: string | undefined;
}

export type Stream<T> = AsyncGenerator<T, undefined, unknown>;

const sources: TraceSource[] = [];

/** Adds a source for outgoing calls, until the returned function is called. The newest is used. */
export function addTraceSource(source: TraceSource): () => void {
  sources.push(source);
  return () => {
    const at = sources.lastIndexOf(source);
    if (at >= 0) sources.splice(at, 1);
  };
}

/** The trace that a call is to be sent with. */
export function outgoingTrace(): TraceContext | undefined {
  return sources.at(-1)?.outgoing();
}

/** Reports the URL of a request to the trace source. `url` is called only if there is one. */
export function reportTarget(url: () => string | undefined): void {
  const source = sources.at(-1);
  const target = source === undefined ? undefined : url();
  if (target !== undefined) source?.sendsTo(target);
}

/** Notes a decision in the trace. `about` is called only if there is a trace source. */
export function traceDecision(about: () => DecisionNote): void {
  const source = sources.at(-1);
  source?.decided(about());
}

/** Works within a span if there is a trace source. */
export function tracedWork<T>(
  name: string,
  trace: TraceContext | undefined,
  work: TracedWork<T>,
): Promise<T> {
  const source = sources.at(-1);
  return source === undefined ? work(() => {}) : source.work(name, trace, work);
}

/** Sends a call to others, within a span if there is a trace source. */
export function tracedCall<T extends ResponseEnvelope>(
  operationId: string,
  protocol: string | undefined,
  send: () => Promise<T>,
): Promise<T> {
  const source = sources.at(-1);
  return source === undefined ? send() : source.send({ operationId, protocol }, send);
}

/** The same for a subscription. */
export function tracedStream<T extends ResponseEnvelope>(
  operationId: string,
  protocol: string | undefined,
  events: Stream<T>,
): Stream<T> {
  const source = sources.at(-1);
  return source === undefined ? events : source.sendStream({ operationId, protocol }, events);
}
