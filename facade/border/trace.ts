// The trace that a call belongs to, as it travels (W3C Trace Context and Baggage). What is sent comes from whoever
// instruments the package (`facade/otel/`); without that, nothing is sent. `crates/operations-core/src/trace.rs` has the same fields.

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

/** Somebody who knows to which trace the work belongs that is done right now. */
type TraceSource = () => TraceContext | undefined;

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
  return sources.length === 0 ? undefined : sources[sources.length - 1]?.();
}
