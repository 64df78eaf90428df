// The headers of one call, from `context.metadata.headers`.

import { type CallError, invalid } from "../errors.js";
import { outgoingTrace } from "../interop/trace.js";
import { steering } from "../registry/metadata.js";
import type { OperationContext } from "../types.js";

/** The headers as a JSON object; `undefined` without any. */
export function callHeaders(context: OperationContext | undefined): string | undefined {
  const given: unknown = context === undefined ? undefined : steering(context, "headers");
  const trace = outgoingTrace();
  if (given == null) return trace === undefined ? undefined : JSON.stringify(trace);
  if (typeof given !== "object") throw refusal(`context.metadata.headers is ${typeof given}`);
  const entries =
    Symbol.iterator in given ? [...(given as Iterable<[string, unknown]>)] : Object.entries(given);
  const headers: Record<string, string> = Object.create(null);
  for (const [name, value] of entries) {
    if (value == null) continue;
    if (typeof value === "object" && !Array.isArray(value))
      throw refusal(`the header "${name}" is an object`);
    // A list is one header, as it would arrive.
    headers[name] = Array.isArray(value) ? value.map(String).join(", ") : String(value);
  }
  if (trace === undefined) return JSON.stringify(headers);
  // A user who sends one himself knows better.
  const isTraced = Object.keys(headers).some((name) => name.toLowerCase() === "traceparent");
  return JSON.stringify(isTraced ? headers : { ...headers, ...trace });
}

function refusal(what: string): CallError {
  return invalid(`Headers of a call are an object of strings, a Headers object or a list of pairs; ${what}`);
}
