// Exceptions in the details of an error: their messages and stacks were not written for callers, no more than those of an
// exception that is thrown itself.

import { CallError, isError, isInternal } from "../errors.js";
import { isRecord } from "../interop/options.js";

/** What stands before a quote of standard error in a message. `crates/operations-core/src/error.rs` has the same text. */
const STDERR_QUOTE = ". Its last words on stderr:\n";

/** An error without what an MCP server wrote to its standard error, which was written for its operator. */
export function withoutStderr(message: string, details: unknown): { message: string; details: unknown } {
  if (!isRecord(details) || !Object.hasOwn(details, "stderr")) return { message, details };
  const { stderr: _, ...shown } = details;
  const [words = message] = message.split(STDERR_QUOTE);
  return { message: words, details: shown };
}

/** The details as callers from elsewhere get them, and the first exception that was masked. Nothing of details that cannot be read. */
export function maskedDetails(details: unknown): { details: unknown; exception?: Error } {
  const masked: Error[] = [];
  try {
    const shown = mask(details, masked, []);
    const [exception] = masked;
    return { details: shown, ...(exception && { exception }) };
  } catch {
    return { details: undefined };
  }
}

/** The same value, or a copy of it if an exception is in it. */
function mask(value: unknown, masked: Error[], around: object[]): unknown {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (isError(value)) {
    if (value instanceof CallError && !isInternal(value)) return value;
    masked.push(value);
    return { name: value.name, message: "The operation failed" };
  }
  // It cannot be sent, and is refused later.
  if (around.includes(value)) return value;
  const count = masked.length;
  around.push(value);
  const copy = maskInside(value, masked, around);
  around.pop();
  return masked.length === count ? value : copy;
}

function maskInside(value: object, masked: Error[], around: object[]): unknown {
  if ("toJSON" in value && typeof value.toJSON === "function") {
    return mask(value.toJSON(""), masked, around);
  }
  if (Array.isArray(value)) return value.map((item) => mask(item, masked, around));
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, mask(field, masked, around)]));
}
