// Predicates about what a call rejected with. Each narrows `details`.

import type { ResponseEnvelope } from "./envelope.js";
import { CallError, InfrastructureErrorCode } from "./errors.js";
import { isObject } from "./interop/options.js";
import { compiled, type ValueError } from "./schema/compiled.js";
import { isTypeBoxSchema } from "./schema/guards.js";
import { validatorOf } from "./schema/standard.js";
import type { ValueAfter } from "./schema-types.js";
import type { ErrorDefinition } from "./types.js";

/**
 * Details that every error may have.
 *
 * @example
 * ```ts
 * if (isTimeout(error)) {
 *   const { delivery, reason }: CommonErrorDetails = error.details;
 *   console.warn(delivery, reason);
 * }
 * ```
 */
export interface CommonErrorDetails {
  /** Whether the call was carried out: `"none"` (no), `"unknown"` (perhaps) or `"done"` (yes). */
  delivery?: "none" | "unknown" | "done";
  /** A short word for what went wrong, to tell cases apart: `"timeout"`, `"closed"`, `"no-worker"`, ... */
  reason?: string;
  operationId?: string;
  /** If a limit refused the call: how many milliseconds to wait before another attempt. */
  retryAfter?: number;
  /** The host that was called, if the call went over HTTP. */
  host?: string;
}

/**
 * The `details` of an HTTP answer outside 2XX.
 *
 * @example
 * ```ts
 * if (isHTTPError(error)) {
 *   const { statusCode, body }: HTTPErrorDetails = error.details;
 *   console.warn(statusCode, body);
 * }
 * ```
 */
export interface HTTPErrorDetails extends CommonErrorDetails {
  statusCode: number;
  headers: Record<string, string>;
  contentType: string;
  body: unknown;
}

/**
 * The `details` of a validation error.
 *
 * @example
 * ```ts
 * if (isValidationError(error)) {
 *   const { errors }: ValidationErrorDetails = error.details;
 *   console.warn(formatValueErrors(errors));
 * }
 * ```
 */
export interface ValidationErrorDetails extends CommonErrorDetails {
  errors: ValueError[];
  /** If an output was refused (`output: "strict"`): the answer as it arrived. */
  envelope?: ResponseEnvelope;
}

/**
 * The `details` of a denied call: what was missing.
 *
 * @example
 * ```ts
 * if (isAccessError(error)) {
 *   const { missingScopes = [] }: AccessErrorDetails = error.details;
 *   console.warn(`ask for ${missingScopes.join(", ")}`);
 * }
 * ```
 */
export interface AccessErrorDetails extends CommonErrorDetails {
  operationId: string;
  identityRequired?: boolean;
  missingScopes?: string[];
  requiredScopesAny?: string[];
  resource?: { resourceType: string; resourceAction: string };
  /** The paths of `when` that were looked at. */
  condition?: string[];
  customAuth?: string;
}

/**
 * The `details` of a timeout.
 *
 * @example
 * ```ts
 * if (isTimeout(error)) {
 *   const { deadline }: TimeoutDetails = error.details;
 *   if (deadline !== undefined) console.warn(`not done by ${new Date(deadline).toISOString()}`);
 * }
 * ```
 */
export interface TimeoutDetails extends CommonErrorDetails {
  /** The deadline of the call, in milliseconds since 1970. */
  deadline?: number;
  /** How long a stream may be silent, in milliseconds. */
  idleTimeout?: number;
  /** The limit of the source, in milliseconds. */
  timeout?: number;
}

/**
 * The `details` of a call that needs an approval.
 *
 * @example
 * ```ts
 * if (isApprovalRequired(error)) {
 *   const { approval }: ApprovalRequiredDetails = error.details;
 *   console.log(`approve ${approval.id} until ${new Date(approval.expires)}`);
 * }
 * ```
 */
export interface ApprovalRequiredDetails extends CommonErrorDetails {
  approval: {
    id: string;
    operationId: string;
    /** In milliseconds since 1970. */
    expires: number;
    /** Where someone can decide. */
    url?: string;
  };
}

/**
 * Whether a server answered with a status outside 2XX.
 *
 * @example
 * ```ts
 * try {
 *   await registry.execute("pets.getPet", { petId: 7 });
 * } catch (error) {
 *   if (isHTTPError(error) && error.details.statusCode === 404) console.log("no such pet");
 *   else throw error;
 * }
 * ```
 */
export function isHTTPError(error: unknown): error is CallError & { readonly details: HTTPErrorDetails } {
  return (
    isCode(error, InfrastructureErrorCode.EXECUTION_ERROR) && typeof field(error, "statusCode") === "number"
  );
}

