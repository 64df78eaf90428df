import { isNativeError } from "./interop/host.js";
import { textOf } from "./interop/text.js";
import type { ErrorDefinition } from "./types.js";

/**
 * The codes that the package itself raises. Any other string is a legal code too: operations
 * declare their own in `errorSchemas`.
 *
 * @example
 * ```ts
 * if (error instanceof CallError && error.code === InfrastructureErrorCode.TIMEOUT) console.log("too slow");
 * ```
 */
export const InfrastructureErrorCode = {
  OPERATION_NOT_FOUND: "OPERATION_NOT_FOUND",
  ACCESS_DENIED: "ACCESS_DENIED",
  VALIDATION_ERROR: "VALIDATION_ERROR",
  TIMEOUT: "TIMEOUT",
  ABORTED: "ABORTED",
  EXECUTION_ERROR: "EXECUTION_ERROR",
  UNKNOWN_ERROR: "UNKNOWN_ERROR",
} as const;

export type InfrastructureErrorCode = (typeof InfrastructureErrorCode)[keyof typeof InfrastructureErrorCode];

// So that `InfrastructureErrorCode.TIMEOUT` can be used as a type, as with an enum.
export declare namespace InfrastructureErrorCode {
  type OPERATION_NOT_FOUND = "OPERATION_NOT_FOUND";
  type ACCESS_DENIED = "ACCESS_DENIED";
  type VALIDATION_ERROR = "VALIDATION_ERROR";
  type TIMEOUT = "TIMEOUT";
  type ABORTED = "ABORTED";
  type EXECUTION_ERROR = "EXECUTION_ERROR";
  type UNKNOWN_ERROR = "UNKNOWN_ERROR";
}

/**
 * A code of this package, or any other string. (Written so that editors still complete the known codes.)
 *
 * @example
 * ```ts
 * const code: CallErrorCode = "OUT_OF_STOCK"; // one of your own, or one of InfrastructureErrorCode
 * ```
 */
export type CallErrorCode = InfrastructureErrorCode | (string & {});

/** On every `CallError` of every copy of the package in this process. */
const CALL_ERROR = Symbol.for("@alkdev/operations.CallError");
/** On errors whose messages were not written for callers. */
const INTERNAL = Symbol.for("@alkdev/operations.internal");

/**
 * The error of a failed call: a `code` to branch on, a `message` to show, and `details`.
 *
 * @example
 * ```ts
 * throw new CallError("QUOTA_EXCEEDED", "No calls are left for today", { resetsAt: 1_763_251_200_000 });
 * ```
 */
export class CallError extends Error {
  readonly code: CallErrorCode;
  readonly details: unknown;

  constructor(code: CallErrorCode, message: string, details?: unknown) {
    super(message);
    this.code = code;
    this.details = details;
  }

  static {
    // On the prototype and not enumerable, as on the built-in error classes.
    Object.defineProperties(CallError.prototype, {
      name: { value: "CallError", configurable: true, writable: true },
      [CALL_ERROR]: { value: true },
    });
    const isInstance = Function.prototype[Symbol.hasInstance];
    // Errors of a second copy of the package are `CallError`s too.
    Object.defineProperty(CallError, Symbol.hasInstance, {
      value(this: unknown, value: unknown) {
        return (
          isInstance.call(this, value) ||
          (this === CallError && isNativeError(value) && CALL_ERROR in Object(value))
        );
      },
    });
  }
}

/** Something that the caller, the configuration or a document has to change. */
export function invalid(message: string, details?: unknown): CallError {
  return new CallError(InfrastructureErrorCode.VALIDATION_ERROR, message, details);
}

/** Something that went wrong on the way to the other side, or there. */
export function failed(message: string, details?: unknown): CallError {
  return new CallError(InfrastructureErrorCode.EXECUTION_ERROR, message, details);
}

/**
 * Converts a thrown value to a `CallError`.
 *
 * - A `CallError` is returned unchanged.
 * - An `Error` whose message is a declared code, or begins with a declared code and a colon, gets that code. Any other
 *   `Error` gets `EXECUTION_ERROR`. The message stays, and the original error is in `details`.
 * - Any other value gets `UNKNOWN_ERROR`.
 *
 * @example
 * ```ts
 * const { code, message } = mapError(new Error("NOT_FOUND: no task 7"), [{ code: "NOT_FOUND" }]); // code is "NOT_FOUND"
 * ```
 */
export function mapError(error: unknown, errorSchemas?: readonly ErrorDefinition[]): CallError {
  if (error instanceof CallError) return error;
  if (isError(error)) {
    const message = messageOf(error);
    const code = codeForMessage(message, errorSchemas);
    const mapped = new CallError(code, message, error);
    return code === InfrastructureErrorCode.EXECUTION_ERROR ? markInternal(mapped) : mapped;
  }
  const raw = textOf(error);
  return new CallError(InfrastructureErrorCode.UNKNOWN_ERROR, raw, { raw });
}

/** Marks an error whose message was not written for its caller, as that of an exception. Doors mask it. */
export function markInternal(error: CallError): CallError {
  return Object.defineProperty(error, INTERNAL, { value: true });
}

export function isInternal(error: CallError): boolean {
  return INTERNAL in error;
}

/** The flag in `call.error`; `undefined` if it follows from the code and details. As `CallError::internal_flag` in
 * `crates/operations-core/src/error.rs`. */
export function internalFlag(code: string, details: unknown, internal: boolean): boolean | undefined {
  return internal || looksInternal(code, details) ? internal : undefined;
}

/** How an error without the flag is read: peers that do not know the flag send an exception as this code, and never with
 * details. */
export function looksInternal(code: string, details: unknown): boolean {
  return code === InfrastructureErrorCode.EXECUTION_ERROR && details === undefined;
}

function codeForMessage(message: string, declared: readonly ErrorDefinition[] = []): CallErrorCode {
  for (const { code } of declared) {
    if (message === code || message.startsWith(`${code}:`)) return code;
  }
  return InfrastructureErrorCode.EXECUTION_ERROR;
}

/** Errors of another realm (a `vm` context, say) are errors too. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || isNativeError(value);
}

function messageOf(error: Error): string {
  try {
    return String(error.message);
  } catch {
    return "[an Error whose message cannot be read]";
  }
}
