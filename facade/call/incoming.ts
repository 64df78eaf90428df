// What arrives is validated before it is used: any process that reaches the wire can send any event. Declared as
// `CallEventMap`; written out because a schema check of each event would cost more than the event.

import { isResponseEnvelope, type ResponseEnvelope } from "../envelope.js";
import { ResponseMetaSchema } from "../envelope-schemas.js";
import { optionOf as fieldOf, isListOf, isObject, isRecord, isString } from "../interop/options.js";
import { traceIn } from "../interop/trace.js";
import { type CompiledSchema, compiled } from "../schema/compiled.js";
import type { Identity } from "../types.js";
import type { CallEvents, CallEventType } from "./events.js";

type Fields = Record<string, unknown>;
const isStrings = (value: unknown) => isListOf(value, isString);

/** The payload of an event's `detail`, which is `{ type, id, payload }` or the bare payload; `undefined` if it is invalid.
 * A copy of the declared fields: what a getter or a prototype would say is not read again. Never throws. */
export function readEvent<T extends CallEventType>(type: T, detail: unknown): CallEvents[T] | undefined {
  try {
    if (type === "call.requested" && isObject(detail) && isUntouched()) {
      const { payload: inner } = detail;
      if (!isObject(inner)) return requestIn(detail) as CallEvents[T] | undefined;
    }
    const payload = payloadOf(type, detail);
    if (payload === undefined) return undefined;
    const requestId = fieldOf(payload, "requestId");
    if (typeof requestId !== "string") return undefined;
    return READERS[type](requestId, payload) as CallEvents[T] | undefined;
  } catch {
    return undefined;
  }
}

/** The request that an event of this type answers, although the event does not fit: its caller must not wait on. */
export function answeredBy(type: CallEventType, detail: unknown): string | undefined {
  if (type !== "call.responded" && type !== "call.error") return undefined;
  try {
    const payload = payloadOf(type, detail);
    const requestId = payload && fieldOf(payload, "requestId");
    return typeof requestId === "string" ? requestId : undefined;
  } catch {
    return undefined;
  }
}

/** JSON has no `undefined`: over a wire, an envelope whose data was that arrives without. */
export function withData(output: unknown): unknown {
  if (!isObject(output) || "data" in output) return output;
  const meta = fieldOf(output, "meta") as ResponseEnvelope["meta"];
  return { data: undefined, meta } satisfies ResponseEnvelope;
}

let metaSchema: CompiledSchema | undefined;

/** Whether it is an envelope with a `meta` as `ResponseMetaSchema` declares it, optional fields included. What an MCP server put
 * into the blocks of its content, and into structured content, is its own affair. */
export function isDeclaredEnvelope(output: unknown): output is ResponseEnvelope {
  if (!isResponseEnvelope(output)) return false;
  const { meta } = output;
  // Most answers: there are no fields beyond those that were checked.
  if (meta.source === "local" && meta.notes === undefined && meta.spill === undefined) return true;
  metaSchema ??= compiled(ResponseMetaSchema);
  if (meta.source !== "mcp") return metaSchema.check(meta);
  const { structuredContent: _, content, ...rest } = meta;
  return isListOf(content, isBlock) && metaSchema.check({ ...rest, content: [] });
}

function isBlock(value: unknown): boolean {
  return isRecord(value) && isString(fieldOf(value, "type"));
}

function payloadOf(type: CallEventType, detail: unknown): Fields | undefined {
  if (!isObject(detail)) return undefined;
  const inner = fieldOf(detail, "payload");
  if (!isObject(inner) || fieldOf(detail, "requestId") !== undefined) return detail;
  const named = fieldOf(detail, "type");
  return named === undefined || named === type ? inner : undefined;
}

/** Whether none of these names is on `Object.prototype`, so that a field can be read as it is. Names that are
 * written out make this, and the reading, several times as quick as `fieldOf`. */
function isUntouched(): boolean {
  const all = Object.prototype;
  const isTouched =
    "payload" in all || "requestId" in all || "operationId" in all || "input" in all || "trace" in all;
  return !(
    isTouched ||
    "parentRequestId" in all ||
    "deadline" in all ||
    "idleTimeout" in all ||
    "identity" in all ||
    "metadata" in all
  );
}

/** The same as the reader below, for an untouched `Object.prototype`: each call that arrives comes here. */
function requestIn(payload: Fields): CallEvents["call.requested"] | undefined {
  const { requestId, operationId, input, parentRequestId, deadline, idleTimeout, identity, metadata, trace } =
    payload;
  if (typeof requestId !== "string" || typeof operationId !== "string") return undefined;
  const event: CallEvents["call.requested"] = { requestId, operationId, input };
  if (parentRequestId !== undefined) {
    if (!isString(parentRequestId)) return undefined;
    event.parentRequestId = parentRequestId;
  }
  if (deadline !== undefined) {
    if (!Number.isFinite(deadline)) return undefined;
    event.deadline = deadline as number;
  }
  if (idleTimeout !== undefined) {
    if (!Number.isFinite(idleTimeout)) return undefined;
    event.idleTimeout = idleTimeout as number;
  }
  if (identity !== undefined) {
    if (!isIdentity(identity)) return undefined;
    event.identity = identity;
  }
  if (metadata !== undefined) {
    if (!isRecord(metadata)) return undefined;
    event.metadata = metadata;
  }
  const carried = trace === undefined ? undefined : traceIn(trace);
  if (carried !== undefined) event.trace = carried;
  return event;
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
    // A call does not fail because of its observers.
    const trace = traceIn(fieldOf(payload, "trace"));
    if (trace !== undefined) event.trace = trace;
    return event;
  },
  "call.responded": (requestId, payload) => {
    const output = withData(fieldOf(payload, "output"));
    return isDeclaredEnvelope(output) ? { requestId, output } : undefined;
  },
  "call.completed": (requestId) => ({ requestId }),
  "call.aborted": (requestId) => ({ requestId }),
  "call.error": (requestId, payload) => {
    const code = fieldOf(payload, "code");
    const message = fieldOf(payload, "message");
    if (typeof code !== "string" || typeof message !== "string") return undefined;
    const event: CallEvents["call.error"] = { requestId, code, message };
    const details = fieldOf(payload, "details");
    if (details !== undefined) event.details = details;
    const flag = fieldOf(payload, "isInternal");
    if (flag !== undefined) event.isInternal = flag !== false;
    return event;
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
  if (!isRecord(value)) return false;
  const all = Object.prototype;
  const isTouched = "id" in all || "scopes" in all || "resources" in all || "claims" in all;
  const id = isTouched ? fieldOf(value, "id") : value.id;
  const scopes = isTouched ? fieldOf(value, "scopes") : value.scopes;
  if (!isString(id) || !isStrings(scopes)) return false;
  const resources = isTouched ? fieldOf(value, "resources") : value.resources;
  const claims = isTouched ? fieldOf(value, "claims") : value.claims;
  if (claims !== undefined && !isRecord(claims)) return false;
  return resources === undefined || (isRecord(resources) && Object.values(resources).every(isStrings));
}
