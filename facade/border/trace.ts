// The trace that a call belongs to, as it travels (W3C Trace Context and Baggage). What is sent comes from whoever
// instruments the package (`facade/otel/`); without that, nothing is sent. `crates/operations-core/src/trace.rs` has the same fields.

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

const FIELDS = { traceparent: 256, tracestate: 2_048, baggage: 8_192 } as const;

/** The fields of something that came over a wire; nothing if it has none. */
export function traceIn(value: unknown): TraceContext | undefined {
  if (!isRecord(value)) return undefined;
  let trace: TraceContext | undefined;
  for (const [name, most] of Object.entries(FIELDS)) {
    const field: unknown = Object.hasOwn(value, name) ? value[name] : undefined;
    if (typeof field !== "string" || field.length > most) continue;
    trace ??= {};
    trace[name as keyof TraceContext] = field;
  }
  return trace;
}

/** Somebody who knows to which trace the work belongs that is done right now, and makes spans of calls that are sent to others. */
export interface TraceSource {
  /** What goes along with a call that leaves. */
  outgoing(): TraceContext | undefined;
  /** Sends a call to others, within a span. */
  send<T extends ResponseEnvelope>(to: Sent, send: () => Promise<T>): Promise<T>;
  /** Sends a subscription to others, within a span. It is opened by whoever asks for the first event. */
  sendStream<T extends ResponseEnvelope>(to: Sent, events: Stream<T>): Stream<T>;
}

/** What is sent to others. */
export interface Sent {
  readonly operationId: string;
  /** Such as `nats`. */
  readonly protocol: string | undefined;
}

export type Stream<T> = AsyncGenerator<T, undefined, unknown>;

const sources: TraceSource[] = [];

/** Has outgoing calls ask somebody, until the returned function is called. The newest is asked. */
export function askForTrace(source: TraceSource): () => void {
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

/** Sends a call to others, within a span if somebody makes them. */
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
