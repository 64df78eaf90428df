// What those who watch a registry are told.

import type { ResponseEnvelope, ResponseSource } from "../envelope.js";
import type { OperationContext, OperationSpec } from "../types.js";

/**
 * A call or a subscription that passes through a middleware.
 *
 * @example
 * ```ts
 * const line = (call: MiddlewareCall) => `${call.operationId} by ${call.context.identity?.id ?? "nobody"}`;
 * registry.use((call, next) => {
 *   console.log(line(call));
 *   return next();
 * });
 * ```
 */
export interface MiddlewareCall {
  /** `namespace.name`. */
  readonly operationId: string;
  /** What is called, as it is registered. */
  readonly operation: OperationSpec;
  /** `"call"` for a QUERY or a MUTATION, `"subscription"` for a SUBSCRIPTION. */
  readonly kind: CallKind;
  /** Whether it came from outside: through the call protocol or a server. */
  readonly isServed: boolean;
  readonly input: unknown;
  readonly context: OperationContext;
}

/**
 * Whether something has one answer or many.
 *
 * @example
 * ```ts
 * const kind: CallKind = "subscription";
 * ```
 */
export type CallKind = "call" | "subscription";

/**
 * What a call gives: an envelope, or a stream of envelopes where `kind` is `"subscription"`.
 *
 * @example
 * ```ts
 * const isStream = (answer: MiddlewareAnswer) => Symbol.asyncIterator in answer;
 * ```
 */
export type MiddlewareAnswer = ResponseEnvelope | AsyncIterable<ResponseEnvelope>;

/**
 * Does the rest: the next middleware, and at the end access control, the check of the input and the handler. It rejects
 * where these do. For a subscription it resolves when the handler has been called; its events come after that. What is
 * handed to it replaces what the call had.
 *
 * @example
 * ```ts
 * const forTenant = (call: MiddlewareCall, next: MiddlewareNext) =>
 *   next({ context: { ...call.context, metadata: { tenant: "acme" } } });
 * registry.use(forTenant);
 * ```
 */
export type MiddlewareNext = (changes?: {
  input?: unknown;
  context?: OperationContext;
}) => Promise<MiddlewareAnswer>;

/**
 * Something around every call and every subscription of a registry.
 *
 * @example
 * ```ts
 * const timed: Middleware = async (call, next) => {
 *   const began = performance.now();
 *   try {
 *     return await next();
 *   } finally {
 *     console.log(`${call.operationId} took ${performance.now() - began} ms`);
 *   }
 * };
 * registry.use(timed);
 * ```
 */
export type Middleware = (
  call: MiddlewareCall,
  next: MiddlewareNext,
) => MiddlewareAnswer | Promise<MiddlewareAnswer>;

/**
 * A call or a subscription that has ended. Inputs and outputs are not in it.
 *
 * @example
 * ```ts
 * registry.on("call", (call: CallReport) => {
 *   if (call.outcome === "error") console.warn(`${call.operationId}: ${call.code} after ${call.duration} ms`);
 * });
 * ```
 */
export interface CallReport {
  readonly operationId: string;
  readonly kind: CallKind;
  readonly outcome: "ok" | "error";
  /** Of an error: its code (`"TIMEOUT"`, ...); `"TOOL_ERROR"` where an MCP tool says so itself. */
  readonly code?: string;
  /** What the caller was told, if it failed. */
  readonly error?: unknown;
  /** Where the answer came from. Absent where there was none. */
  readonly source?: ResponseSource;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** In milliseconds, with fractions. For a subscription, from its first `next()` to its end. */
  readonly duration: number;
  /** For a subscription: how many events there were. */
  readonly events?: number;
  readonly requestId?: string;
  readonly parentRequestId?: string;
  /** The `id` of the identity that called. */
  readonly identityId?: string;
  /** Whether it came from outside. */
  readonly isServed: boolean;
  /** Whether it was done without JavaScript. */
  readonly isNative: boolean;
}

/**
 * A decision about access.
 *
 * @example
 * ```ts
 * registry.audit((report: AccessReport) => {
 *   console.log(report.isGranted ? "granted" : "denied", report.operationId, report.identityId, report.rule);
 * });
 * ```
 */
export interface AccessReport {
  readonly operationId: string;
  readonly isGranted: boolean;
  /** What decided. Of a grant: `"open"` where nothing is required, `"trusted"`, `"trustDirectCalls"`, or the rules that
   * were met, as `"requiredScopes, customAuth:isOwner"`. Of a denial the one that was not met: `"identity"`,
   * `"requiredScopes"`, `"requiredScopesAny"`, `"resource"`, `"customAuth:<name>"` or `"malformed"`. */
  readonly rule: string;
  /** Of a denial: what was missing. */
  readonly reason?: string;
  readonly identityId?: string;
  readonly requestId?: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly isServed: boolean;
  readonly isNative: boolean;
}

/**
 * What `registry.on` can tell, by the name of the event.
 *
 * @example
 * ```ts
 * const log = ({ operationId }: RegistryEvents["registered"]) => console.log(`${operationId} is there`);
 * registry.on("registered", log);
 * ```
 */
export interface RegistryEvents {
  /** A call or a subscription has ended. */
  call: CallReport;
  /** A caller was refused by the rules of an operation. */
  denied: AccessReport;
  /** An operation was registered, or registered again. */
  registered: { readonly operationId: string; readonly operation: OperationSpec; readonly isNew: boolean };
  /** An operation is gone. */
  unregistered: { readonly operationId: string };
}
