// The headers of one call, from `context.metadata.headers`.

import { type CallError, invalid } from "../errors.js";
import { outgoingTrace } from "../interop/trace.js";
import { approvalIn, steering } from "../registry/metadata.js";
import type { OperationContext } from "../types.js";

/** The headers as a JSON object; `undefined` without any. A server of ours gets the approval that was not used here. */
export function callHeaders(context: OperationContext | undefined, isServed: boolean): string | undefined {
  const given: unknown = context === undefined ? undefined : steering(context, "headers");
  const trace = outgoingTrace();
  const approval = isServed && context !== undefined ? approvalHeader(context) : undefined;
  if (given == null) {
    const added = approval === undefined ? trace : { ...trace, approval };
    return added === undefined ? undefined : JSON.stringify(added);
  }
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
  // A user who sends one himself knows better.
  const own = Object.keys(headers).map((name) => name.toLowerCase());
  if (trace !== undefined && !own.includes("traceparent")) Object.assign(headers, trace);
  if (approval !== undefined && !own.includes("approval")) headers["approval"] = approval;
  return JSON.stringify(headers);
}

/** The ids of approvals are those of `newId`. */
function approvalHeader(context: OperationContext): string | undefined {
  const id = approvalIn(context);
  return typeof id === "string" && /^[\w-]{1,64}$/.test(id) ? id : undefined;
}

function refusal(what: string): CallError {
  return invalid(`Headers of a call are an object of strings, a Headers object or a list of pairs; ${what}`);
}
