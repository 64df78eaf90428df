// What arrives is looked at before it is believed: any process that reaches the wire can send any event. Declared as
// `CallEventMap`; written out because a schema check of each event would cost more than the event.

import { optionOf as fieldOf, isListOf, isObject, isRecord, isString } from "../border/options.js";
import { traceIn } from "../border/trace.js";
import type { Identity } from "../types.js";
import type { CallEvents, CallEventType } from "./events.js";

type Fields = Record<string, unknown>;
const isStrings = (value: unknown) => isListOf(value, isString);

/** The payload of an event's `detail`, which is `{ type, id, payload }` or the bare payload; nothing if it does not fit.
 * A copy of the declared fields: what a getter or a prototype would say is not asked for again. Never throws. */
export function readEvent<T extends CallEventType>(type: T, detail: unknown): CallEvents[T] | undefined {
  try {
    const payload = payloadOf(type, detail);
    if (payload === undefined) return undefined;
    const requestId = fieldOf(payload, "requestId");
    if (typeof requestId !== "string") return undefined;
    return READERS[type](requestId, payload) as CallEvents[T] | undefined;
  } catch {
    return undefined;
  }
}

function payloadOf(type: CallEventType, detail: unknown): Fields | undefined {
  if (!isObject(detail)) return undefined;
  const inner = fieldOf(detail, "payload");
  if (!isObject(inner) || fieldOf(detail, "requestId") !== undefined) return detail;
  const named = fieldOf(detail, "type");
  return named === undefined || named === type ? inner : undefined;
}

const READERS: {
  readonly [T in CallEventType]: (requestId: string, payload: Fields) => CallEvents[T] | undefined;
} = {
  "call.requested": (requestId, payload) => {
    const operationId = fieldOf(payload, "operationId");
    if (typeof operationId !== "string") return undefined;
    const event: CallEvents["call.requested"] = { requestId, operationId, input: fieldOf(payload, "input") };
    for (const [name, holds] of OPTIONAL) {
      const value = fieldOf(payload, name);
      if (value === undefined) continue;
      if (!holds(value)) return undefined;
      (event as unknown as Fields)[name] = value;
    }
    // A call does not fail because of those who watch it.
    const trace = traceIn(fieldOf(payload, "trace"));
    if (trace !== undefined) event.trace = trace;
    return event;
  },
  // Whether the output is an envelope is for whoever waits for it: if it is none, the call has failed.
  "call.responded": (requestId, payload) => ({
    requestId,
    output: fieldOf(payload, "output") as CallEvents["call.responded"]["output"],
  }),
  "call.completed": (requestId) => ({ requestId }),
  "call.aborted": (requestId) => ({ requestId }),
  "call.error": (requestId, payload) => {
    const code = fieldOf(payload, "code");
    const message = fieldOf(payload, "message");
    if (typeof code !== "string" || typeof message !== "string") return undefined;
    const details = fieldOf(payload, "details");
    return details === undefined ? { requestId, code, message } : { requestId, code, message, details };
  },
};

const OPTIONAL: readonly (readonly [name: string, holds: (value: unknown) => boolean])[] = [
  ["parentRequestId", isString],
  ["deadline", Number.isFinite],
  ["idleTimeout", Number.isFinite],
  ["identity", isIdentity],
  ["metadata", isRecord],
];

export function isIdentity(value: unknown): value is Identity {
  if (!isRecord(value) || !isString(fieldOf(value, "id")) || !isStrings(fieldOf(value, "scopes")))
    return false;
  const resources = fieldOf(value, "resources");
  return resources === undefined || (isRecord(resources) && Object.values(resources).every(isStrings));
}
