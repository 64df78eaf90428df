// What middleware and listeners of a registry get.

import type { ResponseEnvelope, ResponseSource } from "../envelope.js";
import type { OperationContext, OperationSpec } from "../types.js";
import type { Via } from "./call.js";

/**
 * A call or a subscription that passes through a middleware.
 *
 * @example
 * ```ts
 * const line = (call: MiddlewareCall) => `${call.operationId} by ${call.context.identity?.id ?? "anonymous"}`;
 * registry.use((call, next) => {
 *   console.log(line(call));
 *   return next();
 * });
 * ```
 */
export interface MiddlewareCall {
  /** `namespace.name`. */
  readonly operationId: string;
  /** The operation, as it is registered. */
  readonly operation: OperationSpec;
  /** `"call"` for a QUERY or a MUTATION, `"subscription"` for a SUBSCRIPTION. */
  readonly kind: CallKind;
  /** Whether the call came from outside: through the call protocol or a server. */
  readonly isServed: boolean;
  readonly input: unknown;
  readonly context: OperationContext;
  /** How the call came, for spans. @internal */
  readonly via?: Via;
}

/**
 * Whether a call has one answer or many.
 *
 * @example
 * ```ts
 * const kind: CallKind = "subscription";
 * ```
 */
export type CallKind = "call" | "subscription";

/**
 * The result of a call: an envelope, or a stream of envelopes if `kind` is `"subscription"`.
 *
 * @example
 * ```ts
 * const isStream = (answer: MiddlewareAnswer) => Symbol.asyncIterator in answer;
 * ```
 */
export type MiddlewareAnswer = ResponseEnvelope | AsyncIterable<ResponseEnvelope>;

/**
 * Runs the rest of the call: the next middleware, then access control, the check of the input and the handler. It
 * rejects if one of these fails. For a subscription it resolves when the handler has been called. An input or a context
 * that you pass replaces that of the call.
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
 * A function around every call and every subscription of a registry.
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
  /** The code of the error (`"TIMEOUT"`, ...), or `"TOOL_ERROR"` if an MCP tool reported a failure. */
  readonly code?: string;
  /** The error that the caller got, if the call failed. */
  readonly error?: unknown;
  /** Where the answer came from. Absent if there was no answer. */
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
  /** Whether the call came from outside the process. */
  readonly isServed: boolean;
  /** Whether the call ran without JavaScript. */
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
  /**
   * What decided. For a grant: `"open"` if nothing is required, `"trusted"`, `"trustDirectCalls"`, or the rules that
   * were satisfied, such as `"requiredScopes, customAuth:isOwner"`. For a denial, the rule that was not satisfied:
   * `"identity"`, `"requiredScopes"`, `"requiredScopesAny"`, `"resource"`, `"when"`, `"customAuth:<name>"` or `"malformed"`.
   * `"approval"`: a person, `context.approve` or `RegistryOptions.approvals.decide` decided. An approved call has two
   * reports, one for its access rules and one for its approval.
   */
  readonly rule: string;
  /** For a denial: what was missing. */
  readonly reason?: string;
  /** The approval that was decided or used. */
  readonly approvalId?: string;
  /** The `id` of the person who decided. */
  readonly decidedBy?: string;
  readonly identityId?: string;
  readonly requestId?: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly isServed: boolean;
  readonly isNative: boolean;
}

/**
 * The events of `registry.on`, by name.
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
  /** The access rules of an operation denied a caller. */
  denied: AccessReport;
  /** An operation was registered, or registered again. */
  registered: { readonly operationId: string; readonly operation: OperationSpec; readonly isNew: boolean };
  /** An operation was removed. */
  unregistered: { readonly operationId: string };
}
