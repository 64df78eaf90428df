// Input and output of operations whose schemas follow Standard Schema (Zod, Valibot, ArkType, ...): the handler gets what the
// library made of the input, and the caller what it made of the output. A library may validate asynchronously; where it does
// not, nothing here waits either.

import type { ResponseEnvelope } from "../envelope.js";
import { errorsOf, type Validate, type Validated } from "../schema/standard.js";
import { validationError } from "../schema/validation.js";
import type { Entry, OutputMode, RegistryMode } from "./entry.js";
import { failedCheck, hasDeclaredData, modeOf, noted, refusal, withData, wrapped } from "./output.js";
import { LEFT, MISMATCH, warnAboutOutput } from "./warnings.js";

type Soon<T> = T | Promise<T>;

/** What the library makes of an input, for the handler; throws or rejects if it refuses the input. */
export function standardInput(entry: Entry, validate: Validate, input: unknown): Soon<{ value: unknown }> {
  if (!entry.prepared) entry.prepare();
  return after(validate(input), (checked) => {
    if (checked.issues === undefined) return checked;
    throw validationError(errorsOf(checked.issues), `input of operation ${entry.id}`);
  });
}

/** The envelope of a result, with what the library makes of its data. */
export function standardEnvelope(
  entry: Entry,
  validate: Validate,
  result: unknown,
  registryMode: RegistryMode,
): Soon<ResponseEnvelope> {
  const envelope = wrapped(entry, result, registryMode);
  if (!hasDeclaredData(envelope)) return envelope;
  const fail = (error: unknown) => failedCheck(entry, envelope, error, registryMode);
  try {
    const made = shaped(entry, validate, envelope, modeOf(entry, registryMode));
    return made instanceof Promise ? made.catch(fail) : made;
  } catch (error) {
    return fail(error);
  }
}

/** The values of an iterator as envelopes, for libraries that may have to wait. */
export function standardIterator(
  iterator: AsyncIterator<unknown>,
  toEnvelope: (value: unknown) => Soon<ResponseEnvelope>,
): AsyncIterator<unknown> {
  return {
    async next() {
      const step = await iterator.next();
      return step.done === true ? step : { done: false, value: await toEnvelope(step.value) };
    },
    return: async () => iterator.return?.() ?? { done: true, value: undefined },
  };
}

/** What the library makes of an output. One that it refuses is brought into the declared shape by the JSON Schema, as any
 * other output would be, and shown to the library once more; if it still refuses, that is reported. */
function shaped(
  entry: Entry,
  validate: Validate,
  envelope: ResponseEnvelope,
  mode: Exclude<OutputMode, "normalize">,
): Soon<ResponseEnvelope> {
  const { data } = envelope;
  if (mode === "off") {
    return after(validate(data), ({ issues }) => {
      if (issues === undefined) return envelope;
      const errors = errorsOf(issues);
      warnAboutOutput(entry.id, errors, LEFT);
      return noted(envelope, errors);
    });
  }
  // What a library returns lacks the properties that are not declared, so it is of no use where they are kept.
  if (mode === "keep") return repaired(entry, validate, envelope, mode);
  return after(validate(data), (checked) =>
    checked.issues === undefined
      ? replaced(envelope, checked.value)
      : repaired(entry, validate, envelope, mode, checked),
  );
}

function repaired(
  entry: Entry,
  validate: Validate,
  envelope: ResponseEnvelope,
  mode: "normalise" | "keep" | "strict",
  before?: Validated,
): Soon<ResponseEnvelope> {
  const { data } = envelope;
  const keep = mode === "keep";
  const schema = keep ? entry.output : entry.returned;
  const { value, notes } = schema?.shape(data, mode) ?? { value: data, notes: [] };
  const checked = value === data && before !== undefined ? before : validate(value);
  return after(checked, (outcome) => {
    const issues = outcome.issues === undefined ? [] : errorsOf(outcome.issues);
    // The library decides: what it accepts is not refused.
    if (mode === "strict" && issues.length > 0) throw refusal(entry, envelope, issues);
    const all = mode === "strict" ? [] : [...notes, ...issues];
    if (all.length > 0) warnAboutOutput(entry.id, all, MISMATCH);
    return noted(replaced(envelope, outcome.issues === undefined && !keep ? outcome.value : value), all);
  });
}

function replaced(envelope: ResponseEnvelope, data: unknown): ResponseEnvelope {
  return data === envelope.data ? envelope : withData(envelope, data);
}

function after<T, R>(value: Soon<T>, then: (value: T) => Soon<R>): Soon<R> {
  return value instanceof Promise ? value.then(then) : then(value);
}
