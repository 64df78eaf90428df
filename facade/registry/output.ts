// From what a handler produced to what the caller gets: detect, wrap, normalise, check.

import { isResponseEnvelope, localEnvelope, type ResponseEnvelope } from "../envelope.js";
import { CallError } from "../errors.js";
import type { CompiledSchema, NormaliseNote } from "../schema/compiled.js";
import type { OperationSpec } from "../types.js";
import { isAsSent } from "./as-sent.js";
import type { Entry, OutputMode } from "./entry.js";
import { warnAboutOutput } from "./warnings.js";

/** Makes the envelope of a result. Never throws: what cannot be made right is kept and reported. */
export function envelopeOf(entry: Entry, result: unknown, registryMode: OutputMode): ResponseEnvelope {
  const envelope = wrapped(entry, result);
  const { output } = entry;
  if (output === undefined) return envelope;
  try {
    // The usual case, decided by code written for this very schema.
    if (output.isExact(envelope.data)) return envelope;
    return hasDeclaredData(envelope) ? shaped(entry, output, envelope, registryMode) : envelope;
  } catch (error) {
    return failedCheck(entry, envelope, error);
  }
}

/** The value's own code threw, or it is too deep or too large to be looked at. */
export function failedCheck(entry: Entry, envelope: ResponseEnvelope, error: unknown): ResponseEnvelope {
  const message = error instanceof CallError ? error.message : "reading it threw an error";
  warn(entry, [{ path: "", message }], "was left as it is");
  return envelope;
}

/** The result in an envelope, if it is not in one. */
export function wrapped(entry: Entry, result: unknown): ResponseEnvelope {
  return isEnvelope(result) ? result : localEnvelope(result, entry.id);
}

/** What throws when it is looked at is no envelope. */
function isEnvelope(result: unknown): result is ResponseEnvelope {
  try {
    return isResponseEnvelope(result);
  } catch {
    return false;
  }
}

/** An MCP error holds content blocks, an empty HTTP body nothing at all, and one of an undeclared type whatever the server
 * likes: not the declared shape. */
export function hasDeclaredData({ data, meta }: ResponseEnvelope): boolean {
  if (meta.source === "mcp") return !meta.isError;
  return meta.source !== "http" || (data !== undefined && !isAsSent(meta));
}

function shaped(
  entry: Entry,
  output: CompiledSchema,
  envelope: ResponseEnvelope,
  registryMode: OutputMode,
): ResponseEnvelope {
  const mode = ownMode(entry.spec) ?? registryMode;
  const { data } = envelope;
  if (mode === "off") {
    if (!output.check(data)) warn(entry, output.errors(data), "was left as it is");
    return envelope;
  }
  const { value, notes } = output.normalise(data, mode === "keep");
  if (notes.length > 0) warn(entry, notes);
  return value === data ? envelope : withData(envelope, value);
}

/** What an operation says about its own outputs. */
export function ownMode(spec: OperationSpec): OutputMode | undefined {
  const own = spec._meta?.output;
  return own === "normalise" || own === "keep" || own === "off" ? own : undefined;
}

/** The same envelope with other data; a copy where it cannot be changed. */
export function withData(envelope: ResponseEnvelope, data: unknown): ResponseEnvelope {
  try {
    if (Reflect.set(envelope, "data", data) && envelope.data === data) return envelope;
  } catch {
    // A setter that refuses.
  }
  // An envelope may be a class instance, whose `meta` no spread sees.
  return { ...envelope, data, meta: envelope.meta };
}

export function warn(entry: Entry, notes: NormaliseNote[], what?: string): void {
  warnAboutOutput(entry.id, notes, what);
}