/**
 * Whether a value did not match its schema. `details.errors` says where.
 *
 * @example
 * ```ts
 * if (isValidationError(error)) for (const { path, message } of error.details.errors) console.log(path, message);
 * ```
 */
export function isValidationError(
  error: unknown,
): error is CallError & { readonly details: ValidationErrorDetails } {
  return isCode(error, InfrastructureErrorCode.VALIDATION_ERROR) && Array.isArray(field(error, "errors"));
}

/**
 * Whether access was denied.
 *
 * @example
 * ```ts
 * if (isAccessError(error)) console.log("missing:", error.details.missingScopes);
 * ```
 */
export function isAccessError(error: unknown): error is CallError & { readonly details: AccessErrorDetails } {
  return isCode(error, InfrastructureErrorCode.ACCESS_DENIED) && isObject(error.details);
}

/**
 * Whether the call timed out.
 *
 * @example
 * ```ts
 * if (isTimeout(error)) console.log("the deadline was", error.details.deadline);
 * ```
 */
export function isTimeout(error: unknown): error is CallError & { readonly details: TimeoutDetails } {
  return isCode(error, InfrastructureErrorCode.TIMEOUT) && isObject(error.details);
}

/**
 * Whether a call needs an approval. Nothing has run.
 *
 * @example
 * ```ts
 * if (isApprovalRequired(error)) console.log("waits for a decision:", error.details.approval.id);
 * ```
 */
export function isApprovalRequired(
  error: unknown,
): error is CallError & { readonly details: ApprovalRequiredDetails } {
  return isCode(error, "APPROVAL_REQUIRED") && isObject(field(error, "approval"));
}

/**
 * Whether a call failed with an error that its operation declares. It narrows `details` to the type of the error's schema, and is
 * false if the details break that schema.
 *
 * @example
 * ```ts
 * const order = defineOperation({
 *   ...greet,
 *   errorSchemas: [{ code: "OUT_OF_STOCK", schema: Type.Object({ left: Type.Integer() }) }],
 * });
 * if (isDeclaredError(error, order, "OUT_OF_STOCK")) console.log(error.details.left);
 * ```
 */
export function isDeclaredError<
  TErrors extends readonly ErrorDefinition[],
  const TCode extends TErrors[number]["code"],
>(
  error: unknown,
  operation: { readonly "~errors"?: TErrors; readonly errorSchemas?: readonly ErrorDefinition[] | undefined },
  code: TCode,
): error is CallError & {
  readonly code: TCode;
  readonly details: DetailsOf<Extract<TErrors[number], { readonly code: TCode }>>;
} {
  if (!(error instanceof CallError) || error.code !== code) return false;
  const declared = operation.errorSchemas?.find((definition) => definition.code === code);
  if (declared === undefined) return false;
  const { schema } = declared;
  if (schema === undefined || schema === null || schema === true) return true;
  const validate = validatorOf(schema);
  if (validate === undefined || isTypeBoxSchema(schema)) return compiled(schema).check(error.details);
  const result = Object(validate(error.details)) as { issues?: unknown };
  // A schema that checks only by waiting says nothing now.
  return !(result instanceof Promise) && result.issues === undefined;
}

/** The type of an error's details. */
type DetailsOf<TError> = TError extends { readonly schema: infer TSchema } ? ValueAfter<TSchema> : unknown;

/** Codes that another attempt would meet with as well. */
const FINAL: readonly string[] = [
  InfrastructureErrorCode.ACCESS_DENIED,
  InfrastructureErrorCode.VALIDATION_ERROR,
  InfrastructureErrorCode.ABORTED,
];

/** Reasons that last: what is closed stays closed, and a program that does not exist will not start. */
const LASTING: readonly unknown[] = ["closed", "not-started"];

/**
 * Whether you can safely make the same call again: it was not carried out (`details.delivery` is `"none"`), and another
 * attempt could succeed.
 *
 * @example
 * ```ts
 * const work = () => registry.execute("pets.getPet", { petId: 7 });
 * await work().catch((error) => (isRetryable(error) ? work() : Promise.reject(error)));
 * ```
 */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof CallError) || field(error, "delivery") !== "none") return false;
  if (error.code === InfrastructureErrorCode.OPERATION_NOT_FOUND)
    return field(error, "reason") === "no-worker";
  return !FINAL.includes(error.code) && !LASTING.includes(field(error, "reason"));
}

function isCode(error: unknown, code: string): error is CallError {
  return error instanceof CallError && error.code === code;
}

function field({ details }: CallError, name: string): unknown {
  return isObject(details) ? details[name] : undefined;
}
