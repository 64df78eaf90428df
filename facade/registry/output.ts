// From what a handler produced to what the caller gets: detect, wrap, normalise, check.

import { isResponseEnvelope, localEnvelope, type ResponseEnvelope } from "../envelope.js";
import { CallError, failed } from "../errors.js";
import type { CompiledSchema, NormaliseNote } from "../schema/compiled.js";
import { validationError } from "../schema/validation.js";
import type { OperationSpec } from "../types.js";
import { type Entry, type OutputMode, outputMode, type RegistryMode } from "./entry.js";
import { traitsOf } from "./handler-traits.js";
import { isAsSent, isNoted } from "./response-marks.js";
import { LEFT, MISMATCH, warnAboutOutput } from "./warnings.js";

/** Makes the envelope of a result. It throws in `strict` mode alone: elsewhere what cannot be made right is kept, noted
 * and reported. */
export function envelopeOf(entry: Entry, result: unknown, registryMode: RegistryMode): ResponseEnvelope {
  const envelope = wrapped(entry, result, registryMode);
  const { output } = entry;
  if (output === undefined) return envelope;
  try {
    // The usual case, decided by code written for this very schema.
    if (output.isExact(envelope.data)) return envelope;
    return hasDeclaredData(envelope) ? shaped(entry, output, envelope, registryMode) : envelope;
  } catch (error) {
    return failedCheck(entry, envelope, error, registryMode);
  }
}

/** The answer of a peer to a call of an operation whose spec is known here. It is checked against the spec, and not
 * changed: what is wrong with it is noted, or, in `strict` mode, refused. */
export function answerOf(
  entry: Entry,
  envelope: ResponseEnvelope,
  registryMode: RegistryMode,
): ResponseEnvelope {
  const isStrict = modeOf(entry, registryMode) === "strict";
  // One that has notes says itself that something is wrong with it.
  if (!isEnvelope(envelope) || !hasDeclaredData(envelope) || (!isStrict && envelope.meta.notes !== undefined))
    return envelope;
  try {
    if (!entry.prepared) entry.prepare();
    const { output } = entry;
    if (output === undefined || output.check(envelope.data)) return envelope;
    const errors = output.errors(envelope.data);
    if (isStrict) throw refusal(entry, envelope, errors);
    warnAboutOutput(entry.id, errors, "was left as it is");
    return noted(envelope, errors);
  } catch (error) {
    return failedCheck(entry, envelope, error, registryMode);
  }
}

/** The value's own code threw, or it is too deep or too large to be read; or it was refused. */
export function failedCheck(
  entry: Entry,
  envelope: ResponseEnvelope,
  error: unknown,
  registryMode: RegistryMode,
): ResponseEnvelope {
  if (error instanceof Refusal) throw error.error;
  const message = error instanceof CallError ? error.message : "reading it threw an error";
  const notes = [{ path: "", message }];
  if (modeOf(entry, registryMode) === "strict") throw refusal(entry, envelope, notes).error;
  warnAboutOutput(entry.id, notes, LEFT);
  return noted(envelope, notes);
}

/** Carries the error of `strict` mode out of a check, past what catches errors of the value's own code. */
class Refusal {
  constructor(readonly error: CallError) {}
}

/** The error of `strict` mode, where nothing may be made up. Worded as in `crates/operations-core/src/registry/output.rs`. */
export function refusal(entry: Entry, envelope: ResponseEnvelope, errors: readonly NormaliseNote[]): Refusal {
  return new Refusal(validationError(errors, `output of operation ${entry.id}`, { envelope }));
}

/** The result in an envelope, if it is not in one. In `strict` mode a response of an undeclared type is refused. */
export function wrapped(entry: Entry, result: unknown, registryMode: RegistryMode): ResponseEnvelope {
  if (!isEnvelope(result)) return localEnvelope(result, entry.id);
  if (isNoted(result.meta)) warnAboutOutput(entry.id, result.meta.notes ?? [], "comes with notes");
  const { meta } = result;
  // The beginning of a body that went to a file is not the declared shape, and is not meant to be.
  const isUndeclared = meta.source === "http" && isAsSent(meta) && meta.spill === undefined;
  if (isUndeclared && modeOf(entry, registryMode) === "strict") throw undeclared(entry, result);
  return result;
}

/** Worded as in `crates/operations-core/src/registry/output.rs`. */
function undeclared(entry: Entry, envelope: ResponseEnvelope): CallError {
  const errors = envelope.meta.notes;
  return failed(`Operation ${entry.id} answered differently than declared: ${errors?.[0]?.message}`, {
    operationId: entry.id,
    errors,
    envelope,
    reason: "undeclared-type",
    delivery: "done",
  });
}

/** A value that throws when it is read is not an envelope. */
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
  if (isAsSent(meta)) return false;
  if (meta.source === "mcp") return !meta.isError;
  return meta.source !== "http" || data !== undefined;
}

function shaped(
  entry: Entry,
  output: CompiledSchema,
  envelope: ResponseEnvelope,
  registryMode: RegistryMode,
): ResponseEnvelope {
  const mode = modeOf(entry, registryMode);
  const { data } = envelope;
  if (mode === "off") {
    if (output.check(data)) return envelope;
    const errors = output.errors(data);
    warnAboutOutput(entry.id, errors, LEFT);
    return noted(envelope, errors);
  }
  const { value, notes } = output.shape(data, mode);
  if (mode === "strict" && notes.length > 0) throw refusal(entry, envelope, notes);
  if (notes.length > 0) warnAboutOutput(entry.id, notes, MISMATCH);
  return noted(value === data ? envelope : withData(envelope, value), notes);
}

/** What happens to the outputs of an operation. */
export function modeOf(entry: Entry, registryMode: RegistryMode): Mode {
  const mode = ownMode(entry.spec) ?? registryMode;
  if (mode !== "strict-own") return mode;
  return entry.handler === undefined || traitsOf(entry.handler).isImported === true ? "normalise" : "strict";
}

type Mode = Exclude<OutputMode, "normalize">;

/** What an operation says about its own outputs. */
export function ownMode(spec: OperationSpec): Mode | undefined {
  const own = outputMode(spec._meta?.output);
  return own === "normalise" || own === "keep" || own === "off" || own === "strict" ? own : undefined;
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

/** The same envelope with these notes behind those that it has. The handler's own `meta` is not changed. */
export function noted(envelope: ResponseEnvelope, notes: readonly NormaliseNote[]): ResponseEnvelope {
  if (notes.length === 0) return envelope;
  const before = Array.isArray(envelope.meta.notes) ? envelope.meta.notes : [];
  const { notes: _, ...rest } = envelope.meta;
  const meta = { ...rest, notes: [...before, ...notes] } as ResponseEnvelope["meta"];
  try {
    if (Reflect.set(envelope, "meta", meta) && envelope.meta === meta) return envelope;
  } catch {
    // A setter that refuses.
  }
  return { ...envelope, data: envelope.data, meta };
}
