// Questions about what a call rejected with. Each narrows `details`.

import { CallError, InfrastructureErrorCode } from "./errors.js";
import type { ValueError } from "./schema/compiled.js";

/** What an HTTP answer outside 2XX leaves in `details`. */
export interface HTTPErrorDetails {
  statusCode: number;
  headers: Record<string, string>;
  contentType: string;
  body: unknown;
}

/** What a refused value leaves in `details`. */
export interface ValidationErrorDetails {
  errors: ValueError[];
}

/** What a refused caller may learn: what was missing. */
export interface AccessErrorDetails {
  operationId: string;
  identityRequired?: boolean;
  missingScopes?: string[];
  requiredScopesAny?: string[];
  resource?: { resourceType: string; resourceAction: string };
  customAuth?: string;
}

/** When time ran out. */
export interface TimeoutDetails {
  deadline?: number;
  idleTimeout?: number;
}

/** Whether a server answered with a status outside 2XX. */
export function isHTTPError(error: unknown): error is CallError & { readonly details: HTTPErrorDetails } {
  return (
    isCode(error, InfrastructureErrorCode.EXECUTION_ERROR) && typeof field(error, "statusCode") === "number"
  );
}

/** Whether a value did not fit its schema, and says where. */
export function isValidationError(
  error: unknown,
): error is CallError & { readonly details: ValidationErrorDetails } {
  return isCode(error, InfrastructureErrorCode.VALIDATION_ERROR) && Array.isArray(field(error, "errors"));
}

/** Whether the caller may not. */
export function isAccessError(error: unknown): error is CallError & { readonly details: AccessErrorDetails } {
  return isCode(error, InfrastructureErrorCode.ACCESS_DENIED) && isObject(error.details);
}

/** Whether time ran out. */
export function isTimeout(error: unknown): error is CallError & { readonly details: TimeoutDetails } {
  return isCode(error, InfrastructureErrorCode.TIMEOUT) && isObject(error.details);
}

/** Codes that another attempt would get too. */
const FINAL: readonly string[] = [
  InfrastructureErrorCode.ACCESS_DENIED,
  InfrastructureErrorCode.VALIDATION_ERROR,
  InfrastructureErrorCode.ABORTED,
];

/**
 * Whether the same call may be made again: it was certainly not carried out (`details.delivery` is `"none"`), and another
 * attempt could go better.
 */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof CallError) || field(error, "delivery") !== "none") return false;
  if (error.code === InfrastructureErrorCode.OPERATION_NOT_FOUND)
    return field(error, "reason") === "no-worker";
  return !FINAL.includes(error.code);
}

function isCode(error: unknown, code: InfrastructureErrorCode): error is CallError {
  return error instanceof CallError && error.code === code;
}

function field({ details }: CallError, name: string): unknown {
  return isObject(details) ? details[name] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
