// What a script learns from the end of a command. `docs/guides/command-line.md` has the same table.

import { CallError, InfrastructureErrorCode } from "../errors.js";

export const EXIT = {
  OK: 0,
  /** The operation, a source or the command itself failed. */
  FAILED: 1,
  /** A command, an option or the configuration cannot be understood. Nothing was done. */
  USAGE: 2,
  /** There is no such operation. */
  NOT_FOUND: 3,
  /** The access rules refuse the caller. */
  DENIED: 4,
  /** The input does not fit the schema. */
  INVALID: 5,
  /** There was no answer in time. */
  TIMED_OUT: 6,
  /** Ctrl+C (SIGINT). */
  INTERRUPTED: 130,
  /** SIGTERM or SIGHUP. */
  TERMINATED: 143,
} as const;

/** A failure of a command, with the exit code that belongs to it. */
export class CommandError extends CallError {
  readonly exitCode: number;

  constructor(exitCode: number, code: string, message: string, details?: unknown) {
    super(code, message, details);
    this.exitCode = exitCode;
  }
}

/** The command line is wrong. */
export function usageError(message: string): CommandError {
  return new CommandError(EXIT.USAGE, "USAGE_ERROR", message);
}

/** The configuration is wrong. */
export function configError(message: string, details?: unknown): CommandError {
  return new CommandError(EXIT.USAGE, "CONFIG_ERROR", message, details);
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode;
  if (!(error instanceof CallError)) return EXIT.FAILED;
  switch (error.code) {
    case InfrastructureErrorCode.OPERATION_NOT_FOUND:
      return EXIT.NOT_FOUND;
    case InfrastructureErrorCode.ACCESS_DENIED:
      return EXIT.DENIED;
    case InfrastructureErrorCode.VALIDATION_ERROR:
      return EXIT.INVALID;
    case InfrastructureErrorCode.TIMEOUT:
      return EXIT.TIMED_OUT;
    default:
      return EXIT.FAILED;
  }
}
