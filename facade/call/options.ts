// What a caller says about a request, and what of it travels.

import {
  aDuration,
  anObject,
  aSignal,
  aString,
  aTime,
  checkedOptions,
  isRecord,
  refusal,
} from "../interop/options.js";
import { quoted } from "../interop/text.js";
import { outgoingTrace } from "../interop/trace.js";
import { refuseMisspelt } from "../registry/metadata.js";
import type { CallerIdentity, CallMetadata, Identity } from "../types.js";
import type { CallRequestedEvent } from "./event-types.js";

interface CommonOptions {
  /** The call that makes this one: aborting it aborts this one too. */
  parentRequestId?: string | undefined;
  identity?: CallerIdentity | undefined;
  metadata?: CallMetadata | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Options of a call: identity, deadline, signal and metadata.
 *
 * @example
 * ```ts
 * const options: CallOptions = { identity, deadline: Date.now() + 5_000, metadata: { trace: "t-1" } };
 * ```
 */
export interface CallOptions extends CommonOptions {
  /** Milliseconds since 1970. */
  deadline?: number | undefined;
  /** A deadline from now, in milliseconds. Of both, the earlier counts. */
  timeout?: number | undefined;
}

/**
 * Options of a subscription: identity, idle timeout, signal and metadata.
 *
 * @example
 * ```ts
 * const options: SubscribeOptions = { identity, idleTimeout: 30_000 };
 * ```
 */
export interface SubscribeOptions extends CommonOptions {
  /** The longest silence in milliseconds between arriving events. */
  idleTimeout?: number | undefined;
}

const COMMON = { parentRequestId: aString, identity: anObject, metadata: anObject, signal: aSignal };
const CALL = { ...COMMON, deadline: aTime, timeout: aDuration };
const SUBSCRIBE = { ...COMMON, idleTimeout: aDuration };
/** Callers hand on what they have, a context for instance. What is not misspelt is theirs. */
const ignored = { others: () => {} };
const NO_OPTIONS = Object.freeze(
  checkedOptions<CallOptions & SubscribeOptions>({}, { ...CALL, ...SUBSCRIBE }),
);

export function checkedCall(operationId: string, options: CallOptions | undefined): CallOptions {
  checkOperationId(operationId);
  if (options === undefined) return NO_OPTIONS;
  const checked = plainOptions(options) ?? checkedOptions<CallOptions>(options, CALL, ignored);
  if (checked.metadata !== undefined) refuseMisspelt(operationId, checked.metadata);
  const { timeout, deadline = Number.POSITIVE_INFINITY } = checked;
  return timeout === undefined ? checked : { ...checked, deadline: Math.min(deadline, Date.now() + timeout) };
}

/** What `checkedOptions` makes of the options of most calls, several times as quick, because the names are written out. Nothing
 * where they are invalid, or `Object.prototype` was changed. */
function plainOptions(given: unknown): CallOptions | undefined {
  const all = Object.prototype;
  if ("parentRequestId" in all || "identity" in all || "metadata" in all || "signal" in all) return undefined;
  if ("deadline" in all || !isRecord(given)) return undefined;
  const options: CallOptions = given;
  for (const name in options) {
    switch (name) {
      case "parentRequestId":
      case "identity":
      case "metadata":
      case "signal":
      case "deadline":
        continue;
      default:
        return undefined;
    }
  }
  const { parentRequestId, identity, metadata, signal, deadline } = options;
  if (parentRequestId !== undefined) aString(parentRequestId, "parentRequestId");
  if (identity !== undefined) anObject(identity, "identity");
  if (metadata !== undefined) anObject(metadata, "metadata");
  if (signal !== undefined) aSignal(signal, "signal");
  if (deadline !== undefined) aTime(deadline, "deadline");
  return { parentRequestId, identity, metadata, signal, deadline };
}

export function checkedSubscribe(
  operationId: string,
  options: SubscribeOptions | undefined,
): SubscribeOptions {
  checkOperationId(operationId);
  if (options === undefined) return NO_OPTIONS;
  const checked = checkedOptions<SubscribeOptions>(options, SUBSCRIBE, ignored);
  if (checked.metadata !== undefined) refuseMisspelt(operationId, checked.metadata);
  return checked;
}

function checkOperationId(operationId: unknown): void {
  if (typeof operationId !== "string") {
    throw refusal("operationId", `must be a string such as "namespace.name", not ${quoted(operationId)}`);
  }
}

/** The declared fields of an identity: whatever else the program knows of a caller, a token say, is not for peers. */
export function declaredIdentity(identity: object): Identity {
  const declared = ["id", "scopes", "resources", "claims"].filter((field) => Object.hasOwn(identity, field));
  return Object.fromEntries(declared.map((field) => [field, Reflect.get(identity, field)])) as never;
}

/** The payload of a request. Trust is never sent. */
export function requestPayload(
  requestId: string,
  operationId: string,
  input: unknown,
  { parentRequestId, identity, metadata }: CommonOptions,
  { deadline, idleTimeout }: { deadline?: number | undefined; idleTimeout?: number | undefined },
): CallRequestedEvent {
  const event: CallRequestedEvent = { requestId, operationId, input };
  if (parentRequestId !== undefined) event.parentRequestId = parentRequestId;
  if (deadline !== undefined) event.deadline = deadline;
  if (idleTimeout !== undefined) event.idleTimeout = idleTimeout;
  if (identity !== undefined) event.identity = identity as Identity;
  if (metadata !== undefined) event.metadata = metadata;
  const trace = outgoingTrace();
  if (trace !== undefined) event.trace = trace;
  return event;
}
